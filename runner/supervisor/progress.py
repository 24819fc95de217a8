"""What a run does when one of its waiting calls has ended: go on in its container or in a fresh one, or end.

Inside the transaction that ended the call, so that a crash between the two cannot lose it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from runner.errors import UsageError
from runner.lifecycle import ApprovalState, RunEvent, RunState
from runner.model import Attempt, RunId
from runner.store import Connection, RunRow, pausing, runs, spending
from runner.store import approvals as rows
from runner.supervisor import threads
from runner.supervisor.stopping import stop_where_told

#: An approval in one of these has no outcome that its agent could be told.
WAITING = frozenset({ApprovalState.PENDING, ApprovalState.APPROVED, ApprovalState.EXECUTING, ApprovalState.UNKNOWN})

Clock = Callable[[], float]


class Enqueue(Protocol):
    """Queues an attempt inside a transaction; the dispatcher's door."""

    def __call__(self, conn: Connection, attempt: Attempt, *, agent: str) -> None:
        """Queue it, once."""


def advance(conn: Connection, run: RunId, *, now: float, enqueue: Enqueue) -> RunRow | None:
    """Release or resume a run none of whose calls waits any more, or end it; None when it stays where it is."""
    row = runs.get(conn, run)
    ended = stop_where_told(conn, row, now=now)
    if ended is not None:
        return ended
    if row.state not in (RunState.HELD, RunState.PARKED) or rows.list(conn, run=run, states=WAITING):
        return None
    if row.state is RunState.HELD:
        return runs.move(conn, run, RunEvent.RELEASE, now=now)
    if spending.held(conn, run) is not None:
        return None
    resumed = runs.move(conn, run, RunEvent.RESUME, now=now, to_segment=row.segment + 1, to_attempt=0)
    if resumed is not None:
        enqueue(conn, Attempt(run, resumed.segment, resumed.attempt), agent=resumed.agent)
    return resumed


def queue_again(conn: Connection, row: RunRow, *, now: float, enqueue: Enqueue) -> None:
    """Queue a queued run under a new attempt: the queue's entry for this one may have been taken and dropped."""
    again = runs.record(conn, row.id, now=now, to_attempt=row.attempt + 1)
    if again is not None:
        enqueue(conn, Attempt(row.id, again.segment, again.attempt), agent=row.agent)


def retry(conn: Connection, run: RunId, *, now: float, enqueue: Enqueue) -> RunRow | None:
    """Let a failed run go on from its rows in a fresh container; None when it has not failed.

    Raises:
        UsageError: One of its effects may or may not have happened: a person has to settle that first, or its agent would be
            told nothing true. Or its thread went on without it.
        PausedError: The supervisor is paused.
    """
    pausing.refuse(conn, f"resume {run}")
    row = runs.get(conn, run)
    doubtful = rows.list(conn, run=run, states=WAITING)
    if doubtful:
        raise UsageError(
            f"cannot resume {run}: nobody knows yet whether {doubtful[0].tool} happened",
            resolution=f"runner settle {doubtful[0].id} happened|not-happened",
        )
    threads.refuse_again(conn, row)
    again = runs.move(conn, run, RunEvent.RETRY, now=now, to_segment=row.segment + 1, to_attempt=0, reason=None)
    if again is not None:
        enqueue(conn, Attempt(run, again.segment, again.attempt), agent=again.agent)
    return again
