"""Signatures of approvers under calls that need more than one yes (D5). They are only added; what was signed never changes."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, RowMapping, select, update

from runner.lifecycle import ApprovalState
from runner.model import ApprovalId, Digest, Json
from runner.store import audit, codec, schema
from runner.store.rows import ApprovalRow, Approver

#: SQLite takes no more in one IN.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureRow:
    """One approver's yes to one digest of an approval."""

    approval: ApprovalId
    key_id: str
    digest: Digest
    by: Approver
    at: float


def add(conn: Connection, row: ApprovalRow, signature: SignatureRow) -> bool:
    """Put a signature under a pending approval; False when the approval has changed since it was read."""
    table = schema.approvals.c
    where = (table.id == row.id, table.state == ApprovalState.PENDING.value, table.version == row.version)
    if conn.execute(update(schema.approvals).where(*where).values(version=row.version + 1)).rowcount != 1:
        return False
    columns = {"approval": signature.approval, "key_id": signature.key_id, "digest": signature.digest, "at": signature.at}
    conn.execute(schema.signatures.insert().values(**columns, by=codec.dump(asdict(signature.by))))
    facts: dict[str, Json] = {"digest": signature.digest, "key_id": signature.key_id, "required": row.required}
    audit.append(conn, time=signature.at, event="approval.sign", subject=row.id, data=facts | codec.by(signature.by))
    return True


def of(conn: Connection, approvals: Collection[ApprovalId]) -> tuple[SignatureRow, ...]:
    """The signatures under these approvals, oldest first; those of an earlier digest among them."""
    ids, found = sorted(approvals), []
    for start in range(0, len(ids), _AT_ONCE):
        query = select(schema.signatures).where(schema.signatures.c.approval.in_(ids[start : start + _AT_ONCE]))
        found += [codec.read(_row, one) for one in conn.execute(query).mappings()]
    return tuple(sorted(found, key=lambda one: (one.at, one.key_id)))


def _row(found: RowMapping) -> SignatureRow:
    return SignatureRow(
        approval=ApprovalId(found["approval"]),
        key_id=found["key_id"],
        digest=Digest(found["digest"]),
        by=Approver(**json.loads(found["by"])),
        at=found["at"],
    )
