"""Giving a call that waits more time: an approver's act, bounded, on record (L4)."""

from __future__ import annotations

from runner.approvals.decide import undecided
from runner.approvals.refusals import too_late
from runner.errors import UsageError
from runner.model import ApprovalId
from runner.store import ApprovalRow, Approver, Connection
from runner.store import approvals as rows


def extend(  # noqa: PLR0913 -- one act, whole
    conn: Connection, id: ApprovalId, *, seconds: float, longest: float, who: Approver, now: float
) -> ApprovalRow:
    """Move the deadline of a pending call away.

    Args:
        conn: The transaction.
        id: Whole id.
        seconds: How much later it comes.
        longest: Seconds from now within which it still has to come.
        who: Who gives the time.
        now: Epoch seconds.

    Raises:
        NotFoundError: No such approval.
        AlreadyDecidedError: It does not wait any more.
        ApprovalExpiredError: Past its deadline.
        UsageError: Not later, or too late.
    """
    row = undecided(conn, id, verb="extend", now=now)
    if not 0 < seconds < float("inf"):
        raise UsageError(f"cannot extend {id}: its deadline has to move away")
    if row.expires + seconds > now + longest:
        raise UsageError(
            f"cannot extend {id} by {seconds:.0f} s: its deadline may be at most {longest:.0f} s from now",
            resolution=f"--for {max(int(now + longest - row.expires), 0)}s is the most now; approvals.expires sets it",
        )
    moved = rows.extend(conn, row, expires=row.expires + seconds, by=who, now=now)
    if moved is None:
        raise too_late(rows.get(conn, id), "extend")
    return moved
