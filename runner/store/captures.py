"""Captures as they were received."""

from __future__ import annotations

from sqlalchemy import Connection, RowMapping, select

from runner.errors import NotFoundError
from runner.model import CaptureId
from runner.store import audit, codec, ids, schema
from runner.store.rows import CaptureRow


def insert(conn: Connection, row: CaptureRow) -> CaptureRow:
    """Store a capture."""
    conn.execute(
        schema.captures.insert().values(
            id=row.id, agent=row.agent, text=row.text, created=row.created, **codec.sender_columns(row.sender)
        )
    )
    audit.append(
        conn,
        time=row.created,
        event="capture.receive",
        subject=row.id,
        data={"agent": row.agent, **codec.sender_columns(row.sender)},
    )
    return row


def get(conn: Connection, capture: CaptureId) -> CaptureRow:
    """A capture by its whole id.

    Raises:
        NotFoundError: No such capture.
    """
    found = conn.execute(select(schema.captures).where(schema.captures.c.id == capture)).mappings().one_or_none()
    if found is None:
        raise NotFoundError(f"cannot find capture {capture}: there is none")
    return codec.read(_row, found)


def find(conn: Connection, text: str) -> CaptureRow:
    """A capture by id or unique beginning.

    Raises:
        NotFoundError: None or several.
    """
    return get(conn, CaptureId(ids.whole(conn, schema.captures.c.id, text, kind="c", noun="capture")))


def _row(found: RowMapping) -> CaptureRow:
    return CaptureRow(
        id=CaptureId(found["id"]),
        agent=found["agent"],
        sender=codec.load_sender(found),
        text=found["text"],
        created=found["created"],
    )
