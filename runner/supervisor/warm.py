"""A container that was started before its run was known, and waits, paused, with a CLI that has heard nothing yet.

Owns that one serves one run, of the very start that run would have had (M12, invariant 6). Its agent's directory is copied in
when it is claimed, so it has seen nothing of anybody's; and until then no gateway listens, so it can tell nobody anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from runner.agent import Seat, Session, Start, argv, environment
from runner.errors import SandboxError
from runner.fence import system_rule
from runner.model import Json, Profile, RunId
from runner.sandbox.box import Box, finish
from runner.sandbox.engine import ImageInfo
from runner.sandbox.launch import ContainerEngine, LaunchOrder, Mounts, launch
from runner.sandbox.proof import prove_again
from runner.store import Connection, RunRow, audit, runs, segments
from runner.supervisor.ids import Ids
from runner.supervisor.preparation import Facts, clear, copy_in, lay_out, read_facts, start_of, start_with
from runner.supervisor.progress import Clock

#: Stands on a waiting container's label in the place of its run.
NO_RUN = RunId("pool")


class PausingEngine(ContainerEngine, Protocol):
    """What waiting needs of the engine besides."""

    async def pause(self, container: str) -> None:
        """See Engine."""
        ...

    async def unpause(self, container: str) -> None:
        """See Engine."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a container is made of before its run is known; two that are equal serve the same runs."""

    profile: Profile  #: whole
    blocked: frozenset[str]  #: tools that are not offered
    uid: int
    image: ImageInfo

    @property
    def offered(self) -> Profile:
        """The profile as the agent is told of it."""
        return replace(self.profile, tools=tuple(name for name in self.profile.tools if name not in self.blocked))


@dataclass(slots=True, kw_only=True)
class Warm:
    """One container that waits."""

    recipe: Recipe
    folder: Path
    nonce: str
    start: Start
    since: float  #: monotonic seconds
    box: Box
    session: Session
    seat: Seat
    _gone: asyncio.Task[None] | None = field(default=None)

    @property
    def usable(self) -> bool:
        """Whether it still waits as it was left."""
        return self.session.ready and not self.seat.disturbed

    async def bring_up_to_date(self, engine: ContainerEngine, facts: Facts) -> None:
        """Copy the agent's directory in, and prove that the container is still what was asked; it stays paused.

        Raises:
            SandboxError: One of the two fails; it must not be used.
        """
        if start_of(facts, resume=False) != self.start or not self.usable:
            raise SandboxError("cannot use a waiting container: it was started otherwise than its run would be")
        copying = asyncio.create_task(asyncio.to_thread(copy_in, self.folder, facts))
        try:
            self.box.proof = await prove_again(engine, self.box)
        finally:
            await finish(asyncio.wait([copying]))
        await copying

    async def discard(self) -> None:
        """Remove it and its folder. Idempotent; never fails."""
        if self._gone is None:
            self._gone = asyncio.create_task(self._discard())
        await finish(self._gone)

    async def _discard(self) -> None:
        await self.session.close()
        await self.box.destroy()
        await asyncio.to_thread(clear, self.folder)


async def fill(  # noqa: PLR0913 -- one container, whole
    engine: PausingEngine, recipe: Recipe, *, folder: Path, ids: Ids, owner: str, boot: str, runtime: str | None, now: float
) -> Warm:
    """Start a container, have its CLI answer, and pause it.

    Raises:
        RunnerError: It cannot be had; nothing of it is left but its folder's emptiness.
    """
    nonce = ids.nonce()
    start = start_with(recipe.profile, recipe.offered, session_id=ids.session(), rule=system_rule(nonce))
    await asyncio.to_thread(lay_out, folder)
    try:
        box = await launch(
            engine, _order(recipe, start, folder=folder, owner=owner, boot=boot, runtime=runtime), on_created=_unbound
        )
    except BaseException:
        await finish(asyncio.to_thread(clear, folder))
        raise
    seat = Seat()
    session = Session(box, start, gate=seat, mirror=seat.mirror)
    warm = Warm(recipe=recipe, folder=folder, nonce=nonce, start=start, since=now, box=box, session=session, seat=seat)
    try:
        await session.connect()
        await session.settle()
        await engine.pause(box.container_id)
    except BaseException:
        await warm.discard()
        raise
    return warm


def adopt(conn: Connection, facts: Facts, warm: Warm, *, clock: Clock) -> bool:
    """Tie a waiting container to a run's attempt, with the fence and the session it was started with; once, before it goes on.

    False, and it must be discarded, when the attempt is not the run's any more or has a container.
    """
    attempt, now = facts.attempt, clock()
    row = runs.record(
        conn,
        attempt.run,
        now=now,
        segment=attempt.segment,
        attempt=attempt.number,
        session_id=warm.start.session_id,
        nonce=warm.nonce,
    )
    if row is None or not segments.bind_container(conn, *attempt, warm.box.container_id):
        return False
    where: Mapping[str, Json] = {"container": warm.box.container_id, "segment": attempt.segment, "attempt": attempt.number}
    audit.append(conn, time=now, event="pool.claim", subject=attempt.run, data=where)
    return True


def facts_with(conn: Connection, facts: Facts, warm: Warm) -> Facts:
    """A run's facts under the fence and in the session of a waiting container.

    Raises:
        FenceError: The container's nonce occurs in what is to be fenced (F4).
    """
    run: RunRow = replace(facts.run, nonce=warm.nonce, session_id=warm.start.session_id)
    return read_facts(conn, facts.attempt, run)


def recipe_of(facts: Facts, image: ImageInfo) -> Recipe:
    """What a container for these facts is made of."""
    return Recipe(profile=facts.profile, blocked=facts.blocked, uid=facts.uid, image=image)


def note(conn: Connection, event: str, warm: Warm, *, now: float, why: str | None = None) -> None:
    """Put on record that a container was filled in, or dropped."""
    facts: dict[str, Json] = {"container": warm.box.container_id, "profile": warm.recipe.profile.digest}
    audit.append(
        conn,
        time=now,
        event=event,
        subject=warm.recipe.profile.name,
        data=facts if why is None else {**facts, "reason": why},
    )


def _order(  # noqa: PLR0913 -- one order
    recipe: Recipe, start: Start, *, folder: Path, owner: str, boot: str, runtime: str | None
) -> LaunchOrder:
    return LaunchOrder(
        run=NO_RUN,
        segment=0,
        attempt=0,
        agent=recipe.profile.name,
        profile_digest=recipe.profile.digest,
        uid=recipe.uid,
        image=recipe.image,
        argv=argv(start),
        environment=environment(),
        mounts=Mounts(snapshot=folder / "snapshot", gateway=folder / "gateway"),
        limits=recipe.profile.limits,
        owner=owner,
        boot=boot,
        runtime=runtime,
    )


async def _unbound(_container: str) -> None:
    """Its attempt is written down when it is claimed, before it goes on; until then its label says whose it is."""
