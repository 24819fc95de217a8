"""The pause switch as people use it: nothing new begins while it is off; what was left goes on when it is on again (L9)."""

from __future__ import annotations

from dataclasses import dataclass

from runner.approvals import Approver
from runner.lifecycle import ApprovalState, RunState
from runner.model import ApprovalId, JsonObject
from runner.store import Connection, Store, pausing, runs
from runner.store import approvals as rows
from runner.store.pausing import Pause
from runner.supervisor.changes import Changes
from runner.supervisor.effects import Effects
from runner.supervisor.progress import Clock, Enqueue, queue_again


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """Implements `runner.api.service.Switch`."""

    store: Store
    effects: Effects
    changes: Changes
    clock: Clock
    enqueue: Enqueue

    async def pause(self, *, reason: str | None, who: Approver) -> JsonObject:
        """Refuse captures and yeses from now on, take no queued run, carry nothing out; running turns finish (R29, R30)."""
        made = await self.store.call(pausing.pause, who=who, reason=reason, now=self.clock())
        self.changes.ring()
        return {"paused": pause_view(made)}

    async def resume(self, *, who: Approver) -> JsonObject:
        """Let work go on: queued runs are queued anew, what was left approved is judged again and carried out."""
        before, approved = await self.store.call(self._resume, who)
        self.effects.leave(approved)
        self.changes.ring()
        return {"paused": None, "was": pause_view(before)}

    def _resume(self, conn: Connection, who: Approver) -> tuple[Pause | None, tuple[ApprovalId, ...]]:
        before = pausing.resume(conn, who=who, now=self.clock())
        if before is None:
            return None, ()
        for row in runs.list(conn, states={RunState.QUEUED}):
            # Whatever the queue offered of it meanwhile was not taken, and is not offered again.
            queue_again(conn, row, now=self.clock(), enqueue=self.enqueue)
        return before, tuple(row.id for row in rows.list(conn, states={ApprovalState.APPROVED}))


def pause_view(found: Pause | None) -> JsonObject | None:
    """A pause in JSON."""
    if found is None:
        return None
    return {"since": found.since, "by": found.by.name or f"uid {found.by.uid}", "reason": found.reason}
