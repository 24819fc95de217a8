"""A mutation test of the wall: each protection is switched off in turn, and each must be caught at the start (M2).

Every mutation is tried twice: once as it is, where the engine's own description gives it away, and once with an engine that
lies and describes what was asked, where only the probe inside can tell.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from runner.errors import SandboxError, SandboxMismatchError
from runner.sandbox.engine import Attached, Engine
from runner.sandbox.launch import launch
from tests.helpers.sandbox_fixtures import OWNER, an_order
from tests.integration.sandbox.inside import nobody

pytestmark = pytest.mark.docker


class Weakened:
    """The real engine, but what it creates is another container than was asked for."""

    def __init__(self, engine: Engine, weaken: Callable[[dict[str, Any]], None], *, lying: bool) -> None:
        self._engine, self._weaken, self._lying = engine, weaken, lying
        self.asked: dict[str, Any] = {}

    async def create(self, body: Mapping[str, Any]) -> str:
        self.asked = deepcopy(dict(body))
        weak = deepcopy(self.asked)
        self._weaken(weak)
        return await self._engine.create(weak)

    async def inspect(self, container: str) -> dict[str, Any] | None:
        facts = await self._engine.inspect(container)
        if facts is None or not self._lying:
            return facts
        host = self.asked["HostConfig"]
        masks = {"MaskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"]}
        masks["ReadonlyPaths"] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"]
        return {
            **facts,
            "Config": {**self.asked, "Volumes": None},
            "HostConfig": {**host, **masks},
            "AppArmorProfile": "",
            "NetworkSettings": {},
            "Mounts": [
                {"Type": "bind", "Source": mount["Source"], "Destination": mount["Target"], "RW": False}
                for mount in host["Mounts"]
            ],
        }

    async def start(self, container: str) -> None:
        await self._engine.start(container)

    async def attach(self, container: str) -> Attached:
        return await self._engine.attach(container)

    async def kill(self, container: str) -> None:
        await self._engine.kill(container)

    async def remove(self, container: str) -> None:
        await self._engine.remove(container)

    async def find(self, labels: Mapping[str, str | None]) -> tuple[str, ...]:
        return await self._engine.find(labels)


def host(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda body: body["HostConfig"].update(changes)


def drop(*options: str) -> Callable[[dict[str, Any]], None]:
    def change(body: dict[str, Any]) -> None:
        body["HostConfig"]["SecurityOpt"] = [
            option for option in body["HostConfig"]["SecurityOpt"] if not option.startswith(options)
        ]

    return change


def mount(number: int, **changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda body: body["HostConfig"]["Mounts"][number].update(changes)


def another_mount(body: dict[str, Any]) -> None:
    body["HostConfig"]["Mounts"].append(
        {"Type": "bind", "Source": body["HostConfig"]["Mounts"][0]["Source"], "Target": "/srv", "ReadOnly": True}
    )


def network(body: dict[str, Any]) -> None:
    body["NetworkDisabled"] = False
    body["HostConfig"]["NetworkMode"] = "bridge"


def host_network(body: dict[str, Any]) -> None:
    body["NetworkDisabled"] = False
    body["HostConfig"]["NetworkMode"] = "host"
    del body["Hostname"]


def unconfined(body: dict[str, Any]) -> None:
    drop("seccomp")(body)
    body["HostConfig"]["SecurityOpt"].append("seccomp=unconfined")


NOFILE = {"Name": "nofile", "Soft": 4096, "Hard": 4096}
MUTATIONS: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "capabilities kept": (host(CapDrop=[]), "CapBnd"),
    "one capability added": (host(CapAdd=["NET_RAW"]), "CapBnd"),
    "privileged": (host(Privileged=True), "CapBnd"),
    "new privileges": (drop("no-new-privileges", "seccomp"), "NoNewPrivs"),
    "no seccomp": (unconfined, "Seccomp"),
    "the engine's own seccomp list": (drop("seccomp"), "seccomp list"),
    "writable root": (host(ReadonlyRootfs=False), "mount /"),
    "host network": (host_network, "network device"),
    "host network by its namespace": (host_network, "namespace net"),
    "host ipc": (host(IpcMode="host"), "namespace ipc"),
    "host processes": (host(PidMode="host"), "namespace pid"),
    "root": (lambda body: body.update(User="0:0"), "Uid"),
    "another uid": (lambda body: body.update(User="10008:10008"), "Uid"),
    "one more group": (host(GroupAdd=["999"]), "Groups"),
    "a secret in the environment": (lambda body: body["Env"].append("AWS_SECRET=x"), "environment"),
    "no memory limit": (host(Memory=0, MemorySwap=0), "limit memory"),
    "no process limit": (host(PidsLimit=0), "limit pids"),
    "core dumps": (host(Ulimits=[{"Name": "core", "Soft": 2**30, "Hard": 2**30}, NOFILE]), "limit core"),
    "writable snapshot": (mount(0, ReadOnly=False), "mount /workspace"),
    "another directory as snapshot": (mount(0, Source="/usr"), "place /workspace"),
    "one more mount": (another_mount, "mount /srv"),
    "scratch that can run files": (host(Tmpfs={"/home/agent": "rw,exec,uid=10007", "/tmp": "rw"}), "mount /home/agent"),
    "no scratch": (host(Tmpfs={}), "mount /home/agent (times 0)"),
}
#: What the probe cannot see; the engine's description is all there is.
ENGINE_ONLY: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "logs kept": (host(LogConfig={"Type": "json-file", "Config": {}}), "HostConfig.LogConfig"),
    "restarted": (host(RestartPolicy={"Name": "always"}), "HostConfig.RestartPolicy"),
    "no init": (host(Init=False), "HostConfig.Init"),
    "submounts carried in": (mount(0, BindOptions={"NonRecursive": False}), "HostConfig.Mounts"),
    "no cpu limit": (host(NanoCpus=0), "HostConfig.NanoCpus"),
    "the host's control groups": (host(CgroupnsMode="host"), "HostConfig.CgroupnsMode"),
    "another command": (lambda body: body.update(Cmd=["sh"]), "Config.Cmd"),
}


def refused(engine: Engine, image: Any, folder: Path, weaken: Callable[[dict[str, Any]], None], *, lying: bool) -> str:
    """Launch a weakened container; returns what gave it away."""

    async def run() -> str:
        weakened = Weakened(engine, weaken, lying=lying)
        with pytest.raises(SandboxError) as caught:
            await (await launch(weakened, an_order(folder, image), on_created=nobody)).destroy()
        assert await engine.find({"runner.state": OWNER}) == ()
        # A container that cannot even report is caught too, as any that says nothing.
        assert isinstance(caught.value, SandboxMismatchError) or "before it reported" in caught.value.brief, (
            caught.value.diagnostics()
        )
        return str(caught.value.details)

    return asyncio.run(run())


@pytest.mark.parametrize("mutation", [*MUTATIONS, *ENGINE_ONLY])
def test_each_protection_switched_off_is_given_away_by_the_engine(engine, sandbox_image, tmp_path, mutation):
    weaken, told = {**MUTATIONS, **ENGINE_ONLY}[mutation]
    details = refused(engine, sandbox_image, tmp_path, weaken, lying=False)
    if mutation in ENGINE_ONLY:
        assert told in details.split("; ")


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_each_protection_switched_off_is_given_away_from_inside(engine, sandbox_image, tmp_path, mutation):
    weaken, told = MUTATIONS[mutation]
    details = refused(engine, sandbox_image, tmp_path, weaken, lying=True)
    assert told in details.split("; ")


def test_a_container_on_a_bridge_is_never_handed_over(engine, sandbox_image, tmp_path):
    """Where the host has no bridge, it does not even start."""

    async def run() -> None:
        for lying in (False, True):
            with pytest.raises(SandboxError):
                await launch(Weakened(engine, network, lying=lying), an_order(tmp_path, sandbox_image), on_created=nobody)
            assert await engine.find({"runner.state": OWNER}) == ()

    asyncio.run(run())


def test_without_a_mutation_the_same_engine_launches(engine, sandbox_image, tmp_path):
    async def run() -> None:
        for lying in (False, True):
            box = await launch(
                Weakened(engine, lambda _: None, lying=lying), an_order(tmp_path, sandbox_image), on_created=nobody
            )
            await box.destroy()

    asyncio.run(run())
