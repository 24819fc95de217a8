"""Decisions that cannot be taken, as errors that say who was first, when, and what to do."""

from __future__ import annotations

from datetime import UTC, datetime

from runner.errors import AlreadyDecidedError, ApprovalError, ApprovalExpiredError, RunnerError, UsageError
from runner.lifecycle import APPROVAL_ENDS, ApprovalState
from runner.store import ApprovalRow


def too_late(row: ApprovalRow, verb: str) -> ApprovalError:
    """Why `row` can no longer be decided (L1)."""
    already = f"cannot {verb} {row.id}: already {row.state.value}{_by(row)}{_at(row.decided_at)}"
    match row.state:
        case ApprovalState.EXPIRED | ApprovalState.STALE:
            return ApprovalExpiredError(
                f"cannot {verb} {row.id}: it is {row.state.value}{_at(row.decided_at)}",
                details=row.decision_reason,
                resolution="the agent has to ask again",
            )
        case _:
            return AlreadyDecidedError(already, details=row.decision_reason)


def not_unknown(row: ApprovalRow) -> RunnerError:
    """Why `row` cannot be settled: it is known what became of it, or nothing was tried yet."""
    if row.state in APPROVAL_ENDS:
        return too_late(row, "settle")
    return UsageError(
        f"cannot settle {row.id}: it is {row.state.value}, and only what is unknown can be settled",
        resolution=f"runner show {row.id}",
    )


def out_of_place(row: ApprovalRow, verb: str) -> ApprovalError:
    """Why an effect's outcome cannot be put on record: the row is not where an effect is under way."""
    return AlreadyDecidedError(f"cannot {verb} {row.id}: it is {row.state.value}")


def _by(row: ApprovalRow) -> str:
    if row.decided_by is None:
        return ""
    who = row.decided_by.name or f"uid {row.decided_by.uid}"
    return f" by {who} ({row.decided_by.channel})"


def _at(time: float | None) -> str:
    return "" if time is None else f" at {datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"
