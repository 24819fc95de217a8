"""What the host sees of a container: each difference is named, and what cannot be seen is no proof (M2)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.errors import SandboxMismatchError
from runner.model import WORKSPACE
from runner.sandbox.kernel import (
    MountLine,
    cpu_is,
    outside_id,
    parse_devices,
    parse_groups,
    parse_limits,
    parse_mounts,
    size_is,
    whereabouts,
)
from runner.sandbox.looking import look
from runner.sandbox.outside import Outside, outside_faults
from runner.sandbox.spec import GATEWAY, Mount, SandboxSpec
from tests.helpers.fake_engine import a_look
from tests.unit.sandbox.cases import a_spec

CONTAINER = "c0ffee"


@pytest.fixture
def spec(tmp_path: Path) -> SandboxSpec:
    for name in ("snapshot", "gateway"):
        (tmp_path / name).mkdir()
    return a_spec(
        mounts=(Mount(source=tmp_path / "snapshot", target=WORKSPACE), Mount(source=tmp_path / "gateway", target=GATEWAY))
    )


def status(**changes: Any) -> Callable[[Outside], Outside]:
    return lambda seen: replace(seen, status={**seen.status, **changes})


def limits(**changes: Any) -> Callable[[Outside], Outside]:
    return lambda seen: replace(seen, limits=replace(seen.limits, **changes))


def mount(target: str, **changes: Any) -> Callable[[Outside], Outside]:
    return lambda seen: replace(
        seen, mounts=tuple(replace(one, **changes) if one.target == target else one for one in seen.mounts)
    )


def place(**changes: Any) -> Callable[[Outside], Outside]:
    return lambda seen: replace(seen, places={**seen.places, "/workspace": replace(seen.places["/workspace"], **changes)})


def twice(seen: Outside) -> Outside:
    return replace(seen, mounts=(*seen.mounts, *(one for one in seen.mounts if one.target == "/workspace")))


CHANGES: list[tuple[str, Callable[[Outside], Outside]]] = [
    ("Uid", status(Uid=["0"] * 4)),
    ("CapEff", status(CapEff=["0000000000002000"])),
    ("NoNewPrivs", status(NoNewPrivs=["0"])),
    ("Seccomp", status(Seccomp=["0"])),
    ("uid map", lambda seen: replace(seen, id=None)),
    ("mount /workspace", mount("/workspace", access="rw")),
    ("mount /workspace (times 2)", twice),
    ("place /workspace", mount("/workspace", root="/srv/other")),
    ("place /workspace", mount("/workspace", device="8:2")),
    ("place /workspace", place(seen="1:2")),
    ("place /workspace", place(at=None)),
    (
        "mount /proc/keys (times 0)",
        lambda seen: replace(seen, mounts=tuple(m for m in seen.mounts if m.target != "/proc/keys")),
    ),
    ("size /tmp", mount("/tmp", options=frozenset({"nr_inodes=16384"}))),
    ("inodes /tmp", mount("/tmp", options=frozenset({"size=131072k"}))),
    ("size /dev/shm", mount("/dev/shm", options=frozenset({"size=65536k"}))),
    ("network device", lambda seen: replace(seen, devices=frozenset({"lo", "eth0"}))),
    ("control group", lambda seen: replace(seen, groups=frozenset({"/"}))),
    ("limit memory", limits(memory="max")),
    ("limit memory", limits(memory=None)),
    ("limit swap", limits(swap="max")),
    ("limit pids", limits(pids="max")),
    ("limit cpu", limits(cpu=("max", "100000"))),
    ("limit cpu", limits(cpu=None)),
    ("device rules", limits(rules=("a *:* rwm",))),
    ("device rules", limits(rules=("c 1:3 rwm", "b 8:0 rwm"))),
    ("limit core", lambda seen: replace(seen, resources={**seen.resources, "Max core file size": ("0", "unlimited")})),
    ("limit nofile", lambda seen: replace(seen, resources={"Max core file size": ("0", "0")})),
    ("limit oom score", lambda seen: replace(seen, oom="0")),
    ("environment", lambda seen: replace(seen, names=frozenset({"HOME"}))),
    ("namespace net", lambda seen: replace(seen, spaces={**(seen.spaces or {}), "net": ("net:[1]", "net:[1]")})),
    ("security module", lambda seen: replace(seen, label="unconfined")),
    ("security module", lambda seen: replace(seen, label="")),
]


def test_what_was_asked_is_seen(spec: SandboxSpec) -> None:
    seen = a_look(CONTAINER, spec)
    assert outside_faults(spec, seen, container=CONTAINER) == ()
    assert outside_faults(spec, replace(seen, label="docker-default (enforce)"), container=CONTAINER) == ()


@pytest.mark.parametrize(("what", "change"), CHANGES)
def test_each_thing_seen_otherwise_is_named(spec: SandboxSpec, what: str, change: Callable[[Outside], Outside]) -> None:
    seen = change(a_look(CONTAINER, spec))
    assert outside_faults(spec, seen, container=CONTAINER) == (what,)


def test_what_only_root_may_see_is_left_out_and_nothing_else(spec: SandboxSpec) -> None:
    seen = a_look(CONTAINER, spec)
    blind = replace(seen, names=None, spaces=None, places={name: replace(one, seen=None) for name, one in seen.places.items()})
    assert outside_faults(spec, blind, container=CONTAINER) == ()
    assert outside_faults(spec, replace(blind, places={}), container=CONTAINER) == ("place /workspace",)


def test_a_user_namespace_moves_the_number_that_is_looked_for(spec: SandboxSpec) -> None:
    """M1: an engine that remaps users."""
    seen = a_look(CONTAINER, spec)
    moved = replace(seen, id=110007, status={**seen.status, "Uid": ["110007"] * 4, "Gid": ["110007"] * 4, "Groups": ["110007"]})
    assert outside_faults(spec, moved, container=CONTAINER) == ()
    assert outside_id("0 100000 65536\n", 10007) == 110007
    assert outside_id("         0          0 4294967295\n", 10007) == 10007
    assert outside_id("0 100000 10007\n", 10007) is None


@pytest.mark.parametrize(
    ("target", "root", "kind", "found"),
    [
        ("/dev/null", "/null", "devtmpfs", ()),
        ("/proc/keys", "/null", "devtmpfs", ()),
        ("/dev/null", "/sda", "devtmpfs", ("device /dev/null",)),
        ("/proc/keys", "/mem", "devtmpfs", ("device /proc/keys",)),
        ("/dev/sda", "/sda", "devtmpfs", ("mount /dev/sda",)),
        ("/sys/fs/cgroup/memory", "/", "cgroup", ()),
        ("/sys/fs/cgroup", "/", "cgroup2", ("mount /sys/fs/cgroup",)),
    ],
)
def test_a_user_namespace_is_lent_harmless_devices_and_groups_it_cannot_write(
    spec: SandboxSpec, target: str, root: str, kind: str, found: tuple[str, ...]
) -> None:
    """M1: what an engine that remaps users mounts besides; without remapping, all of it is a difference."""
    seen = a_look(CONTAINER, spec)
    lent = MountLine(device="0:6", root=root, target=target, access="rw", kind=kind)
    seen = replace(seen, mounts=(*(one for one in seen.mounts if one.target != target), lent))
    moved = replace(seen, id=110007, status={**seen.status, "Uid": ["110007"] * 4, "Gid": ["110007"] * 4, "Groups": ["110007"]})
    assert outside_faults(spec, moved, container=CONTAINER) == found
    assert outside_faults(spec, seen, container=CONTAINER) != ()


def test_a_process_that_is_not_there_is_no_proof(spec: SandboxSpec) -> None:
    for pid in (0, 2**22 + 1):
        with pytest.raises(SandboxMismatchError, match="cannot be looked at"):
            look(pid, spec)


def test_this_very_process_is_seen_for_what_it_is_no_container(spec: SandboxSpec) -> None:
    seen = look(os.getpid(), spec)
    found = outside_faults(spec, seen, container=CONTAINER)
    assert {"Uid", "mount /workspace (times 0)", "control group", "limit memory", "namespace net"} <= set(found)


def test_a_mounts_line_is_read_as_the_kernel_escapes_it() -> None:
    line = r"99 80 254:0 /a\040b /work\011space ro,nosuid,relatime shared:1 - tmpfs none rw,size=64k"
    assert parse_mounts(line) == (
        MountLine(
            device="254:0",
            root="/a b",
            target="/work\tspace",
            access="ro,nosuid",
            kind="tmpfs",
            options=frozenset({"rw", "size=64k"}),
        ),
    )
    for bad in ("99 80 254:0 / /", "x - y", ""):
        with pytest.raises(ValueError, match="mountinfo"):
            parse_mounts(bad or "\n")


def test_a_path_is_found_on_the_mount_that_lies_on_top() -> None:
    lines = ("1 0 8:1 / /", "2 1 8:2 /vol /srv", "3 1 8:3 /top /srv", "4 1 8:4 / /srv2")
    mounts = parse_mounts("\n".join(f"{line} rw - ext4 x rw" for line in lines))
    assert whereabouts(mounts, Path("/srv/agents/a")) == ("8:3", "/top/agents/a")
    assert whereabouts(mounts, Path("/srv")) == ("8:3", "/top")
    assert whereabouts(mounts, Path("/home/x")) == ("8:1", "/home/x")
    assert whereabouts((), Path("/home/x")) is None


def test_limits_groups_and_devices_are_read() -> None:
    text = "Limit  Soft Limit  Hard Limit  Units\nMax core file size        0                    unlimited            bytes\n"
    assert parse_limits(text) == {"Max core file size": ("0", "unlimited")}
    assert parse_groups("5:cpu,cpuacct:/docker/a\n0::/x\n") == {"cpu": "/docker/a", "cpuacct": "/docker/a", "": "/x"}
    assert parse_devices("Inter-|\n face |bytes\n    lo:  0\n  eth0: 1\n") == {"lo", "eth0"}


@pytest.mark.parametrize(
    ("found", "fits"),
    [
        (("100000", "100000"), True),
        (("50000", "50000"), True),
        (("100000", "0"), False),
        (("max", "100000"), False),
        (None, False),
    ],
)
def test_a_quota_is_a_number_of_processors(found: tuple[str, str] | None, fits: bool) -> None:
    assert cpu_is(1.0, found) is fits


@pytest.mark.parametrize(
    ("option", "fits"), [("size=64k", True), ("size=128k", False), ("size=60k", False), ("rw", False), ("size=64m", False)]
)
def test_a_size_is_the_one_asked_rounded_up_to_pages(option: str, fits: bool) -> None:
    assert size_is(64 * 1024, frozenset({option})) is fits
