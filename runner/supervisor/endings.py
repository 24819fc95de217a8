"""How an attempt begins and ends in the rows: each in one transaction, together with what its waiting calls become (L10)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from runner import approvals
from runner.approvals import Approver
from runner.lifecycle import ApprovalEvent, RunEvent
from runner.model import Attempt, Json
from runner.sandbox.box import Proof
from runner.store import Connection, RunRow, audit, pausing, runs, segments, spending
from runner.store.spending import BudgetHold
from runner.supervisor.progress import Clock, Enqueue, advance


class Ending(Enum):
    """What an attempt came to."""

    REPLY = "reply"
    FAIL = "fail"
    CANCEL = "cancel"
    PARK = "park"


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """An attempt's end; `reply` with REPLY, `reason` with the others.

    `wait`: parked for want of an engine or an image, not of a person; the clockwork looks after it. `hold`: parked until a
    person raises a budget.
    """

    ending: Ending
    wait: bool = False
    hold: BudgetHold | None = None
    reason: str = ""
    by: Approver | None = None  #: who ended it, if a person did
    reply: str | None = None
    private: bool = True  #: with a reply: whether there was anything in its snapshot that it could give away
    mismatch: bool = False  #: its container was not, or did not stay, what it was asked to be


_EVENTS = {
    Ending.REPLY: RunEvent.REPLY,
    Ending.FAIL: RunEvent.FAIL,
    Ending.CANCEL: RunEvent.CANCEL,
    Ending.PARK: RunEvent.PARK,
}
_MAX_REASON = 4000


class Answered(Protocol):
    """Takes a run's last word on its way to whoever sent the capture."""

    def __call__(self, conn: Connection, run: RunRow, *, private: bool) -> None:
        """In the transaction that ends the run."""
        ...


def to_the_owner(conn: Connection, run: RunRow, *, private: bool) -> None:
    """Where nobody else sends, a reply goes no further than to the owner, who is shown it."""
    del conn, run, private


class Endings:
    """Writes beginnings and ends of attempts."""

    def __init__(self, *, clock: Clock, enqueue: Enqueue, answered: Answered = to_the_owner) -> None:
        self._clock = clock
        self._enqueue = enqueue
        self._answered = answered

    def claim(self, conn: Connection, attempt: Attempt) -> RunRow | None:
        """Take the attempt for its run; None when it is stale or taken, or while the supervisor is paused (L9)."""
        if pausing.current(conn) is not None:
            return None
        return runs.move(conn, attempt.run, RunEvent.CLAIM, now=self._clock(), segment=attempt.segment, attempt=attempt.number)

    def started(self, conn: Connection, attempt: Attempt, proof: Proof | None = None) -> RunRow | None:
        """Its container is proven and runs; None when the run is no longer this attempt's.

        Args:
            conn: The transaction.
            attempt: Whose container it is.
            proof: What was found to be in force; goes on record with the attempt (M2).
        """
        now = self._clock()
        row = runs.move(conn, attempt.run, RunEvent.START, now=now, segment=attempt.segment, attempt=attempt.number)
        if row is not None and proof is not None:
            facts: dict[str, Json] = {"spec": proof.spec, "unseen": list(proof.unseen)}
            audit.append(conn, time=now, event="sandbox.prove", subject=attempt.run, data=_which(attempt) | facts)
        return row

    def record_in(self, conn: Connection, attempt: Attempt, end: End) -> RunRow | None:
        """Put an end on record; None, and nothing changed, when the run is no longer this attempt's."""
        now = self._clock()
        reason = end.reason[:_MAX_REASON] or None
        segments.end(conn, *attempt, reason=f"{end.ending.value}: {reason or ''}".rstrip(": "), now=now)
        row = runs.move(
            conn,
            attempt.run,
            _EVENTS[end.ending],
            now=now,
            segment=attempt.segment,
            attempt=attempt.number,
            reason=reason,
            reply=end.reply,
            by=end.by,
        )
        if end.mismatch:
            audit.append(
                conn, time=now, event="sandbox.mismatch", subject=attempt.run, data=_which(attempt) | {"found": reason or ""}
            )
        if row is None:
            return None
        if end.ending is Ending.REPLY:
            self._answered(conn, row, private=end.private)
        if end.hold is not None:
            spending.hold(conn, end.hold)
        if end.ending is Ending.PARK and end.wait:
            return row
        if end.ending is Ending.PARK:
            return advance(conn, row.id, now=now, enqueue=self._enqueue) or row
        why = "its run has ended" if end.ending is Ending.REPLY else f"its run was ended: {end.ending.value}"
        approvals.end_for_run(conn, row.id, event=ApprovalEvent.CANCEL, reason=why, now=now)
        return row


def _which(attempt: Attempt) -> dict[str, Json]:
    return {"segment": attempt.segment, "attempt": attempt.number}
