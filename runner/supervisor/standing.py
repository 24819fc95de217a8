"""Carries out what nobody has to be asked about: calls to which the owner said yes beforehand (R72).

Their approvals are in the queue like all others, approved by the owner's standing yes in the transaction that recorded the
turn. This task of the supervisor finds them there and carries them out; nothing in a container's reach knows of it
(invariant 13). What a crash leaves approved, recovery carries out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby

from runner.errors import RunnerError
from runner.lifecycle import ApprovalState
from runner.model import ApprovalId, RunId
from runner.store import ApprovalRow, Store
from runner.store import approvals as rows
from runner.supervisor.changes import Changes
from runner.supervisor.doubts import is_standing
from runner.supervisor.effects import Effects

_log = logging.getLogger(__name__)


class StandingYes:
    """Watches the queue. Calls of one run are carried out one after another, in the order in which they were asked for."""

    def __init__(self, *, store: Store, effects: Effects, changes: Changes) -> None:
        self._store = store
        self._effects = effects
        self._changes = changes
        self._busy: dict[RunId, asyncio.Task[None]] = {}
        self._taken: set[ApprovalId] = set()  #: tried by this process, and not to be tried again by it

    def start(self) -> Callable[[], Awaitable[None]]:
        """Begin to watch; the answer stops it. An effect that has begun goes on to its end."""
        task = asyncio.create_task(self._watch())

        async def stop() -> None:
            tasks = (task, *self._busy.values())
            for one in tasks:
                one.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        return stop

    async def _watch(self) -> None:
        while True:
            try:
                due = await self._changes.until(self._look, seconds=None)
            except RunnerError as error:
                _log.error("cannot look for calls that the owner lets run: %s", error.diagnostics())
                await asyncio.sleep(1)
                continue
            for run, of_run in groupby(due or (), key=lambda row: row.run):
                self._busy[run] = asyncio.create_task(self._carry_out(run, [row.id for row in of_run]))

    async def _look(self) -> Sequence[ApprovalRow] | None:
        approved = await self._store.query(rows.list, states={ApprovalState.APPROVED})
        self._taken &= {row.id for row in approved}
        due = [row for row in approved if is_standing(row) and row.id not in self._taken and row.run not in self._busy]
        return sorted(due, key=lambda row: row.run) or None

    async def _carry_out(self, run: RunId, approvals: Sequence[ApprovalId]) -> None:
        try:
            for approval in approvals:
                self._taken.add(approval)
                await self._effects.carry_out(approval)
        except RunnerError as error:
            _log.error("cannot carry out a call that the owner lets run: %s", error.diagnostics())
        finally:
            del self._busy[run]
            self._changes.ring()
