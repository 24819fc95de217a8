"""Deciding: one winner, the exact bytes, before the deadline (L1, L2, B4); and the ways a call ends without a person."""

from __future__ import annotations

from functools import partial

from runner.approvals.outcomes import is_error, outcome_text, settled_text
from runner.approvals.refusals import not_unknown, out_of_place, too_late
from runner.approvals.signing import sign
from runner.errors import ApprovalExpiredError, DigestMismatchError
from runner.lifecycle import APPROVAL_ENDS, ApprovalEvent, ApprovalState
from runner.model import ApprovalId, Digest, Json, RunId
from runner.store import ApprovalRow, Approver, Connection, audit, calls, keep, pausing, written
from runner.store import approvals as rows
from runner.store.approvals import ApprovalChange

_EXPIRED = "its deadline passed"
_SET_BACK = "it was asked for at a time that is yet to come: the clock was set back"
#: Seconds that a clock may be behind what is on record and still be taken for set back rather than put right.
CLOCK_SLACK = 86400.0


def find(conn: Connection, text: str) -> ApprovalRow:
    """An approval by id or unique beginning of at least six characters (B12).

    Raises:
        NotFoundError: None, or several; says how many.
    """
    return rows.find(conn, text)


def approve(  # noqa: PLR0913 -- one decision, whole
    conn: Connection, id: ApprovalId, *, digest: Digest, who: Approver, reason: str | None = None, now: float
) -> ApprovalRow:
    """Say yes to exactly what was shown; where several have to, it goes on waiting until the last of them has (D5).

    Args:
        conn: The transaction.
        id: Whole id.
        digest: The approval digest of what the person saw.
        who: Who decides.
        reason: Their words, if any.
        now: Epoch seconds.

    Raises:
        NotFoundError: No such approval.
        AlreadyDecidedError: Someone else was first.
        ApprovalExpiredError: Past its deadline, or stale.
        DigestMismatchError: Another digest than this approval's; that is audited.
        PausedError: The supervisor is paused; the call goes on waiting (L9).
        NotAllowedError: It needs several approvers' keys, and this is none.
    """
    pausing.refuse(conn, f"approve {id}")
    row = undecided(conn, id, verb="approve", now=now)
    if digest != row.effective.approval_digest:
        keep(conn, partial(_note_mismatch, row=row, digest=digest, who=who, now=now))
        raise DigestMismatchError(
            f"cannot approve {id}: the digest is not this approval's",
            resolution="look at it again with `runner show` and decide about what it says now",
        )
    waits = sign(conn, row, who=who, now=now) if row.required > 1 else None
    if waits is not None:
        return waits
    change: ApprovalChange = {"decided_by": who, "decided_at": now, "decision_reason": reason}
    return _decide(conn, row, ApprovalEvent.APPROVE, change=change, now=now)


def deny(conn: Connection, id: ApprovalId, *, who: Approver, reason: str | None = None, now: float) -> ApprovalRow:
    """Say no; the reason is told to the agent.

    Raises:
        NotFoundError: No such approval.
        AlreadyDecidedError: Someone else was first.
        ApprovalExpiredError: Past its deadline.
    """
    row = undecided(conn, id, verb="deny", now=now)
    change: ApprovalChange = {"decided_by": who, "decided_at": now, "decision_reason": reason, "outcome_error": True}
    return _decide(conn, row, ApprovalEvent.DENY, change=change, now=now)


def settle(  # noqa: PLR0913 -- one decision, whole
    conn: Connection, id: ApprovalId, *, happened: bool, who: Approver, reason: str | None = None, now: float
) -> ApprovalRow:
    """Say what became of an effect that the supervisor cannot know about (B9); the agent is told so.

    Args:
        conn: The transaction.
        id: Whole id.
        happened: What the person found when they looked.
        who: Who settles it.
        reason: Their words, if any; told to the agent.
        now: Epoch seconds.

    Raises:
        NotFoundError: No such approval.
        UsageError: Its effect has not been tried.
        AlreadyDecidedError: It is known what became of it.
    """
    row = rows.get(conn, id)
    if row.state is not ApprovalState.UNKNOWN:
        raise not_unknown(row)
    event = ApprovalEvent.SETTLE_HAPPENED if happened else ApprovalEvent.SETTLE_NOT_HAPPENED
    change: ApprovalChange = {"outcome": settled_text(happened=happened, reason=reason), "outcome_error": not happened}
    settled = apply(conn, id, event, now=now, change=change, by=who)
    if settled is None:
        raise not_unknown(rows.get(conn, id))
    return settled


def expire_due(conn: Connection, now: float, *, set_back: bool = False) -> tuple[ApprovalRow, ...]:
    """End every pending approval whose deadline has come (L2).

    Args:
        conn: The transaction.
        now: Epoch seconds.
        set_back: The clock may have been set back since: those that were asked for more than `CLOCK_SLACK` in the future end
            too, or they would wait for as much longer as it was set back.
    """
    due = {row.id: _EXPIRED for row in rows.list(conn, states={ApprovalState.PENDING}, due=now)}
    if set_back:
        due |= {row.id: _SET_BACK for row in rows.list(conn, states={ApprovalState.PENDING}, after=now + CLOCK_SLACK)}
    ended = (end(conn, id, ApprovalEvent.EXPIRE, reason=reason, now=now) for id, reason in due.items())
    return tuple(row for row in ended if row is not None)


def stale(  # noqa: PLR0917 -- the door's signature
    conn: Connection, id: ApprovalId, reason: str, now: float, *, told: str | None = None
) -> ApprovalRow:
    """End an approved call that no longer fits the world it was approved in (B5, L3).

    `told`: what the agent hears instead of being asked to look again, where the owner's rules say no (R111).

    Raises:
        NotFoundError: No such approval.
        AlreadyDecidedError: It is not approved and waiting.
    """
    row = end(conn, id, ApprovalEvent.GO_STALE, reason=reason, now=now, told=told)
    if row is None:
        raise out_of_place(rows.get(conn, id), "call stale")
    return row


def end_for_run(conn: Connection, run: RunId, *, event: ApprovalEvent, reason: str, now: float) -> tuple[ApprovalRow, ...]:
    """End whatever of a run still waits (L6, L10).

    Args:
        conn: The transaction in which the run ends.
        run: Whole id.
        event: CANCEL when the run ended, SUPERSEDE when it can no longer take the answer.
        reason: Told to the agent and to people.
        now: Epoch seconds.
    """
    waiting = rows.list(conn, run=run, states={ApprovalState.PENDING, ApprovalState.APPROVED})
    ended = (end(conn, row.id, event, reason=reason, now=now) for row in waiting)
    return tuple(row for row in ended if row is not None)


def end(  # noqa: PLR0913 -- one end, whole
    conn: Connection, id: ApprovalId, event: ApprovalEvent, *, reason: str, now: float, told: str | None = None
) -> ApprovalRow | None:
    """Let an approval end without a person; None when it no longer could. Who approved it before, and when, stays."""
    before = rows.get(conn, id)
    change: ApprovalChange = {"decision_reason": reason, "outcome_error": True}
    if told is not None:
        change["outcome"] = told
    if before.decided_by is None:
        change["decided_at"] = now
    return apply(conn, id, event, now=now, change=change)


def apply(  # noqa: PLR0913 -- one move, whole
    conn: Connection, id: ApprovalId, event: ApprovalEvent, *, now: float, change: ApprovalChange, by: Approver | None = None
) -> ApprovalRow | None:
    """Move an approval; where that ends it, its call gets the outcome in the same transaction."""
    row = rows.move(conn, id, event, now=now, by=by, **change)
    if row is not None and row.state in APPROVAL_ENDS:
        calls.set_outcome(conn, row.call, outcome=outcome_text(row), error=is_error(row), now=now)
    if row is not None and row.state is ApprovalState.DONE:
        written.note(conn, row.effective, now=now)
    return row


def undecided(conn: Connection, id: ApprovalId, *, verb: str, now: float) -> ApprovalRow:
    """The pending row that a person may decide about now.

    Raises:
        NotFoundError: No such approval.
        AlreadyDecidedError: It does not wait any more.
        ApprovalExpiredError: Past its deadline; that is written down.
    """
    row = rows.get(conn, id)
    if row.state is not ApprovalState.PENDING:
        raise too_late(row, verb)
    if now >= row.expires:
        keep(conn, partial(end, id=id, event=ApprovalEvent.EXPIRE, reason=_EXPIRED, now=now))
        raise ApprovalExpiredError(f"cannot {verb} {id}: {_EXPIRED}", resolution="the agent has to ask again")
    return row


def _decide(conn: Connection, row: ApprovalRow, event: ApprovalEvent, *, change: ApprovalChange, now: float) -> ApprovalRow:
    decided = apply(conn, row.id, event, now=now, change=change)
    if decided is None:
        raise too_late(rows.get(conn, row.id), event.value)
    return decided


def _note_mismatch(conn: Connection, *, row: ApprovalRow, digest: Digest, who: Approver, now: float) -> None:
    facts: dict[str, Json] = {
        "digest": row.effective.approval_digest,
        "given": digest[:100],
        "uid": who.uid,
        "channel": who.channel,
    }
    audit.append(conn, time=now, event="approval.mismatch", subject=row.id, data=facts)
