"""The decoders' container, each part of its hardening weakened: seen by all who must, before it has a picture (M2, I1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from campaigns.wall import ENGINE, OUTSIDE, Mutation, Weakened, config, host, memory, more_mount, option
from runner.errors import SandboxMismatchError
from runner.resources import sandbox_dir
from runner.sandbox.box import Box
from runner.sandbox.decoders import decoders
from runner.sandbox.decoding import DecoderSpec, Job, create_body, decode
from runner.sandbox.engine import Engine
from runner.sandbox.inspection import departures
from runner.sandbox.launch import STATE_LABEL
from runner.sandbox.proof import seen_otherwise
from tests.helpers import pictures
from tests.helpers.sandbox_fixtures import OWNER

pytestmark = pytest.mark.docker

SPEC = DecoderSpec(seccomp=(sandbox_dir() / "seccomp.json").read_text())
JOB = Job(data=pictures.png(), media_type="image/png", within=(100, 100), shrink=False)
LABELS = {STATE_LABEL: OWNER}


def _on_the_hosts_network(body: dict[str, Any]) -> None:
    body["HostConfig"]["NetworkMode"] = "host"
    body["NetworkDisabled"] = False
    del body["Hostname"]


def _one_more_variable(body: dict[str, Any]) -> None:
    body["Env"].append("AWS_SECRET=x")


_FILES = {"Name": "nofile", "Soft": 4096, "Hard": 4096}
_KMSG = {"PathOnHost": "/dev/kmsg", "PathInContainer": "/dev/kmsg", "CgroupPermissions": "rwm"}
MUTATIONS: dict[str, Mutation] = {
    "root": config("User", "0:0", OUTSIDE),
    "an agent's uid": config("User", "10001:10001", OUTSIDE),
    "another command": config("Cmd", ["pngtopam"]),
    "a secret in the environment": Mutation(part="Env", weaken=_one_more_variable, seen=(ENGINE, OUTSIDE)),
    "the host's network": Mutation(part="HostConfig.NetworkMode", weaken=_on_the_hosts_network, seen=(ENGINE, OUTSIDE)),
    "a writable root": host("ReadonlyRootfs", False, OUTSIDE),
    "one capability kept": host("CapDrop", ["CHOWN", "SYS_CHROOT"], OUTSIDE),
    "new privileges, no seccomp list": option(("no-new-privileges", "seccomp"), "seccomp=unconfined", seen=(OUTSIDE,)),
    "no seccomp list": option("seccomp", "seccomp=unconfined", seen=(OUTSIDE,)),
    "masks taken off": host("MaskedPaths", [], OUTSIDE),
    "system paths writable": host("ReadonlyPaths", [], OUTSIDE),
    "the host's ipc": host("IpcMode", "host", OUTSIDE),
    "the host's control groups": host("CgroupnsMode", "host", OUTSIDE),
    "the host's processes": host("PidMode", "host", OUTSIDE),
    "no memory limit": memory(0, 0, OUTSIDE),
    "no processor limit": host("NanoCpus", 0, OUTSIDE),
    "no process limit": host("PidsLimit", 0, OUTSIDE),
    "more open files": host("Ulimits", [_FILES], OUTSIDE),
    "a place to write": host("Tmpfs", {"/opt": "rw"}, OUTSIDE),
    "a mount": more_mount("/usr", "/srv", OUTSIDE),
    "the engine's socket": more_mount("/var/run/docker.sock", "/run/docker.sock", OUTSIDE),
    "a device": host("Devices", [_KMSG], OUTSIDE),
    "one more group": host("GroupAdd", ["999"], OUTSIDE),
}


class Lying(Weakened):
    """An engine that makes a weaker container and says of it what was asked."""

    def __init__(self, engine: Engine, weaken: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(engine, weaken)
        self.asked: dict[str, Any] = {}

    async def create(self, body: Any) -> str:
        """Remember what it was asked for."""
        self.asked = deepcopy(dict(body))
        return await super().create(body)

    async def inspect(self, container: str) -> dict[str, Any] | None:
        """The asked container's description with the real one's process."""
        facts = await super().inspect(container)
        if facts is None:
            return None
        safe = {"MaskedPaths": facts["HostConfig"]["MaskedPaths"], "ReadonlyPaths": facts["HostConfig"]["ReadonlyPaths"]}
        return {
            "Id": facts["Id"],
            "State": facts["State"],
            "Image": self.asked["Image"],
            "Config": self.asked,
            "Mounts": [],
            "HostConfig": self.asked["HostConfig"] | safe,
        }


async def seen_by(engine: Engine, image: str, mutation: Mutation, *, settle: float = 0.3) -> dict[str, tuple[str, ...]]:
    """What each side sees of a container weakened so."""
    body = create_body(SPEC, JOB, image=image, labels=LABELS)
    weak = deepcopy(body)
    mutation.weaken(weak)
    container = await engine.create(weak)
    box = Box(engine, container, await engine.attach(container))  # its input stays open, so it waits
    try:
        await engine.start(container)
        told = departures(SPEC, body, await engine.inspect(container) or {})
        return {ENGINE: told, OUTSIDE: await seen_otherwise(engine, SPEC, container, settle=settle)}
    finally:
        await box.destroy()


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_part_weakened_is_seen_by_all_who_must_see_it(engine: Engine, name: str) -> None:
    """M2: each side asked by itself."""

    async def run() -> None:
        image = await decoders(engine, progress=lambda _: None)
        found = await seen_by(engine, image, MUTATIONS[name])
        if MUTATIONS[name].part != "Env":  # right after the start that is the runtime's own
            found[OUTSIDE] = tuple(one for one in found[OUTSIDE] if one != "environment")
        assert all(found[side] for side in MUTATIONS[name].seen), found

    asyncio.run(run())


def test_one_that_is_as_asked_is_seen_by_nobody_and_decodes(engine: Engine) -> None:
    async def run() -> None:
        image = await decoders(engine, progress=lambda _: None)
        assert await seen_by(engine, image, config("Image", image), settle=30.0) == {ENGINE: (), OUTSIDE: ()}
        made = await decode(engine, JOB, spec=SPEC, image=image, labels=LABELS)
        assert (made.width, made.height) == (16, 8)

    asyncio.run(run())


@pytest.mark.parametrize("kind", [Weakened, Lying])
def test_a_picture_is_never_handed_to_a_weaker_one(engine: Engine, kind: type[Weakened]) -> None:
    """I1: also where the engine says that all is as asked; and nothing is left."""

    async def run() -> None:
        image = await decoders(engine, progress=lambda _: None)
        weak = kind(engine, MUTATIONS["one capability kept"].weaken)
        with pytest.raises(SandboxMismatchError, match="not as asked") as caught:
            await decode(weak, JOB, spec=SPEC, image=image, labels=LABELS)
        assert ("CapBnd" if kind is Lying else "HostConfig.CapDrop") in str(caught.value.details)
        assert await engine.find({STATE_LABEL: OWNER}) == ()

    asyncio.run(run())
