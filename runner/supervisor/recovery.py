"""What a new supervisor does about a former one's work: nothing is lost, nothing is done twice (invariants 4, 11).

The lock on the state directory proves the former supervisor dead, so every open attempt is over. Its containers are removed
first; then the runs go on from their rows, interrupted effects are looked up on the disk, and approved ones are carried out.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from runner.errors import RunnerError, SandboxError
from runner.lifecycle import ApprovalState, RunState
from runner.model import Attempt
from runner.sandbox.engine import Engine
from runner.sandbox.launch import reap
from runner.store import ApprovalRow, Connection, RunRow, Store, calls, profiles, runs, segments
from runner.store import approvals as rows
from runner.supervisor.effects import Effects
from runner.supervisor.endings import End, Ending, Endings
from runner.supervisor.parsing import parsed
from runner.supervisor.prices import Price
from runner.supervisor.progress import Clock, Enqueue, queue_again
from runner.supervisor.purse import settle_left

_log = logging.getLogger(__name__)
T = TypeVar("T")

#: Containers of one run in a row that may be interrupted before they get anywhere; then it is given up.
MAX_SEGMENTS = 50
_INTERRUPTED = (RunState.STARTING, RunState.RUNNING, RunState.HELD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Takes over from a dead supervisor; run once, before the queue is opened."""

    store: Store
    engine: Engine
    effects: Effects
    endings: Endings
    owner: str
    attempts: Path
    clock: Clock
    enqueue: Enqueue
    prices: Mapping[str, Price] = field(default_factory=dict)

    async def run(self) -> tuple[Path, ...]:
        """Remove leftovers, set runs going again, settle interrupted effects.

        Returns:
            Folders of former attempts that may still be mounted: the engine did not say that their containers are gone.
        """
        left = await self._remove_leftovers()
        await self.effects.expire(set_back=True)
        for attempt in await self.store.call(self._end_attempts):
            _log.warning("attempt %s was interrupted; its run goes on from its rows", attempt)
        for row in await self.store.query(rows.list, states={ApprovalState.EXECUTING}):
            await self._attend(self._find_out, row)
        for row in await self.store.query(rows.list, states={ApprovalState.APPROVED}):
            await self._attend(self.effects.carry_out, row.id)
        return left

    async def _attend(self, do: Callable[[T], Awaitable[ApprovalRow]], what: T) -> None:
        """One call that cannot be helped must not keep the supervisor from starting; it stays as it is, and is shown."""
        try:
            await do(what)
        except RunnerError as error:
            _log.error("a call that was interrupted could not be taken up: %s", error.diagnostics())

    async def _find_out(self, row: ApprovalRow) -> ApprovalRow:
        return await self.effects.find_out(row, await self._cwd(row))

    async def _remove_leftovers(self) -> tuple[Path, ...]:
        """Containers and folders of former attempts; what an engine that is down keeps from being removed is swept later."""
        folders = await asyncio.to_thread(lambda: tuple(self.attempts.iterdir()))
        try:
            removed = await reap(self.engine, owner=self.owner, keep=())
        except SandboxError as error:
            _log.warning("cannot look for leftover containers: %s", error.brief)
            return folders
        if removed:
            _log.warning("removed %d container(s) that a former supervisor left", len(removed))
        for folder in folders:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        return ()

    def _end_attempts(self, conn: Connection) -> tuple[Attempt, ...]:
        ended = []
        settle_left(conn, prices=self.prices, now=self.clock())
        queued = runs.list(conn, states={RunState.QUEUED})
        for row in runs.list(conn, states=_INTERRUPTED):
            attempt = Attempt(row.id, row.segment, row.attempt)
            self.endings.record_in(conn, attempt, _end_of(conn, row))
            ended.append(attempt)
        for left in segments.open_attempts(conn):
            segments.end(conn, left.run, left.segment, left.attempt, reason="interrupted", now=self.clock())
        for row in queued:
            # The former supervisor may have taken the queue's entry and died before it claimed the run.
            queue_again(conn, row, now=self.clock(), enqueue=self.enqueue)
        return tuple(ended)

    async def _cwd(self, row: ApprovalRow) -> Path:
        stored = await self.store.query(profiles.get, row.profile_digest)
        return parsed(stored).cwd


def _end_of(conn: Connection, row: RunRow) -> End:
    """What became of an attempt whose supervisor died: a reply the model had given, else a parked run."""
    if row.state is RunState.RUNNING and row.reply is not None:
        return End(ending=Ending.REPLY, reply=row.reply)
    since = row.segment - max((call.segment for call in calls.of_run(conn, row.id)), default=0)
    if since >= MAX_SEGMENTS:
        return End(ending=Ending.FAIL, reason=f"interrupted in {MAX_SEGMENTS} containers in a row")
    return End(ending=Ending.PARK, reason="the supervisor was interrupted")
