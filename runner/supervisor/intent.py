"""The transactions around a decision and its effect: each is whole or not at all, and what a run does next is part of it.

A yes and the intent of its effect are one transaction where nothing else of the run is under way (invariants 3, 4): a disk that
takes no intent takes no yes either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from runner import approvals
from runner.approvals import Approver
from runner.broker import Effect, PreImage
from runner.errors import NotAllowedError
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.model import ApprovalId, Digest, RunId
from runner.store import ApprovalRow, Choices, Connection, choices
from runner.store import approvals as rows
from runner.store.edit import Edit
from runner.supervisor import keepsakes
from runner.supervisor.acts import Found
from runner.supervisor.doubts import Doubt
from runner.supervisor.progress import Clock, Enqueue, advance

#: Something that belongs to a decision and is written in its transaction: a verdict saved with it (R144).
Also: TypeAlias = Callable[[Connection, ApprovalRow], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Yes:
    """A person's yes to what they were shown; `also`, and an `edit` they made of it, are written with it, or not at all."""

    approval: ApprovalId
    digest: Digest
    who: Approver
    reason: str | None
    also: Also | None = None
    edit: Edit | None = None

    def made_of(self, row: ApprovalRow) -> ApprovalRow:
        """The approval as it will be once this yes is said."""
        return row if self.edit is None else replace(row, edit=self.edit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """An approval as it was looked at: by which choices, what speaks against it, and what it is about to write over."""

    row: ApprovalRow
    cwd: Path
    chosen: Choices
    doubt: Doubt | None
    image: PreImage | None


class Step(NamedTuple):
    """What a look led to; only where the intent is `ours` may the row's effect be performed, by whoever got this."""

    row: ApprovalRow
    ours: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Intents:
    """Writes what is decided, begun and found out."""

    clock: Clock
    enqueue: Enqueue

    def say_yes(self, conn: Connection, yes: Yes) -> ApprovalRow:
        """Put a yes on record.

        Raises:
            ApprovalError: It cannot be approved, or not with this digest.
            NotAllowedError: It needs more approvers than a verdict that would be saved with it.
        """
        if yes.edit is not None:
            approvals.store_edit(conn, yes.approval, yes.edit, now=self.clock())
        row = approvals.approve(conn, yes.approval, digest=yes.digest, who=yes.who, reason=yes.reason, now=self.clock())
        if yes.also is not None:
            if row.required > 1:
                raise NotAllowedError(
                    f"cannot save a verdict with {row.id}: it needs {row.required} approvers, and a verdict one"
                )
            yes.also(conn, row)
        return row

    def begin(self, conn: Connection, looked: Looked, yes: Yes | None) -> Step | None:
        """Write the intent, after the yes where that is still to be said; where something speaks against it, end the call.

        Returns:
            None, and nothing is written: the owner chose otherwise since the look, so look again.

        Raises:
            ApprovalError: The yes was refused.
        """
        row = looked.row
        if choices.of_agent(conn, row.agent) != looked.chosen:
            return None
        if yes is not None:
            self.say_yes(conn, yes)
        if looked.doubt is not None:
            return Step(self._go_stale(conn, row, looked.doubt), ours=False)
        begun = approvals.begin_effect(conn, row.id, now=self.clock())
        if begun is None:
            self.advance(conn, row.run)
        elif looked.image is not None:
            keepsakes.keep(conn, row.id, looked.image)
        return Step(begun or rows.get(conn, row.id), ours=begun is not None)

    def record(self, conn: Connection, row: ApprovalRow, effect: Effect) -> ApprovalRow:
        """Put on record what an effect did."""
        now = self.clock()
        match effect.state:
            case "done":
                ended = approvals.finish_effect(
                    conn, row.id, event=ApprovalEvent.SUCCEED, outcome=effect.outcome, now=now, left=effect.left
                )
            case "failed":
                ended = approvals.finish_effect(conn, row.id, event=ApprovalEvent.FAIL, outcome=effect.outcome, now=now)
            case "stale":
                approvals.finish_effect(conn, row.id, event=ApprovalEvent.NOT_HAPPENED, outcome=effect.outcome, now=now)
                ended = approvals.stale(conn, row.id, effect.outcome, now)
        self.advance(conn, row.run)
        return ended

    def record_found(self, conn: Connection, row: ApprovalRow, found: Found) -> ApprovalRow:
        """Put on record what the disk says of an effect that was interrupted (B9)."""
        ended = approvals.finish_effect(conn, row.id, event=found.event, outcome=found.outcome, now=self.clock())
        self.advance(conn, row.run)
        return ended

    def deny(
        self, conn: Connection, approval: ApprovalId, *, who: Approver, reason: str | None, also: Also | None
    ) -> ApprovalRow:
        """Put a no on record.

        Raises:
            ApprovalError: It cannot be decided.
        """
        row = approvals.deny(conn, approval, who=who, reason=reason, now=self.clock())
        if also is not None:
            also(conn, row)
        self.advance(conn, row.run)
        return row

    def settle(
        self, conn: Connection, approval: ApprovalId, *, happened: bool, who: Approver, reason: str | None
    ) -> ApprovalRow:
        """Put on record what a person found of an effect in doubt.

        Raises:
            RunnerError: There is nothing to settle.
        """
        row = approvals.settle(conn, approval, happened=happened, who=who, reason=reason, now=self.clock())
        self.advance(conn, row.run)
        return row

    def expire(self, conn: Connection, *, set_back: bool) -> tuple[tuple[ApprovalRow, ...], tuple[ApprovalRow, ...]]:
        """End what is past its deadline (L2), and what was approved and not begun (L3)."""
        now = self.clock()
        ended, unused = approvals.expire_due(conn, now, set_back=set_back), approvals.end_unused(conn, now)
        for run in {row.run for row in (*ended, *unused)}:
            self.advance(conn, run)
        return ended, unused

    def advance(self, conn: Connection, run: RunId) -> None:
        """Let the run go on where none of its calls waits any more."""
        advance(conn, run, now=self.clock(), enqueue=self.enqueue)

    def _go_stale(self, conn: Connection, row: ApprovalRow, doubt: Doubt) -> ApprovalRow:
        now = rows.get(conn, row.id)
        if now.state is ApprovalState.APPROVED:
            now = approvals.stale(conn, row.id, doubt.says, self.clock(), told=doubt.told)
        self.advance(conn, row.run)
        return now
