"""What a person does with calls that wait besides deciding one: give one more time (L4)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from runner import approvals
from runner.approvals import Approver
from runner.errors import ApprovalExpiredError
from runner.model import ApprovalId, JsonObject
from runner.profiles import from_json
from runner.store import ApprovalRow, Connection, Store, profiles
from runner.store import approvals as rows
from runner.supervisor import queries
from runner.supervisor.changes import Changes
from runner.supervisor.effects import Effects
from runner.supervisor.progress import Clock, Enqueue, advance


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Implements `runner.api.service.Queue`."""

    store: Store
    effects: Effects
    changes: Changes
    clock: Clock
    enqueue: Enqueue

    async def extend(self, ref: str, *, seconds: float, who: Approver) -> JsonObject:
        """Move a pending call's deadline away, never further than its profile's `expires` from now."""
        row = await self.store.query(approvals.find, ref)
        try:
            await self.store.call(self._extend, row.id, seconds=seconds, who=who)
        except ApprovalExpiredError:
            # Which has ended it: its run must hear of it.
            await self.store.call(advance, row.run, now=self.clock(), enqueue=self.enqueue)
            self.changes.ring()
            raise
        self.changes.ring()
        return await self.store.query(queries.whole_approval, row.id)

    def _extend(self, conn: Connection, id: ApprovalId, *, seconds: float, who: Approver) -> ApprovalRow:
        profile = from_json(json.loads(profiles.get(conn, rows.get(conn, id).profile_digest).text))
        longest = profile.approvals.expires
        return approvals.extend(conn, id, seconds=seconds, longest=longest, who=who, now=self.clock())
