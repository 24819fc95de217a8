"""From a person's yes to a recorded outcome: approve, decide again, write the intent, act once, record (invariants 3, 4).

Runs in the supervisor's own task. Nothing a container does starts, stops, orders or repeats what happens here (invariant 13);
neither does a client that hangs up.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from runner import approvals
from runner.approvals import Approver
from runner.broker import Change, Effect, Order, examine, perform
from runner.digest import parse_call
from runner.errors import ApprovalExpiredError, RunnerError, StoreError
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.model import WORKSPACE, ApprovalId, Digest, Profile, RunId, Verdict
from runner.policy import decide
from runner.profiles import from_json
from runner.sandbox.beneath import Beneath
from runner.sandbox.view import SnapshotView, apply_bytes
from runner.store import ApprovalRow, Connection, Store, profiles
from runner.store import approvals as rows
from runner.supervisor.changes import Changes
from runner.supervisor.contexts import Contexts
from runner.supervisor.live import Live
from runner.supervisor.progress import Clock, Enqueue, advance

_log = logging.getLogger(__name__)


class Found(NamedTuple):
    """What the disk says of an interrupted effect."""

    event: ApprovalEvent
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What effects need of the rest of the supervisor."""

    store: Store
    live: Live
    changes: Changes
    contexts: Contexts
    clock: Clock
    enqueue: Enqueue


class Effects:
    """Decisions about approvals, and the effects that follow from them."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._locks: WeakValueDictionary[RunId, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[ApprovalRow]] = set()
        self._left: set[ApprovalId] = set()  #: what the database did not take down

    async def approve(self, approval: ApprovalId, *, digest: Digest, who: Approver, reason: str | None) -> ApprovalRow:
        """Say yes to what was shown and carry it out.

        Raises:
            ApprovalError: It cannot be decided, or not with this digest.
        """
        return await self._to_its_end(approval, self._approve(approval, digest=digest, who=who, reason=reason))

    async def deny(self, approval: ApprovalId, *, who: Approver, reason: str | None) -> ApprovalRow:
        """Say no; the agent is told.

        Raises:
            ApprovalError: It cannot be decided.
        """
        try:
            row = await self._parts.store.call(self._deny, approval, who=who, reason=reason)
        except ApprovalExpiredError:
            await self._go_on(approval)
            raise
        self._parts.changes.ring()
        return row

    async def settle(self, approval: ApprovalId, *, happened: bool, who: Approver, reason: str | None) -> ApprovalRow:
        """Take a person's word for what became of an effect; its run goes on with it.

        Raises:
            RunnerError: There is nothing to settle.
        """
        row = await self._parts.store.call(self._settle, approval, happened=happened, who=who, reason=reason)
        self._parts.changes.ring()
        return row

    async def expire(self) -> tuple[ApprovalRow, ...]:
        """End every approval whose deadline has come; its run goes on with that answer."""
        ended = await self._parts.store.call(self._expire)
        if ended:
            self._parts.changes.ring()
        return ended

    async def carry_out(self, approval: ApprovalId) -> ApprovalRow:
        """Perform an approved call once; whoever waits for it may go away, the effect is still recorded."""
        return await self._to_its_end(approval, self._carry_out(approval))

    async def find_out(self, row: ApprovalRow, cwd: Path, *, release: bool = True) -> ApprovalRow:
        """Put on record what an interrupted effect did, as the disk says (B9); a doubt is left to a person.

        Args:
            row: The executing approval.
            cwd: Its agent's directory.
            release: One that did not happen is approved again, to be carried out; else it has failed.
        """
        found = await asyncio.to_thread(_found, order_of(row, cwd), release=release)
        ended = await self._parts.store.call(self._record_found, row, found)
        self._parts.changes.ring()
        return ended

    async def take_up(self) -> None:
        """Once the database takes rows again: what was left approved or executing goes on from what the disk says."""
        for approval in tuple(self._left):
            row = await self._parts.store.query(rows.get, approval)
            if row.state is ApprovalState.EXECUTING:
                row = await self.find_out(row, (await self._profile(row)).cwd)
            self._left.discard(approval)
            if row.state is ApprovalState.APPROVED:
                await self.carry_out(approval)

    async def settled(self) -> None:
        """Wait until every effect under way is on record; for shutdown."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _to_its_end(self, approval: ApprovalId, work: Coroutine[Any, Any, ApprovalRow]) -> ApprovalRow:
        """A client that hangs up between yes and effect, or within the effect, changes nothing."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(approval, done))
        return await asyncio.shield(task)

    def _ended(self, approval: ApprovalId, task: asyncio.Task[ApprovalRow]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, StoreError):
            self._left.add(approval)

    async def _approve(self, approval: ApprovalId, *, digest: Digest, who: Approver, reason: str | None) -> ApprovalRow:
        now = self._parts.clock()
        try:
            await self._parts.store.call(approvals.approve, approval, digest=digest, who=who, reason=reason, now=now)
        except ApprovalExpiredError:
            await self._go_on(approval)
            raise
        return await self._carry_out(approval)

    async def _go_on(self, approval: ApprovalId) -> None:
        """A decision that came too late has ended the call itself: its run must hear of it."""
        row = await self._parts.store.query(rows.get, approval)
        await self._parts.store.call(self._advance, row.run)
        self._parts.changes.ring()

    async def _carry_out(self, approval: ApprovalId) -> ApprovalRow:
        store = self._parts.store
        before = await store.query(rows.get, approval)
        async with self._locks.setdefault(before.run, asyncio.Lock()):  # B7
            profile = await self._profile(before)
            doubt = await asyncio.to_thread(self._doubt, before, profile)
            if doubt is not None:
                row = await store.call(self._go_stale, before, doubt)
            else:
                row = await self._act(before, profile.cwd)
        self._parts.changes.ring()
        return row

    async def _act(self, before: ApprovalRow, cwd: Path) -> ApprovalRow:
        begun = await self._parts.store.call(self._begin, before)
        if begun.state is not ApprovalState.EXECUTING:
            return begun
        try:
            effect = await asyncio.to_thread(perform, order_of(begun, cwd))
        except asyncio.CancelledError:
            # The thread goes on; only the next start can look at a disk that nobody changes any more.
            raise
        except BaseException:
            await self.find_out(begun, cwd, release=False)
            raise
        # Shown before it is recorded: from then on the agent may be told, and look.
        await asyncio.to_thread(self._show_in_snapshot, begun.run, effect.changed)
        return await self._parts.store.call(self._record, begun, effect)

    async def _profile(self, row: ApprovalRow) -> Profile:
        stored = await self._parts.store.query(profiles.get, row.profile_digest)
        return from_json(json.loads(stored.text))

    def _doubt(self, row: ApprovalRow, profile: Profile) -> str | None:
        """Why the call no longer is what was approved, judged by policy and paths as they are now (B5)."""
        try:
            with Beneath.open(profile.cwd) as cwd:
                context = self._parts.contexts.fresh(SnapshotView(cwd), row.sender)
                decision = decide(parse_call(row.tool, row.raw), profile, context)
        except OSError as error:
            return f"the agent's directory cannot be opened: {error.strerror}"
        if decision.verdict is Verdict.DENY:
            return decision.reason
        if (decision.call_digest, decision.paths) != (row.call_digest, row.paths):
            return "its paths lead elsewhere now, or its tool has another definition"
        return None

    def _begin(self, conn: Connection, row: ApprovalRow) -> ApprovalRow:
        begun = approvals.begin_effect(conn, row.id, now=self._parts.clock())
        if begun is None:
            self._advance(conn, row.run)
        return begun or rows.get(conn, row.id)

    def _record(self, conn: Connection, row: ApprovalRow, effect: Effect) -> ApprovalRow:
        now = self._parts.clock()
        match effect.state:
            case "done":
                ended = approvals.finish_effect(conn, row.id, event=ApprovalEvent.SUCCEED, outcome=effect.outcome, now=now)
            case "failed":
                ended = approvals.finish_effect(conn, row.id, event=ApprovalEvent.FAIL, outcome=effect.outcome, now=now)
            case "stale":
                approvals.finish_effect(conn, row.id, event=ApprovalEvent.NOT_HAPPENED, outcome=effect.outcome, now=now)
                ended = approvals.stale(conn, row.id, effect.outcome, now)
        self._advance(conn, row.run)
        return ended

    def _record_found(self, conn: Connection, row: ApprovalRow, found: Found) -> ApprovalRow:
        ended = approvals.finish_effect(conn, row.id, event=found.event, outcome=found.outcome, now=self._parts.clock())
        self._advance(conn, row.run)
        return ended

    def _go_stale(self, conn: Connection, row: ApprovalRow, reason: str) -> ApprovalRow:
        now = rows.get(conn, row.id)
        if now.state is ApprovalState.APPROVED:
            now = approvals.stale(conn, row.id, reason, self._parts.clock())
        self._advance(conn, row.run)
        return now

    def _deny(self, conn: Connection, approval: ApprovalId, *, who: Approver, reason: str | None) -> ApprovalRow:
        row = approvals.deny(conn, approval, who=who, reason=reason, now=self._parts.clock())
        self._advance(conn, row.run)
        return row

    def _settle(
        self, conn: Connection, approval: ApprovalId, *, happened: bool, who: Approver, reason: str | None
    ) -> ApprovalRow:
        now = self._parts.clock()
        row = approvals.settle(conn, approval, happened=happened, who=who, reason=reason, now=now)
        self._advance(conn, row.run)
        return row

    def _expire(self, conn: Connection) -> tuple[ApprovalRow, ...]:
        ended = approvals.expire_due(conn, self._parts.clock())
        for run in {row.run for row in ended}:
            self._advance(conn, run)
        return ended

    def _advance(self, conn: Connection, run: RunId) -> None:
        advance(conn, run, now=self._parts.clock(), enqueue=self._parts.enqueue)

    def _show_in_snapshot(self, run: RunId, changed: tuple[Change, ...]) -> None:
        segment = self._parts.live.get(run)
        if segment is None:
            return
        for change in changed:
            try:
                if change.data is not None:
                    apply_bytes(segment.snapshot, change.path.relative_to(WORKSPACE).parts, change.data)
            except RunnerError as error:
                # The effect stands and is on record; only this container's view of it is old.
                _log.warning("cannot show an effect in the snapshot of %s: %s", segment.attempt, error.brief)


def order_of(row: ApprovalRow, cwd: Path) -> Order:
    """The broker's order for an approval: its stored bytes and nothing else."""
    return Order(
        tool=row.tool,
        raw=row.raw,
        paths=row.paths,
        cwd=cwd,
        pre_images=row.pre_images,
        post_image=row.post_image,
    )


def _found(order: Order, *, release: bool) -> Found:
    match examine(order):
        case "post":
            return Found(ApprovalEvent.SUCCEED, "Done. The supervisor was interrupted; the file is as approved.")
        case "pre":
            event = ApprovalEvent.NOT_HAPPENED if release else ApprovalEvent.FAIL
            return Found(event, "the supervisor was interrupted before anything was changed")
        case "other":
            return Found(
                ApprovalEvent.DOUBT, "the supervisor was interrupted and the file is neither as before nor as approved"
            )
