"""How an attempt comes by its container: one made now, or one that waited; it is the attempt's by its row before it begins."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeAlias

from runner.agent import Session, Start, argv, environment
from runner.errors import SandboxError
from runner.sandbox.box import Box, finish
from runner.sandbox.engine import ImageInfo
from runner.sandbox.launch import LaunchOrder, Mounts, launch
from runner.store import segments
from runner.supervisor.desk import Desk
from runner.supervisor.preparation import Facts, copy_in, start_of
from runner.supervisor.surroundings import Surroundings
from runner.supervisor.warm import Warm

#: Has a container and the conversation in it, for a run's facts and a desk; afterwards the container is gone.
Stage: TypeAlias = "Callable[[Facts, Desk], contextlib.AbstractAsyncContextManager[tuple[Box, Session]]]"


@contextlib.asynccontextmanager
async def waiting(around: Surroundings, warm: Warm, _facts: Facts, desk: Desk) -> AsyncIterator[tuple[Box, Session]]:
    """A container that waited and was claimed: it goes on, with somebody to ask."""
    try:
        warm.seat.take(desk, desk.mirror)
        await around.engine.unpause(warm.box.container_id)
        yield warm.box, warm.session
    finally:
        await warm.discard()


@contextlib.asynccontextmanager
async def cold(  # noqa: PLR0913, PLR0917 -- a stage, with what is known before it
    around: Surroundings, image: ImageInfo, folder: Path, facts: Facts, desk: Desk, *, resumed: bool
) -> AsyncIterator[tuple[Box, Session]]:
    """A container made now; its agent's directory is copied while the engine makes it, and is there before it starts."""
    start = start_of(facts, resume=resumed)
    copying: asyncio.Task[None]

    async def bind(container_id: str) -> None:
        await copying
        if not await around.store.call(segments.bind_container, *facts.attempt, container_id):
            raise SandboxError("cannot start the container: its run was stopped meanwhile")

    order = _order(around, image, folder, facts, start)
    async with around.starts.one() as started:
        copying = asyncio.create_task(asyncio.to_thread(copy_in, folder, facts))
        try:
            box = await launch(around.engine, order, on_created=bind)
        finally:
            await finish(asyncio.wait([copying]))
        session = Session(box, start, gate=desk, mirror=desk.mirror)
        session.on_connected = started
        try:
            yield box, session
        finally:
            await box.destroy()


def _order(around: Surroundings, image: ImageInfo, folder: Path, facts: Facts, start: Start) -> LaunchOrder:  # noqa: PLR0917 - one order
    return LaunchOrder(
        run=facts.attempt.run,
        segment=facts.attempt.segment,
        attempt=facts.attempt.number,
        agent=facts.profile.name,
        profile_digest=facts.profile.digest,
        uid=facts.uid,
        image=image,
        argv=argv(start),
        environment=environment(),
        mounts=Mounts(
            snapshot=folder / "snapshot", gateway=folder / "gateway", session=folder / "session" if start.resume else None
        ),
        limits=facts.profile.limits,
        owner=around.owner,
        boot=around.boot,
        runtime=around.runtime,
    )
