"""The escape suite: none of its scripts gets out of the real wall, and each kind of them does get out of a weakened one.

A script that no weaker wall lets through would show nothing (issue 7 item 2).
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from campaigns.wall import MUTATIONS
from runner.agent import FrameLimits
from runner.gateway import Gateway, GatewayLimits
from runner.resources import sandbox_dir
from runner.sandbox.box import Box
from runner.sandbox.engine import Engine, ImageInfo
from runner.sandbox.launch import LaunchOrder, spec_for
from runner.sandbox.probe import MAX_REPORT
from runner.sandbox.proof import GO
from runner.sandbox.spec import create_kwargs
from runner.supervisor.escape import Result, Stage, Verdict, escape_scripts, try_all
from tests.helpers.builders import a_profile
from tests.helpers.sandbox_fixtures import OWNER

pytestmark = pytest.mark.docker

SCRIPTS = {script.id: script for script in escape_scripts()}


def tried(engine: Engine, image: ImageInfo, *ids: str, owner: str = "", **changes: Any) -> dict[str, Result]:
    stage = Stage(engine=engine, image=image, owner=owner or f"{OWNER}-escape", profile=a_profile(), **changes)
    results = asyncio.run(try_all(stage, [SCRIPTS[id] for id in ids or SCRIPTS]))
    return {result.script.id: result for result in results}


def test_none_of_the_scripts_gets_out(engine: Engine, sandbox_image: ImageInfo) -> None:
    """All of them: M1, M3, cases 97 to 110, invariants 7, 13 and 14."""
    results = tried(engine, sandbox_image)
    assert {id: result.found for id, result in results.items() if result.verdict is not Verdict.HELD} == {}
    heard = results["45-bare-tool-messages"].note
    assert int(heard.split("; ")[1].split()[0]) > 0, "the tool server was never reached, so that it shows nothing"
    assert asyncio.run(engine.find({"runner.state": f"{OWNER}-escape"})) == ()


class NoLock:
    """In the place of a lock: nobody waits."""

    async def __aenter__(self) -> None:
        return

    async def __aexit__(self, *_: object) -> None:
        return


def unlocked(**more: Any) -> Gateway:
    """A gateway that takes as many bodies at once as there are connections, and of those any number."""
    gateway = Gateway(limits=GatewayLimits(connections=1000, burst=1000, per_second=1000.0), **more)
    for name, value in vars(gateway).items():
        if isinstance(value, asyncio.Lock):
            setattr(gateway, name, NoLock())
    return gateway


MIB = 1024 * 1024
FRAMES = FrameLimits(frame_bytes=300 * MIB, segment_bytes=300 * MIB, burst=30_000, in_flight=10**6, in_flight_bytes=2**40)
GROWN, STOOD, HELD_ON = "the supervisor grew", "nothing else got its turn", "more handles"


LOOSER: dict[str, dict[str, Any]] = {"frames": {"frames": FRAMES}, "gateway": {"gateway": unlocked}}


def tried_with(looser: str, image: ImageInfo, *ids: str) -> dict[str, Result]:
    """Scripts against a looser bound, over an engine's client of this process's own."""

    async def play() -> dict[str, Result]:
        async with Engine() as engine:
            stage = Stage(engine=engine, image=image, owner=f"{OWNER}-loose", profile=a_profile(), **LOOSER[looser])
            return {result.script.id: result for result in await try_all(stage, [SCRIPTS[id] for id in ids])}

    return asyncio.run(play())


@pytest.mark.parametrize(
    ("looser", "told"),
    [
        ("frames", {"39-stdout-without-an-end": GROWN, "42-hook-flood": STOOD}),
        ("gateway", {"47-heavy-bodies": GROWN, "48-connection-floods": HELD_ON}),
    ],
)
def test_past_a_looser_bound_a_flood_costs_the_others_and_is_judged_out(
    sandbox_image: ImageInfo, looser: str, told: dict[str, str]
) -> None:
    """M1, M6: frames, places and bodies at the gateway; a measure that no flood fails would show nothing.

    In a new process: one that has held much before has room for a flood without growing.
    """
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        results = fresh.submit(tried_with, looser, sandbox_image, *told).result()
    assert {id: result.verdict for id, result in results.items()} == dict.fromkeys(told, Verdict.OUT)
    assert {id: result.found for id, result in results.items() if told[id] not in " ".join(result.found)} == {}


def agents_own_directory(body: dict[str, Any]) -> None:
    """The mount that a snapshot is made to avoid."""
    mount = body["HostConfig"]["Mounts"][0]
    mount["Source"] = str(Path(mount["Source"]).parent / "agent")


def weakened(*names: str) -> Callable[[dict[str, Any]], None]:
    def weaken(body: dict[str, Any]) -> None:
        for name in names:
            MUTATIONS[name].weaken(body)

    return weaken


WEAKER: list[tuple[str, Callable[[dict[str, Any]], None], str]] = [
    ("01-kernel-settings", weakened("system paths writable", "root"), "wrote /proc/sys"),
    ("04-other-processes", weakened("the host's processes"), "sees "),
    ("11-keyrings", weakened("no seccomp list"), "keyctl"),
    ("12-host-sockets", weakened("the engine's socket"), "a socket at /run/docker.sock"),
    ("13-abstract-sockets", weakened("the host's network"), "an abstract socket was connected to"),
    ("14-loopback", weakened("the host's network", "no seccomp list"), "a port of the host was connected to"),
    ("15-socket-families", weakened("the engine's own seccomp list"), "family"),
    ("17-core-dumps", weakened("core dumps"), "a limit above 0"),
    ("19-foreign-calls-i386", weakened("no seccomp list"), "a 32-bit call"),
    ("21-namespaces", weakened("no seccomp list"), "unshare"),
    ("22-other-memory", weakened("no seccomp list"), "pidfd_getfd"),
    ("23-kernel-surface", weakened("the engine's own seccomp list"), "errno"),
    ("24-more-power", weakened("capabilities kept"), "a capability"),
    ("29-root-files", weakened("a writable root", "root"), "/etc/passwd"),
    ("30-snapshot", weakened("a writable snapshot", "root"), "snapshot/ has changed"),
    ("31-planted", agents_own_directory, "the host's secret was read"),
    ("33-gateway-folder", weakened("a writable gateway folder", "root"), "gateway/ has changed"),
    ("38-environment", weakened("a secret in the environment"), "a variable of the host"),
]


@pytest.mark.parametrize(("id", "weaken", "told"), WEAKER, ids=[id for id, _, _ in WEAKER])
def test_out_of_a_weaker_wall_the_script_gets(
    engine: Engine, sandbox_image: ImageInfo, id: str, weaken: Callable[[dict[str, Any]], None], told: str
) -> None:
    async def unproven(engine: Engine, order: LaunchOrder, *, on_created: object) -> Box:
        seccomp = (sandbox_dir() / "seccomp.json").read_text()
        body = create_kwargs(spec_for(order, seccomp=seccomp, launch="unproven"))
        weaken(body)
        container = await engine.create(body)
        box = Box(engine, container, await engine.attach(container))
        await engine.start(container)
        await box.first_line(limit=MAX_REPORT)
        await box.send(GO)
        return box

    result = tried(engine, sandbox_image, id, owner=f"{OWNER}-weak", launch=unproven)[id]
    assert result.verdict is Verdict.OUT
    assert any(told in found for found in result.found), result.found
