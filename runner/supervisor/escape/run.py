"""Runs scripts of the escape suite, each in a proven container of its own, and judges them from outside."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from runner.agent import FrameLimits, Message, Session, Start
from runner.errors import RunnerError
from runner.fence import Fenced
from runner.gateway import Gateway, Reference
from runner.model import Digest, Limits, Profile, RunId
from runner.sandbox.box import Box
from runner.sandbox.engine import Engine, ImageInfo
from runner.sandbox.launch import LaunchOrder, launch, reap
from runner.sandbox.spec import LAST_UID
from runner.supervisor.escape.judge import PATIENCE, Heard, Result, costs, result_of, told
from runner.supervisor.escape.neighbour import Measure, Neighbour, usual
from runner.supervisor.escape.scene import Scene
from runner.supervisor.escape.scripts import Ends, EscapeScript
from runner.supervisor.escape.standins import UNASKED, Counted, CountingDesk, DenyingGate, UnhurriedUpstream

#: How many scripts run side by side, each as another uid.
_SIDE_BY_SIDE = 3
_LIMITS = Limits(memory=256 * 1024**2, cpus=1.0, pids=128)
#: Kinds that are measured by what they cost others; each runs alone.
ALONE = frozenset({"exhaustion", "gateway", "stdio", "protocol"})
#: What the measures beside a flood are held against; of so many runs of it.
_CALM = EscapeScript(
    id="calm",
    kind="calm",
    tries="do nothing",
    must="nothing happens",
    ends=Ends.DONE,
    language="sh",
    text="sleep 0.3; echo DONE",
)
_CALM_RUNS = 3


class Beside(NamedTuple):
    """Whom a script may not disturb, and what they have when nothing does."""

    neighbour: Neighbour
    calm: Measure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where scripts are run. `profile`: any; those that speak the agent's protocol are taken for its agent.

    `noticed`: seconds that are too long by themselves, see `costs`. `frames` and `gateway`: what a flood meets.
    """

    engine: Engine
    image: ImageInfo
    owner: str
    profile: Profile
    runtime: str = "runc"
    launch: Callable[..., Awaitable[Box]] = launch
    noticed: float | None = None
    frames: FrameLimits | None = None
    gateway: Callable[..., Gateway] = Gateway


async def try_all(
    stage: Stage, scripts: Sequence[EscapeScript], *, progress: Callable[[Result], None] = lambda _: None
) -> tuple[Result, ...]:
    """Run scripts and judge each; results in the scripts' order.

    Args:
        stage: Where.
        scripts: Which.
        progress: Told each result as it comes.

    Raises:
        SandboxError: The wall could not be put up at all, so that nothing can be said of it.
    """
    base = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="escape-"))
    try:
        base.chmod(0o755)  # noqa: ASYNC240 - one call on a folder of our own
        await reap(stage.engine, owner=stage.owner, keep=())
        found = await _all(stage, scripts, base=base, progress=progress)
    finally:
        await reap(stage.engine, owner=stage.owner, keep=())
        await asyncio.to_thread(shutil.rmtree, base, ignore_errors=True)
    return tuple(found[script.id] for script in scripts)


async def _all(
    stage: Stage, scripts: Sequence[EscapeScript], *, base: Path, progress: Callable[[Result], None]
) -> dict[str, Result]:
    found: dict[str, Result] = {}
    uids = asyncio.Queue[int]()
    for number in range(_SIDE_BY_SIDE):
        uids.put_nowait(LAST_UID - 1 - number)

    async def one(script: EscapeScript, beside: Beside | None) -> None:
        uid = await uids.get()
        try:
            found[script.id] = await _try(stage, script, base / script.id, uid=uid, beside=beside)
        finally:
            uids.put_nowait(uid)
        progress(found[script.id])

    try:
        async with asyncio.TaskGroup() as group:
            for script in scripts:
                if script.kind not in ALONE:
                    group.create_task(one(script, None))
    except ExceptionGroup as several:
        raise several.exceptions[0] from None
    alone = [script for script in scripts if script.kind in ALONE]
    if alone:
        async with _beside(stage, base / "neighbour") as neighbour:
            beside = Beside(neighbour, await _calm(stage, neighbour, base / "calm", uid=LAST_UID - 1))
            for script in alone:
                await one(script, beside)
    return found


@contextlib.asynccontextmanager
async def _beside(stage: Stage, folder: Path) -> AsyncIterator[Neighbour]:
    await asyncio.to_thread(_make, folder, "snapshot", "gateway")
    scene = Scene(folder, uid=LAST_UID)
    box = await _launched(stage, scene, ("cat",))
    try:
        yield Neighbour(box)
    finally:
        await box.destroy()


async def _calm(stage: Stage, neighbour: Neighbour, folder: Path, *, uid: int) -> Measure:
    """What they have beside a container that comes, does nothing and goes."""
    await asyncio.to_thread(_make, folder)
    runs = [await _try(stage, _CALM, folder / str(number), uid=uid, beside=Beside(neighbour)) for number in range(_CALM_RUNS)]
    return usual([one.measure for one in runs if one.measure is not None])


async def _try(stage: Stage, script: EscapeScript, folder: Path, *, uid: int, beside: Beside | None) -> Result:
    await asyncio.to_thread(_make, folder, "gateway")
    scene, desk, upstream = Scene(folder, uid=uid, model=stage.profile.model), CountingDesk(), UnhurriedUpstream()
    gateway = stage.gateway(
        directory=folder / "gateway",
        desk=desk,
        reference=Reference(model=stage.profile.model, offered=frozenset()),
        upstream=upstream,
    )
    calm = beside.calm if beside is not None else None
    await gateway.start()
    try:
        await scene.set_up()
        heard, measure = await _measured(stage, script, scene, beside=beside)
        faults = [*told(script, heard, token=scene.token), *await scene.differences()]
        faults += costs(script, measure, calm=calm, noticed=stage.noticed)
        faults += ["a request was forwarded"] * bool((desk.opened or upstream.asked) and not script.asks)
    finally:
        await gateway.stop()
        await scene.clear()
    return result_of(script, heard, faults=faults, measure=measure, calm=calm)


async def _measured(stage: Stage, script: EscapeScript, scene: Scene, *, beside: Beside | None) -> tuple[Heard, Measure | None]:
    if beside is None:
        return await _run(stage, script, scene), None
    stop = asyncio.Event()
    measuring = asyncio.create_task(beside.neighbour.beside(stop))
    try:
        heard = await _run(stage, script, scene)
    finally:
        stop.set()
        measure = await measuring
    return heard, measure


async def _run(stage: Stage, script: EscapeScript, scene: Scene) -> Heard:
    box = await _launched(stage, scene, script.argv(scene.words))
    heard = Heard()
    try:
        async with asyncio.timeout(PATIENCE):
            if script.ends is Ends.CUT:
                heard.note = await _converse(stage, Counted(box))
            else:
                await box.end_input()
                while (chunk := await box.receive()) is not None:
                    heard.keep(chunk.data)
            heard.ended = True
    except TimeoutError:
        pass
    finally:
        await box.destroy()
    return heard


async def _converse(stage: Stage, stream: Counted) -> str:
    start = Start(profile=stage.profile, session_id="00000000-0000-4000-8000-000000000000", system_prompt="You are tested.")
    gate = DenyingGate()

    async def mirror(_lines: Sequence[str]) -> None:
        return

    try:
        end = await Session(stream, start, gate=gate, mirror=mirror, limits=stage.frames).run(Message(text=Fenced("go")))
    except RunnerError as error:  # that it breaks a rule is the point
        said = error.brief
    else:
        said = f"it said: {end.subtype}"
    return f"{said}; {gate.asked} calls heard" if stream.sent > 1 else f"{UNASKED}: {said}"


async def _launched(stage: Stage, scene: Scene, argv: tuple[str, ...]) -> Box:
    async def nobody(_container: str) -> None:
        return

    order = LaunchOrder(
        run=RunId(f"r_{secrets.token_hex(8)}"),
        segment=0,
        attempt=1,
        agent="escape",
        profile_digest=Digest("sha256:" + "0" * 64),
        uid=scene.uid,
        image=stage.image,
        argv=argv,
        environment={"ANTHROPIC_API_KEY": "none"},
        mounts=scene.mounts,
        limits=_LIMITS,
        owner=stage.owner,
        runtime=stage.runtime,
    )
    return await stage.launch(stage.engine, order, on_created=nobody)


def _make(folder: Path, *inside: str) -> None:
    folder.mkdir(mode=0o755)
    for name in inside:
        (folder / name).mkdir(mode=0o755)
