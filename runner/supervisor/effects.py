"""From a person's yes to a recorded outcome: approve, decide again, write the intent, act once, record (invariants 3, 4).

Runs in the supervisor's own task. Nothing a container does starts, stops, orders or repeats what happens here (invariant 13);
neither does a client that hangs up.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from runner import approvals
from runner.approvals import Approver
from runner.broker import UNDO, Effect, Impossible, PreImage
from runner.errors import ApprovalExpiredError, NotAllowedError, StoreError
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.model import ApprovalId, Digest, Profile, RunId
from runner.profiles import from_json
from runner.store import ApprovalRow, Choices, Connection, Store, choices, profiles
from runner.store import approvals as rows
from runner.supervisor import keepsakes
from runner.supervisor.acts import Found, act, find, pre_image, show, undoes
from runner.supervisor.changes import Changes
from runner.supervisor.contexts import Contexts
from runner.supervisor.doubts import BLOCKED, Doubt, Looked, doubt_about
from runner.supervisor.live import Live
from runner.supervisor.progress import Clock, Enqueue, advance

#: Something that belongs to a decision and is written in its transaction: a verdict saved with it (R144).
Also: TypeAlias = Callable[[Connection, ApprovalRow], object]
Opening: TypeAlias = Callable[[Connection], ApprovalRow]


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

    async def approve(
        self, approval: ApprovalId, *, digest: Digest, who: Approver, reason: str | None, also: Also | None = None
    ) -> ApprovalRow:
        """Say yes to what was shown and carry it out; `also` is written with the yes, or not at all.

        Raises:
            ApprovalError: It cannot be decided, or not with this digest.
            NotAllowedError: The owner has blocked the tool since (R109); the call goes on waiting.
        """
        return await self._to_its_end(approval, self._approve(approval, digest=digest, who=who, reason=reason, also=also))

    async def deny(self, approval: ApprovalId, *, who: Approver, reason: str | None, also: Also | None = None) -> ApprovalRow:
        """Say no; the agent is told. `also` is written with the no, or not at all.

        Raises:
            ApprovalError: It cannot be decided.
        """
        try:
            row = await self._parts.store.call(self._deny, approval, who=who, reason=reason, also=also)
        except ApprovalExpiredError:
            await self.go_on(approval)
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
        """End every approval whose deadline has come (L2) or whose yes is too old (L3); its run goes on with that answer."""
        ended, unused = await self._parts.store.call(self._expire)
        if ended or unused:
            self._parts.changes.ring()
        return ended

    async def carry_out(self, approval: ApprovalId, *, opening: Opening | None = None) -> ApprovalRow:
        """Perform an approved call once; whoever waits for it may go away, the effect is still recorded.

        `opening` puts it on record first, approved: what a person asks for and approves at once.
        """
        return await self._to_its_end(approval, self._carry_out(approval, opening))

    async def find_out(self, row: ApprovalRow, cwd: Path, *, release: bool = True) -> ApprovalRow:
        """Put on record what an interrupted effect did, as the disk says (B9); a doubt is left to a person.

        Args:
            row: The executing approval.
            cwd: Its agent's directory.
            release: One that did not happen is approved again, to be carried out; else it has failed.
        """
        found = await asyncio.to_thread(find, row, cwd, release=release)
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

    def leave(self, found: Iterable[ApprovalId]) -> None:
        """Have these taken up at the clock's next tick: a pause that is over kept them from being carried out."""
        self._left.update(found)

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

    async def _approve(
        self, approval: ApprovalId, *, digest: Digest, who: Approver, reason: str | None, also: Also | None
    ) -> ApprovalRow:
        waiting = await self._parts.store.query(rows.get, approval)
        if waiting.state is ApprovalState.PENDING:
            await self.refuse_blocked(waiting)
        try:
            await self._parts.store.call(self._say_yes, approval, digest=digest, who=who, reason=reason, also=also)
        except ApprovalExpiredError:
            await self.go_on(approval)
            raise
        return await self._carry_out(approval)

    async def refuse_blocked(self, row: ApprovalRow) -> None:
        """Refuse a yes to a call of a tool that the owner has blocked since (R109); it goes on waiting."""
        doubt = (await self._look(row, await self._profile(row))).doubt
        if doubt is not None and doubt.rule == BLOCKED:
            raise NotAllowedError(
                f"cannot approve {row.id}: the owner blocked {row.tool} for {row.agent}",
                resolution=f"runner deny {row.id}, or take the block back: runner tools reset {row.agent} {row.tool}",
            )

    async def go_on(self, approval: ApprovalId) -> None:
        """A decision that came too late has ended the call itself: its run must hear of it."""
        row = await self._parts.store.query(rows.get, approval)
        await self._parts.store.call(self._advance, row.run)
        self._parts.changes.ring()

    async def _carry_out(self, approval: ApprovalId, opening: Opening | None = None) -> ApprovalRow:
        store = self._parts.store
        if opening is not None:
            await store.call(opening)
        before = await store.query(rows.get, approval)
        async with self._locks.setdefault(before.run, asyncio.Lock()):  # B7
            profile = await self._profile(before)
            row = None
            while row is None:
                doubt, chosen = await self._look(before, profile)
                if doubt is not None:
                    row = await store.call(self._go_stale, before, doubt)
                else:
                    row = await self._act(before, profile.cwd, chosen)
        self._parts.changes.ring()
        return row

    async def _act(self, before: ApprovalRow, cwd: Path, chosen: Choices) -> ApprovalRow | None:
        """Begin and act; None when the owner chose otherwise between the look and the beginning: look again."""
        image = await asyncio.to_thread(pre_image, before, cwd)
        if isinstance(image, Impossible):
            return await self._parts.store.call(self._go_stale, before, Doubt(rule="pre_image", says=image.reason))
        begun = await self._parts.store.call(self._begin, before, chosen, image=image)
        if begun is None or begun.state is not ApprovalState.EXECUTING:
            return begun
        restores = await self._parts.store.query(keepsakes.kept, undoes(begun)) if begun.tool == UNDO else None
        try:
            effect = await asyncio.to_thread(act, begun, cwd, restores=restores)
        except asyncio.CancelledError:
            # The thread goes on; only the next start can look at a disk that nobody changes any more.
            raise
        except BaseException:
            await self.find_out(begun, cwd, release=False)
            raise
        # Shown before it is recorded: from then on the agent may be told, and look.
        await asyncio.to_thread(show, self._parts.live.get(begun.run), effect.changed)
        return await self._parts.store.call(self._record, begun, effect)

    async def _profile(self, row: ApprovalRow) -> Profile:
        stored = await self._parts.store.query(profiles.get, row.profile_digest)
        return from_json(json.loads(stored.text))

    async def _look(self, row: ApprovalRow, profile: Profile) -> Looked:
        contexts = self._parts.contexts
        chosen = await asyncio.to_thread(contexts.chosen, row.agent)
        return Looked(await asyncio.to_thread(doubt_about, row, profile, chosen, contexts=contexts), chosen)

    def _begin(self, conn: Connection, row: ApprovalRow, chosen: Choices, *, image: PreImage | None) -> ApprovalRow | None:
        if choices.of_agent(conn, row.agent) != chosen:
            return None
        begun = approvals.begin_effect(conn, row.id, now=self._parts.clock())
        if begun is None:
            self._advance(conn, row.run)
        elif image is not None:
            keepsakes.keep(conn, row.id, image)
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

    def _go_stale(self, conn: Connection, row: ApprovalRow, doubt: Doubt) -> ApprovalRow:
        now = rows.get(conn, row.id)
        if now.state is ApprovalState.APPROVED:
            now = approvals.stale(conn, row.id, doubt.says, self._parts.clock(), told=doubt.told)
        self._advance(conn, row.run)
        return now

    def _say_yes(  # noqa: PLR0913 -- one decision, whole
        self, conn: Connection, approval: ApprovalId, *, digest: Digest, who: Approver, reason: str | None, also: Also | None
    ) -> ApprovalRow:
        row = approvals.approve(conn, approval, digest=digest, who=who, reason=reason, now=self._parts.clock())
        if also is not None:
            also(conn, row)
        return row

    def _deny(
        self, conn: Connection, approval: ApprovalId, *, who: Approver, reason: str | None, also: Also | None
    ) -> ApprovalRow:
        row = approvals.deny(conn, approval, who=who, reason=reason, now=self._parts.clock())
        if also is not None:
            also(conn, row)
        self._advance(conn, row.run)
        return row

    def _settle(
        self, conn: Connection, approval: ApprovalId, *, happened: bool, who: Approver, reason: str | None
    ) -> ApprovalRow:
        now = self._parts.clock()
        row = approvals.settle(conn, approval, happened=happened, who=who, reason=reason, now=now)
        self._advance(conn, row.run)
        return row

    def _expire(self, conn: Connection) -> tuple[tuple[ApprovalRow, ...], tuple[ApprovalRow, ...]]:
        now = self._parts.clock()
        ended, unused = approvals.expire_due(conn, now), approvals.end_unused(conn, now)
        for run in {row.run for row in (*ended, *unused)}:
            self._advance(conn, run)
        return ended, unused

    def _advance(self, conn: Connection, run: RunId) -> None:
        advance(conn, run, now=self._parts.clock(), enqueue=self._parts.enqueue)
