"""From a person's yes to a recorded outcome: look, write yes and intent, act once, record (invariants 3, 4).

Runs in the supervisor's own task. Nothing a container does starts, stops, orders or repeats what happens here (invariant 13);
neither does a client that hangs up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from runner.approvals import Approver
from runner.broker import UNDO, Effect, Impossible, PreImage
from runner.errors import ApprovalExpiredError, NotAllowedError, StoreError
from runner.lifecycle import ApprovalState
from runner.model import ApprovalId, Digest, Profile, RunId
from runner.store import ApprovalRow, Connection, Store
from runner.store import approvals as rows
from runner.store.edit import Edit
from runner.supervisor import keepsakes
from runner.supervisor.acts import act, find, pre_image, show, undoes
from runner.supervisor.changes import Changes
from runner.supervisor.contexts import Contexts
from runner.supervisor.doubts import BLOCKED, Doubt, Judged, decided_now, doubt_about
from runner.supervisor.floors import profile_of
from runner.supervisor.intent import Also, Intents, Looked, Yes
from runner.supervisor.live import Live
from runner.supervisor.progress import Clock, Enqueue

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
        self._intents = Intents(clock=parts.clock, enqueue=parts.enqueue)
        self._locks: WeakValueDictionary[RunId, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[ApprovalRow]] = set()
        self._left: set[ApprovalId] = set()  #: what the database did not take down

    async def approve(  # noqa: PLR0913 -- one decision, whole
        self,
        approval: ApprovalId,
        *,
        digest: Digest,
        who: Approver,
        reason: str | None,
        also: Also | None = None,
        edit: Edit | None = None,
    ) -> ApprovalRow:
        """Say yes to what was shown and carry it out; `also`, or an `edit` of it (D2), is written with the yes, or not at all.

        Raises:
            ApprovalError: It cannot be decided, or not with this digest.
            NotAllowedError: The owner has blocked the tool since (R109); the call goes on waiting.
        """
        yes = Yes(approval=approval, digest=digest, who=who, reason=reason, also=also, edit=edit)
        return await self._to_its_end(approval, self._approve(yes))

    async def deny(self, approval: ApprovalId, *, who: Approver, reason: str | None, also: Also | None = None) -> ApprovalRow:
        """Say no; the agent is told. `also` is written with the no, or not at all.

        Raises:
            ApprovalError: It cannot be decided.
        """
        try:
            row = await self._parts.store.call(self._intents.deny, approval, who=who, reason=reason, also=also)
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
        row = await self._parts.store.call(self._intents.settle, approval, happened=happened, who=who, reason=reason)
        self._parts.changes.ring()
        return row

    async def expire(self, *, set_back: bool = False) -> tuple[ApprovalRow, ...]:
        """End every approval whose deadline has come (L2) or whose yes is too old (L3); its run goes on with that answer.

        `set_back`: also those from a future that a clock set back has undone; for a supervisor that starts.
        """
        ended, unused = await self._parts.store.call(self._intents.expire, set_back=set_back)
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
        ended = await self._parts.store.call(self._intents.record_found, row, found)
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

    async def _approve(self, yes: Yes) -> ApprovalRow:
        before = await self._parts.store.query(rows.get, yes.approval)
        lock = self._lock(before.run)
        at_once = before.state is ApprovalState.PENDING and not lock.locked()
        try:
            if at_once:
                async with lock:
                    return await self._to_outcome(before.id, yes)
            if before.state is ApprovalState.PENDING:
                await self.refuse_blocked(before)
            # Another effect of the run is under way: the yes is on record now, its effect waits for its turn (B7).
            await self._parts.store.call(self._intents.say_yes, yes)
        except ApprovalExpiredError:
            await self.go_on(yes.approval)
            raise
        return await self._carry_out(yes.approval)

    async def judged(self, row: ApprovalRow) -> Judged:
        """What policy says of a call as the world is now, and where it would be carried out (D2)."""
        profile = await self._profile(row)
        chosen = await asyncio.to_thread(self._parts.contexts.chosen, row.agent)
        decision = await asyncio.to_thread(decided_now, row, profile, chosen, contexts=self._parts.contexts)
        return Judged(decision, profile.cwd)

    async def refuse_blocked(self, row: ApprovalRow) -> None:
        """Refuse a yes to a call of a tool that the owner has blocked since (R109); it goes on waiting."""
        _refuse_blocked(await asyncio.to_thread(self._look, row.id, None))

    async def go_on(self, approval: ApprovalId) -> None:
        """A decision that came too late has ended the call itself: its run must hear of it."""
        row = await self._parts.store.query(rows.get, approval)
        await self._parts.store.call(self._intents.advance, row.run)
        self._parts.changes.ring()

    def _lock(self, run: RunId) -> asyncio.Lock:
        return self._locks.setdefault(run, asyncio.Lock())

    async def _carry_out(self, approval: ApprovalId, opening: Opening | None = None) -> ApprovalRow:
        store = self._parts.store
        if opening is not None:
            await store.call(opening)
        before = await store.query(rows.get, approval)
        async with self._lock(before.run):  # B7
            return await self._to_outcome(approval, None)

    async def _to_outcome(self, approval: ApprovalId, yes: Yes | None) -> ApprovalRow:
        """From a look to what came of it, alone in its run; `yes` is said with what the look leads to, or refused."""
        step = None
        while step is None:  # else the owner chose otherwise between the look and the beginning
            looked = await asyncio.to_thread(self._look, approval, yes)
            if yes is not None:
                _refuse_blocked(looked)
            step = await self._parts.store.call(self._intents.begin, looked, yes)
        row = await self._perform(step.row, looked.cwd) if step.ours else step.row
        self._parts.changes.ring()
        return row

    def _look(self, approval: ApprovalId, yes: Yes | None) -> Looked:
        """An approval, what speaks against carrying it out, and what it is about to write over. Blocking; for a thread."""
        contexts = self._parts.contexts
        with self._parts.store.reading() as conn:
            found = rows.get(conn, approval)
            row = found if yes is None else yes.made_of(found)
            profile = profile_of(conn, row)
        chosen = contexts.chosen(row.agent)
        doubt = doubt_about(row, profile, chosen, contexts=contexts)
        image = pre_image(row, profile.cwd) if doubt is None else None
        if isinstance(image, Impossible):
            doubt, image = Doubt(rule="pre_image", says=image.reason), None
        return Looked(row=row, cwd=profile.cwd, chosen=chosen, doubt=doubt, image=image)

    async def _perform(self, begun: ApprovalRow, cwd: Path) -> ApprovalRow:
        """Act once on what this caller has begun, and put on record what came of it."""
        restores = await self._parts.store.query(keepsakes.kept, undoes(begun)) if begun.tool == UNDO else None
        try:
            effect = await asyncio.to_thread(self._act_and_show, begun, cwd, restores)
        except asyncio.CancelledError:
            # The thread goes on; only the next start can look at a disk that nobody changes any more.
            raise
        except BaseException:
            await self.find_out(begun, cwd, release=False)
            raise
        return await self._parts.store.call(self._intents.record, begun, effect)

    async def _profile(self, row: ApprovalRow) -> Profile:
        return await self._parts.store.query(profile_of, row)

    def _act_and_show(self, begun: ApprovalRow, cwd: Path, restores: PreImage | None) -> Effect:
        effect = act(begun, cwd, restores=restores)
        # Shown before it is recorded: from then on the agent may be told, and look.
        show(self._parts.live.get(begun.run), effect.changed)
        return effect


def _refuse_blocked(looked: Looked) -> None:
    row = looked.row
    if looked.doubt is not None and looked.doubt.rule == BLOCKED:
        raise NotAllowedError(
            f"cannot approve {row.id}: the owner blocked {row.tool} for {row.agent}",
            resolution=f"runner deny {row.id}, or take the block back: runner tools reset {row.agent} {row.tool}",
        )
