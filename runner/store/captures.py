"""Captures as they were received."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, func, select, update

from runner.errors import NotFoundError
from runner.lifecycle import CAPTURE, CaptureEvent, CaptureState, sources
from runner.model import CaptureId, Json, Sender
from runner.store import audit, codec, ids, schema
from runner.store.rows import Approver, CaptureRow


class CaptureLine(NamedTuple):
    """A capture without its content: all that may be said of a stub (R32)."""

    id: CaptureId
    agent: str
    sender: Sender
    state: CaptureState
    size: int
    created: float


def insert(conn: Connection, row: CaptureRow) -> CaptureRow:
    """Store a capture."""
    conn.execute(
        schema.captures.insert().values(
            id=row.id,
            agent=row.agent,
            text=row.text,
            created=row.created,
            state=row.state.value,
            **codec.sender_columns(row.sender),
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


def listing(
    conn: Connection, *, states: Collection[CaptureState] | None = None, limit: int | None = None
) -> tuple[CaptureLine, ...]:
    """Captures without their content, newest first; None means any."""
    table = schema.captures
    columns = [column for column in table.c if column.name != "text"]
    query = select(*columns, func.length(table.c.text).label("size"))
    if states is not None:
        query = query.where(table.c.state.in_(sorted(state.value for state in states)))
    query = query.order_by(table.c.created.desc(), table.c.id.desc()).limit(limit)
    return tuple(codec.read(_line, found) for found in conn.execute(query).mappings())


def move(  # noqa: PLR0913 - one move, whole
    conn: Connection, capture: CaptureId, event: CaptureEvent, *, now: float, by: Approver | None = None, why: str = ""
) -> CaptureState | None:
    """Let `event` happen to a capture; None, and nothing changed, when its state does not allow it (R36)."""
    column = schema.captures.c.state
    before = conn.execute(select(column).where(schema.captures.c.id == capture)).scalar_one_or_none()
    after = None if before is None else sources(CAPTURE, event).get(CaptureState(before))
    if after is None:
        return None
    where = (schema.captures.c.id == capture, column == before)
    if conn.execute(update(schema.captures).where(*where).values(state=after.value)).rowcount != 1:
        return None
    if event is not CaptureEvent.DELIVER:  # its run's own first row says that
        facts: dict[str, Json] = {"why": why} if why else {}
        audit.append(conn, time=now, event=f"capture.{event.value}", subject=capture, data=codec.by(by) | facts)
    return after


def _line(found: RowMapping) -> CaptureLine:
    return CaptureLine(
        CaptureId(found["id"]),
        found["agent"],
        codec.load_sender(found),
        CaptureState(found["state"]),
        found["size"],
        found["created"],
    )


def _row(found: RowMapping) -> CaptureRow:
    return CaptureRow(
        id=CaptureId(found["id"]),
        agent=found["agent"],
        sender=codec.load_sender(found),
        text=found["text"],
        created=found["created"],
        state=CaptureState(found["state"]),
    )
