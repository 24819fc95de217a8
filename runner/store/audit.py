"""The audit: rows that only grow, chained by hash, written in the transaction of the change they record (A1, A2).

A row's data holds digests and short facts, never a call's input; what looks like a secret is taken out (A5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlalchemy import Connection, RowMapping, select

from runner.model import Digest, Json
from runner.store import chain, codec, meta, schema
from runner.store.chain import GENESIS, Link, Place
from runner.store.redact import redacted
from runner.store.rows import AuditRow

#: The key of a connection under which the events of its transaction are noted.
EVENTS = "runner.events"


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
    text = codec.dump(redacted(dict(data)))
    link = Link(seq=head.seq + 1, time=time, event=event, subject=subject, data=text, previous=head.hash, hash="")
    row = AuditRow(**{**link._asdict(), "previous": Digest(head.hash), "hash": _hash(link)})
    conn.execute(
        schema.audit.insert().values(
            seq=row.seq, time=time, event=event, subject=subject, data=text, previous=row.previous, hash=row.hash
        )
    )
    meta.put(conn, chain.END, str(Place(row.seq, row.hash)))
    conn.info.setdefault(EVENTS, []).append(event)
    return row


def verify(conn: Connection) -> int | None:
    """The first place where the chain is broken: changed, removed, reordered, put in or cut off; None when it holds."""
    table = schema.audit.c
    query = select(*(table[name] for name in Link._fields)).order_by(table.seq)

    def read() -> Iterator[Link]:
        return (Link(*found) for found in conn.execution_options(yield_per=1000).execute(query))

    broken = chain.check(read, end=chain.place(meta.get(conn, chain.END))).broken
    return None if broken is None else broken.seq


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


def _head(conn: Connection) -> Place:
    """The chain's end; every writer holds the write lock from its start, so nobody else moves it meanwhile."""
    seq, digest = (meta.get(conn, chain.END) or f"0 {GENESIS}").split(" ")
    return Place(int(seq), digest)


def _hash(link: Link) -> Digest:
    """The row's hash.

    Raises:
        ValueError: Its fields cannot be hashed.
    """
    found = chain.hash_of(link)
    if found is None:
        raise ValueError(f"cannot hash an audit row of {link.event}")
    return found
