"""More than one yes: distinct keys under the same digest (D5). A changed digest starts anew; one no ends it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from runner.approvals.refusals import too_late
from runner.errors import AlreadyDecidedError, NotAllowedError
from runner.model import ApprovalId
from runner.store import ApprovalRow, Approver, Connection, signatures
from runner.store import approvals as rows
from runner.store.signatures import SignatureRow


def sign(conn: Connection, row: ApprovalRow, *, who: Approver, now: float) -> ApprovalRow | None:
    """Put an approver's signature under what is carried out.

    Returns:
        The approval as it still waits for others; None: this was the last that it needs, and it may be approved.

    Raises:
        NotAllowedError: They did not sign with a key.
        AlreadyDecidedError: Their key has signed it before, or it has just changed.
    """
    if who.key_id is None:
        raise NotAllowedError(
            f"cannot approve {row.id}: it needs {row.required} approvers, each with a key of their own",
            resolution="runner approver keygen makes a key; the operator adds it under [approvers] keys",
        )
    given = fitting(conn, [row])[row.id]
    if any(one.key_id == who.key_id for one in given):
        raise AlreadyDecidedError(
            f"cannot approve {row.id}: {who.name or who.key_id} has signed it, and {said(row, given)} are there",
            resolution="another approver has to",
        )
    made = SignatureRow(approval=row.id, key_id=who.key_id, digest=row.effective.approval_digest, by=who, at=now)
    if not signatures.add(conn, row, made):
        raise too_late(rows.get(conn, row.id), "approve")
    return None if len(given) + 1 >= row.required else rows.get(conn, row.id)


def fitting(conn: Connection, found: Collection[ApprovalRow]) -> Mapping[ApprovalId, tuple[SignatureRow, ...]]:
    """The signatures under what each of these would carry out, for those that need more than one."""
    several = {row.id: row for row in found if row.required > 1}
    under = signatures.of(conn, several)
    return {
        id: tuple(one for one in under if (one.approval, one.digest) == (id, row.effective.approval_digest))
        for id, row in several.items()
    }


def said(row: ApprovalRow, given: Collection[SignatureRow]) -> str:
    """`1 of 2 signatures`."""
    return f"{len(given)} of {row.required} signatures"
