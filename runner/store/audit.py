"""The audit: rows that only grow, chained by hash, written in the transaction of the change they record (A1, A2).

A row's data holds digests and short facts, never a call's input or a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, select

from runner.digest import MalformedJsonError, digest_json
from runner.model import Digest, Json
from runner.store import codec, meta, schema
from runner.store.rows import AuditRow

#: What the first row is chained to.
GENESIS = Digest("sha256:" + "0" * 64)
#: The key of a connection under which the events of its transaction are noted.
EVENTS = "runner.events"
#: The key in `meta` under which the chain's end is kept, so that a cut-off tail is noticed.
_HEAD = "audit_head"


class _Head(NamedTuple):
    seq: int
    hash: Digest


def append(conn: Connection, *, time: float, event: str, subject: str, data: Mapping[str, Json]) -> AuditRow:
    """Add a row at the chain's end.

    Args:
        conn: The transaction of the change.
        time: Epoch seconds.
        event: What happened, such as `approval.approve`.
        subject: The id it happened to.
        data: Facts about it.
    """
    head = _head(conn)
    text = codec.dump(dict(data))
    row = AuditRow(
        seq=head.seq + 1,
        time=time,
        event=event,
        subject=subject,
        data=text,
        previous=head.hash,
        hash=_hash(head.seq + 1, time, (event, subject, text), previous=head.hash),
    )
    conn.execute(
        schema.audit.insert().values(
            seq=row.seq, time=time, event=event, subject=subject, data=text, previous=row.previous, hash=row.hash
        )
    )
    meta.put(conn, _HEAD, f"{row.seq} {row.hash}")
    conn.info.setdefault(EVENTS, []).append(event)
    return row


def verify(conn: Connection) -> int | None:
    """The first place where the chain is broken: changed, removed, reordered, put in or cut off; None when it holds."""
    expected = 1
    previous = GENESIS
    found = conn.execution_options(yield_per=1000).execute(select(schema.audit).order_by(schema.audit.c.seq)).mappings()
    for columns in found:
        if columns["seq"] != expected or columns["previous"] != previous or columns["hash"] != _rehash(columns):
            return expected
        previous = Digest(columns["hash"])
        expected += 1
    return None if _head(conn) == _Head(expected - 1, previous) else expected


def length(conn: Connection) -> int:
    """The place of the newest row; 0 when there is none."""
    return _head(conn).seq


def after(conn: Connection, seq: int, limit: int) -> tuple[AuditRow, ...]:
    """What happened since place `seq`, oldest first, at most `limit` rows."""
    query = select(schema.audit).where(schema.audit.c.seq > seq).order_by(schema.audit.c.seq).limit(limit)
    return tuple(codec.read(_row, columns) for columns in conn.execute(query).mappings())


def of_subject(conn: Connection, subject: str) -> tuple[AuditRow, ...]:
    """What happened to one id, oldest first: its history."""
    query = select(schema.audit).where(schema.audit.c.subject == subject).order_by(schema.audit.c.seq)
    return tuple(codec.read(_row, columns) for columns in conn.execute(query).mappings())


def _row(columns: RowMapping) -> AuditRow:
    return AuditRow(**columns)


def _head(conn: Connection) -> _Head:
    """The chain's end; every writer holds the write lock from its start, so nobody else moves it meanwhile."""
    seq, digest = (meta.get(conn, _HEAD) or f"0 {GENESIS}").split(" ")
    return _Head(int(seq), Digest(digest))


def _hash(seq: int, time: float, texts: tuple[str, str, str], *, previous: str) -> Digest:
    event, subject, data = texts
    return digest_json(
        "runner.audit.v1",
        {"seq": seq, "time": float(time), "event": event, "subject": subject, "data": data, "previous": previous},
    )


def _rehash(columns: RowMapping) -> Digest | None:
    try:
        texts = (columns["event"], columns["subject"], columns["data"])
        return _hash(columns["seq"], columns["time"], texts, previous=columns["previous"])
    except (MalformedJsonError, TypeError, ValueError):
        return None
