"""Signatures of approvers under replies that need more than one yes (D5). They are only added; the text never changes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, RowMapping, select, update

from runner.lifecycle import ReplyState
from runner.model import Json, ReplyId
from runner.store import audit, codec
from runner.store.replies import ReplyRow
from runner.store.rows import Approver
from runner.store.schema_replies import replies, reply_signatures

_T = reply_signatures.c


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplySignature:
    """One approver's yes to a reply, whose digest never changes."""

    reply: ReplyId
    key_id: str
    by: Approver
    at: float


def add(conn: Connection, row: ReplyRow, signature: ReplySignature, *, required: int) -> bool:
    """Put a signature under a held reply; False when the reply has changed since it was read."""
    where = (replies.c.id == row.id, replies.c.state == ReplyState.HELD.value, replies.c.version == row.version)
    if conn.execute(update(replies).where(*where).values(version=row.version + 1)).rowcount != 1:
        return False
    columns = {"reply": signature.reply, "key_id": signature.key_id, "at": signature.at}
    conn.execute(reply_signatures.insert().values(**columns, by=codec.dump(asdict(signature.by))))
    facts: dict[str, Json] = {"digest": row.digest, "key_id": signature.key_id, "required": required}
    audit.append(conn, time=signature.at, event="reply.sign", subject=row.id, data=facts | codec.by(signature.by))
    return True


def of(conn: Connection, reply: ReplyId) -> tuple[ReplySignature, ...]:
    """The signatures under a reply, oldest first."""
    query = select(reply_signatures).where(_T.reply == reply).order_by(_T.at, _T.key_id)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def _row(found: RowMapping) -> ReplySignature:
    return ReplySignature(
        reply=ReplyId(found["reply"]), key_id=found["key_id"], by=Approver(**json.loads(found["by"])), at=found["at"]
    )
