"""Attempts at segments: which container speaks for a run, known before that container starts."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, RowMapping, select, update

from runner.errors import NotFoundError
from runner.model import RunId
from runner.store import codec, schema
from runner.store.rows import SegmentRow


def insert(conn: Connection, row: SegmentRow) -> SegmentRow:
    """Store an attempt before anything of it exists outside the database."""
    conn.execute(schema.segments.insert().values(**{name: getattr(row, name) for name in SegmentRow.__dataclass_fields__}))
    return row


def bind_container(conn: Connection, run: RunId, segment: int, attempt: int, container_id: str) -> bool:  # noqa: PLR0917 -- the key has three parts
    """Tie a created container to its attempt before it is started; once, and only while the attempt is open."""
    where = (*_one(run, segment, attempt), schema.segments.c.container_id.is_(None), schema.segments.c.ended.is_(None))
    return conn.execute(update(schema.segments).where(*where).values(container_id=container_id)).rowcount == 1


def end(conn: Connection, run: RunId, segment: int, attempt: int, *, reason: str, now: float) -> bool:  # noqa: PLR0913, PLR0917 -- the key has three parts
    """Close an attempt; False when it was closed already."""
    where = (*_one(run, segment, attempt), schema.segments.c.ended.is_(None))
    return conn.execute(update(schema.segments).where(*where).values(ended=now, reason=reason)).rowcount == 1


def get(conn: Connection, run: RunId, segment: int, attempt: int) -> SegmentRow:  # noqa: PLR0917 -- the key has three parts
    """One attempt.

    Raises:
        NotFoundError: No such attempt.
    """
    found = conn.execute(select(schema.segments).where(*_one(run, segment, attempt))).mappings().one_or_none()
    if found is None:
        raise NotFoundError(f"cannot find attempt {run}:{segment}:{attempt}: there is none")
    return codec.read(_row, found)


def of_run(conn: Connection, run: RunId) -> tuple[SegmentRow, ...]:
    """A run's attempts in their order."""
    query = select(schema.segments).where(schema.segments.c.run == run)
    query = query.order_by(schema.segments.c.segment, schema.segments.c.attempt)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def open_attempts(conn: Connection, run: RunId | None = None) -> tuple[SegmentRow, ...]:
    """Attempts that have not ended, oldest first: whose containers may still exist."""
    query = select(schema.segments).where(schema.segments.c.ended.is_(None)).order_by(schema.segments.c.created)
    if run is not None:
        query = query.where(schema.segments.c.run == run)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def ended_containers(conn: Connection, these: Collection[str]) -> frozenset[str]:
    """Those whose attempt has ended: nobody has them any more."""
    table = schema.segments.c
    query = select(table.container_id).where(table.container_id.in_(sorted(these)), table.ended.is_not(None))
    return frozenset(str(one) for one in conn.scalars(query))


def _one(run: RunId, segment: int, attempt: int) -> tuple[codec.Condition, ...]:
    table = schema.segments.c
    return (table.run == run, table.segment == segment, table.attempt == attempt)


def _row(found: RowMapping) -> SegmentRow:
    return SegmentRow(**found)
