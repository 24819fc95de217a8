"""What a person does with calls that wait besides deciding one: give one more time (L4), decide several at once (D4)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from runner import approvals
from runner.approvals import Approver, Listing
from runner.errors import ApprovalExpiredError, UsageError
from runner.lifecycle import ApprovalState
from runner.model import ApprovalId, Digest, Json, JsonObject
from runner.store import ApprovalRow, Connection, Store, profiles
from runner.store import approvals as rows
from runner.supervisor import queries
from runner.supervisor.changes import Changes
from runner.supervisor.edits import Edits
from runner.supervisor.effects import Effects
from runner.supervisor.parsing import parsed
from runner.supervisor.progress import Clock, Enqueue, advance
from runner.supervisor.shown import MAX_BATCH, Call, Shown


class Queue:
    """Implements `runner.api.service.Queue`."""

    def __init__(self, *, store: Store, effects: Effects, changes: Changes, clock: Clock, enqueue: Enqueue) -> None:
        self._store = store
        self._effects = effects
        self._changes = changes
        self._clock = clock
        self._enqueue = enqueue
        self._edits = Edits(store=store, effects=effects, clock=clock)
        self._shown = Shown()
        self._tasks: set[asyncio.Task[None]] = set()

    def remember(self, found: Listing) -> None:
        """A person is shown this list, and may decide about all of it by its token."""
        self._shown.remember(found, now=self._clock())

    async def plan_edit(self, ref: str, text: str, *, who: Approver) -> JsonObject:
        """The approval as it would be with this input in place of the proposed one (D2)."""
        return await self._edits.plan(ref, text, who=who)

    async def approve_edited(self, ref: str, text: str, *, digest: str, reason: str | None, who: Approver) -> JsonObject:
        """Have this input carried out in place of the proposed one; the answer is the approval as it then is (D2)."""
        return await self._edits.approve(ref, text, digest=digest, reason=reason, who=who)

    async def extend(self, ref: str, *, seconds: float, who: Approver) -> JsonObject:
        """Move a pending call's deadline away, never further than its profile's `expires` from now."""
        row = await self._store.query(approvals.find, ref)
        try:
            await self._store.call(self._extend, row.id, seconds=seconds, who=who)
        except ApprovalExpiredError:
            await self._effects.go_on(row.id)
            raise
        self._changes.ring()
        return await self._store.query(queries.whole_approval, row.id)

    async def listed(self, snapshot: str) -> JsonObject:
        """What waited on a list that was shown lately."""
        return {"calls": [call._asdict() for call in self._shown.calls(snapshot, now=self._clock())]}

    async def approve_all(
        self, calls: Sequence[tuple[str, str]], snapshot: str | None, *, reason: str | None, who: Approver
    ) -> JsonObject:
        """Say yes to each of these, or to all that waited on a list; to none when one of them cannot be approved."""
        found = await self._calls(calls, snapshot)
        pairs = [(call.id, Digest(call.digest)) for call in found]
        # A client that hangs up between the yeses and the effects changes nothing.
        task = asyncio.create_task(self._approve_all(pairs, reason=reason, who=who))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.shield(task)
        return await self._views(found)

    async def deny_all(self, calls: Sequence[str], snapshot: str | None, *, reason: str | None, who: Approver) -> JsonObject:
        """Say no to each of these, or to all that waited on a list; to none when one of them does not wait any more."""
        found = await self._calls([(ref, "") for ref in calls], snapshot)
        ids = [call.id for call in found]
        try:
            await self._store.call(self._deny_all, ids, reason=reason, who=who)
        except ApprovalExpiredError:
            await self._all_go_on(ids)
            raise
        self._changes.ring()
        return await self._views(found)

    async def _approve_all(self, pairs: Sequence[tuple[ApprovalId, Digest]], *, reason: str | None, who: Approver) -> None:
        ids = [id for id, _ in pairs]
        for id in ids:
            row = await self._store.query(rows.get, id)
            if row.state is ApprovalState.PENDING:
                await self._effects.refuse_blocked(row)
        try:
            await self._store.call(approvals.approve_all, pairs, who=who, reason=reason, now=self._clock())
        except ApprovalExpiredError:
            await self._all_go_on(ids)
            raise
        # The clock takes up what an error on the way leaves approved.
        self._effects.leave(ids)
        for id in ids:
            await self._effects.carry_out(id)

    async def _all_go_on(self, ids: Sequence[ApprovalId]) -> None:
        """One of them had expired, which ended it: its run must hear of it."""
        for id in ids:
            await self._effects.go_on(id)

    async def _calls(self, calls: Sequence[tuple[str, str]], snapshot: str | None) -> tuple[Call, ...]:
        if snapshot is not None:
            found = self._shown.calls(snapshot, now=self._clock())
        else:
            found = await self._store.query(_named, calls[: MAX_BATCH + 1])
        if not found:
            raise UsageError("cannot decide: nothing that waits is named")
        if len(found) > MAX_BATCH:
            raise UsageError(
                f"cannot decide more than {MAX_BATCH} calls together", resolution="runner approvals --run RUN shows fewer"
            )
        if len({call.id for call in found}) < len(found):
            raise UsageError("cannot decide: a call is named twice")
        return found

    async def _views(self, calls: Sequence[Call]) -> JsonObject:
        views: list[Json] = [await self._store.query(queries.whole_approval, call.id) for call in calls]
        return {"approvals": views}

    def _deny_all(self, conn: Connection, ids: Sequence[ApprovalId], *, reason: str | None, who: Approver) -> None:
        denied = approvals.deny_all(conn, ids, who=who, reason=reason, now=self._clock())
        for run in {row.run for row in denied}:
            advance(conn, run, now=self._clock(), enqueue=self._enqueue)

    def _extend(self, conn: Connection, id: ApprovalId, *, seconds: float, who: Approver) -> ApprovalRow:
        profile = parsed(profiles.get(conn, rows.get(conn, id).profile_digest))
        longest = profile.approvals.expires
        return approvals.extend(conn, id, seconds=seconds, longest=longest, who=who, now=self._clock())


def _named(conn: Connection, calls: Sequence[tuple[str, str]]) -> tuple[Call, ...]:
    return tuple(Call(approvals.find(conn, ref).id, Digest(digest)) for ref, digest in calls)
