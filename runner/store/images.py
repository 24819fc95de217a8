"""What stood where an effect was carried out: kept before it begins, never changed, read when it is to be taken back."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import Connection, RowMapping, select

from runner.model import ApprovalId
from runner.store import codec, schema
from runner.store.rows import ImageRow


def keep(conn: Connection, row: ImageRow) -> None:
    """Keep what an effect is about to write over; one that is tried again after a crash finds its own row, and leaves it."""
    if get(conn, row.approval) is None:
        conn.execute(schema.pre_images.insert().values(**asdict(row)))


def get(conn: Connection, approval: ApprovalId) -> ImageRow | None:
    """What stood there before an approval was carried out; None where nothing was kept."""
    found = conn.execute(select(schema.pre_images).where(schema.pre_images.c.approval == approval)).mappings().one_or_none()
    return None if found is None else codec.read(_row, found)


def _row(found: RowMapping) -> ImageRow:
    return ImageRow(**{**found, "approval": ApprovalId(found["approval"])})
