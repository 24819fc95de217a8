"""Captures that the owner handed on to another agent: of which capture, with what note, by whose hands (S4)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, RowMapping, select

from runner.model import CaptureId, Json, Sender, SenderKind
from runner.store import audit, codec
from runner.store.rows import Approver
from runner.store.schema_replies import forwards


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardRow:
    """`capture` holds what `of` held. `hops`: by whose hands it went, the owner last, once for each time."""

    capture: CaptureId
    of: CaptureId
    note: str
    hops: tuple[Sender, ...]


def insert(conn: Connection, row: ForwardRow, *, who: Approver, now: float) -> None:
    """Note that a capture is another one handed on."""
    hops: list[Json] = [{**asdict(hop), "kind": hop.kind.value} for hop in row.hops]
    conn.execute(forwards.insert().values(capture=row.capture, of=row.of, note=row.note, hops=codec.dump(hops)))
    facts: dict[str, Json] = {"of": row.of, "hops": len(row.hops)}
    audit.append(conn, time=now, event="capture.forward", subject=row.capture, data=facts | codec.by(who))


def of_capture(conn: Connection, capture: CaptureId) -> ForwardRow | None:
    """How a capture was handed on; None for one that was sent."""
    found = conn.execute(select(forwards).where(forwards.c.capture == capture)).mappings().one_or_none()
    return None if found is None else codec.read(_row, found)


def _row(found: RowMapping) -> ForwardRow:
    return ForwardRow(
        capture=CaptureId(found["capture"]),
        of=CaptureId(found["of"]),
        note=found["note"],
        hops=tuple(Sender(**{**hop, "kind": SenderKind(hop["kind"])}) for hop in json.loads(found["hops"])),
    )
