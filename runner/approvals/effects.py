"""The intent record around an effect, and telling its outcome once (invariants 3, 4, 13). It performs nothing."""

from __future__ import annotations

from runner.approvals.decide import apply, end
from runner.approvals.outcomes import bounded, outcome_text
from runner.approvals.refusals import out_of_place
from runner.digest import MalformedJsonError, approval_digest, call_digest, parse_call
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.model import ApprovalId, Digest
from runner.store import ApprovalRow, Connection, grants, pausing
from runner.store import approvals as rows
from runner.store.approvals import ApprovalChange

#: Seconds within which an approved call has to be begun (L3), and what is said of one that was not.
UNUSED_SECONDS = 60.0
WITHDRAWN = "the grant that let it run was taken back, or ran out, before it was carried out"
UNUSED = f"it was not carried out within {UNUSED_SECONDS:.0f} s of its approval"


def fits(row: ApprovalRow) -> bool:
    """Whether the stored bytes still have the digests that were approved: what was proposed, and an edit of it (B5, D2)."""
    return _fits(row) and _fits(row.effective)


def _fits(row: ApprovalRow) -> bool:
    call = parse_call(row.tool, row.raw)
    if call.input is None:
        return False
    try:
        where = [str(path.resolved) for path in row.paths]
        exact = call_digest(tool=row.tool, definition=row.definition_digest, arguments=call.input, paths=where)
        whole = approval_digest(call=exact, run=row.run, approval=row.id, nonce=row.nonce, pre_images=row.pre_images)
    except MalformedJsonError:
        return False
    return (exact, whole) == (row.call_digest, row.approval_digest)


def is_unused(row: ApprovalRow, now: float) -> bool:
    """Whether a call was approved too long ago to be carried out only now (L3): a pause or a full database came between."""
    return row.state is ApprovalState.APPROVED and row.decided_at is not None and now >= row.decided_at + UNUSED_SECONDS


def end_unused(conn: Connection, now: float) -> tuple[ApprovalRow, ...]:
    """End every approved call that was not carried out in time (L3); those that are being carried out go on."""
    found = [row for row in rows.list(conn, states={ApprovalState.APPROVED}) if is_unused(row, now)]
    ended = (end(conn, row.id, ApprovalEvent.GO_STALE, reason=UNUSED, now=now) for row in found)
    return tuple(row for row in ended if row is not None)


def begin_effect(conn: Connection, id: ApprovalId, *, now: float) -> ApprovalRow | None:
    """Write that the effect starts; whoever gets the row, and only they, may perform it, after this is committed (B8).

    An approval whose deadline has come, that was given too long ago (L3), or whose bytes are not those that were approved, ends
    as stale instead (B5).

    Returns:
        The executing row, or None: it was not approved, somebody else began it, it has just gone stale, or it
        waits for the end of a pause (L9).

    Raises:
        NotFoundError: No such approval.
    """
    row = rows.get(conn, id)
    if row.state is not ApprovalState.APPROVED or row.effect is not None or pausing.current(conn) is not None:
        return None
    doubt = UNUSED if is_unused(row, now) else None
    if now >= row.expires:
        doubt = "its deadline passed before it was carried out"
    if grants.withdrawn(conn, row, now=now):
        doubt = WITHDRAWN
    if not fits(row):
        doubt = "what is stored is not what was approved"
    if doubt is not None:
        end(conn, id, ApprovalEvent.GO_STALE, reason=doubt, now=now)
        return None
    return rows.move(conn, id, ApprovalEvent.EXECUTE, now=now)


def finish_effect(  # noqa: PLR0913 -- one outcome, whole
    conn: Connection, id: ApprovalId, *, event: ApprovalEvent, outcome: str, now: float, left: Digest | None = None
) -> ApprovalRow:
    """Put on record what became of an effect that was begun.

    Args:
        conn: The transaction.
        id: Whole id.
        event: SUCCEED, FAIL, DOUBT (it may have happened), or NOT_HAPPENED (proven: released again).
        outcome: What the agent is told; cut to `OUTCOME_BYTES`.
        now: Epoch seconds.
        left: What the effect says it left at its target, for the record (A4).

    Raises:
        NotFoundError: No such approval.
        AlreadyDecidedError: No effect of it is under way.
    """
    change: ApprovalChange = {"outcome": bounded(outcome), "outcome_error": event is not ApprovalEvent.SUCCEED, "left": left}
    if event is ApprovalEvent.NOT_HAPPENED:
        change = {"outcome": None, "outcome_error": False}
    row = apply(conn, id, event, now=now, change=change)
    if row is None:
        raise out_of_place(rows.get(conn, id), "record an outcome of")
    return row


def deliver(conn: Connection, id: ApprovalId, *, now: float) -> str | None:
    """The text of an outcome, the first time; None later, and None while there is none (invariant 13).

    Raises:
        NotFoundError: No such approval.
    """
    row = rows.deliver(conn, id, now=now)
    return None if row is None else outcome_text(row)
