"""Nothing can be added to the wall without a mutation that shows what takes it away (M2, issue 7 item 2)."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from campaigns.wall import MUTATIONS, Caught, Mutation
from runner.model import WORKSPACE
from runner.sandbox.inspection import EMPTY, differences
from runner.sandbox.spec import GATEWAY, Mount, SandboxSpec, create_kwargs
from tests.helpers.fake_engine import FakeContainer, describe
from tests.unit.sandbox.cases import SECCOMP, a_spec

PARTS = {mutation.part for mutation in MUTATIONS.values()}
#: Every field of the spec with another value.
OTHERS: dict[str, Any] = {
    "image": "sha256:" + "2" * 64,
    "argv": ("claude",),
    "environment": {"PATH": "/usr/bin:/bin", "HOME": "/home/agent", "A": "1"},
    "uid": 10008,
    "mounts": (
        Mount(source=Path("/srv/state/other"), target=WORKSPACE),
        Mount(source=Path("/srv/state/gateway"), target=GATEWAY),
    ),
    "memory": 2**31,
    "cpus": 2.0,
    "pids": 64,
    "seccomp": SECCOMP + " ",
    "labels": {"runner.state": "other"},
    "runtime": "runsc",
    "nofile": 1024,
    "home_bytes": 2**20,
    "temporary_bytes": 2**20,
    "shared_bytes": 2**20,
}
#: Only one value can be built at all.
FIXED = {"workdir": "WorkingDir"}
#: Options that a sandbox never has and that no mutation sets: they need a plugin, a swarm or another container.
NEVER_SET = {
    "DeviceRequests",
    "DnsOptions",
    "DnsSearch",
    "Links",
    "PortBindings",
    "PublishAllPorts",
    "VolumeDriver",
    "VolumesFrom",
}


def keys(body: dict[str, Any]) -> dict[str, Any]:
    """A create request as flat keys, as the table names them."""
    host = {f"HostConfig.{key}": value for key, value in body["HostConfig"].items()}
    return {**{key: value for key, value in body.items() if key != "HostConfig"}, **host}


def test_every_key_asked_of_the_engine_has_a_mutation():
    assert set(keys(create_kwargs(a_spec()))) - PARTS == set()


def test_every_option_that_must_be_empty_has_a_mutation():
    assert {f"HostConfig.{key}" for key in EMPTY - NEVER_SET} - PARTS == set()
    assert NEVER_SET <= EMPTY


@pytest.mark.parametrize("name", [field.name for field in fields(SandboxSpec)])
def test_every_field_of_the_spec_reaches_the_engine_under_a_key_that_has_a_mutation(name):
    """Fails for a new field until it has another value here and a mutation there."""
    if name in FIXED:
        assert FIXED[name] in PARTS
        return
    before, after = keys(create_kwargs(a_spec())), keys(create_kwargs(a_spec(**{name: OTHERS[name]})))
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    # The digest's label changes with everything.
    assert changed - {"Labels"} <= PARTS
    assert changed != {"Labels"} or name == "labels"


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_mutation_changes_what_is_asked_and_an_honest_engine_gives_it_away(name):
    spec = a_spec(runtime="runc")
    body = create_kwargs(spec)
    MUTATIONS[name].weaken(body)
    assert body != create_kwargs(spec)
    body.setdefault("Hostname", "host")
    assert differences(spec, describe(FakeContainer(id="c", body=body, status="running"))) != ()


def test_what_was_handed_over_or_not_seen_is_no_catch():
    mutation = Mutation(part="x", weaken=lambda _: None, seen=("engine", "host"))
    seen = Caught(by={"engine": ("a",), "inside": (), "host": ("b",)})
    assert seen.fulfils(mutation)
    assert not replace(seen, by={"engine": ("a",), "inside": ("a",), "host": ()}).fulfils(mutation)
    assert not replace(seen, ran=True).fulfils(mutation)
    assert Caught(by={}, never="cannot start").fulfils(mutation)
