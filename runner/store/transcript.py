"""The transcript as it was mirrored out of the container, line by line, in order."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, func, select

from runner.model import RunId
from runner.store import codec, schema
from runner.store.rows import TranscriptRow


def append(conn: Connection, run: RunId, segment: int, attempt: int, entries: Sequence[str]) -> None:  # noqa: PLR0917 -- the key has three parts
    """Add lines at the end of a run's transcript."""
    if not entries:
        return
    last = conn.execute(select(func.max(schema.transcript.c.n)).where(schema.transcript.c.run == run)).scalar_one() or 0
    rows = [
        {"run": run, "n": n, "segment": segment, "attempt": attempt, "entry": entry}
        for n, entry in enumerate(entries, start=last + 1)
    ]
    conn.execute(schema.transcript.insert(), rows)


def size(conn: Connection, *these: RunId) -> int:
    """How many characters the transcripts of runs have together."""
    length = func.coalesce(func.sum(func.length(schema.transcript.c.entry)), 0)
    return int(conn.execute(select(length).where(schema.transcript.c.run.in_(these))).scalar_one())


def read(conn: Connection, run: RunId) -> tuple[TranscriptRow, ...]:
    """Every line of a run, in order."""
    columns = (schema.transcript.c.n, schema.transcript.c.segment, schema.transcript.c.attempt, schema.transcript.c.entry)
    query = select(*columns).where(schema.transcript.c.run == run).order_by(schema.transcript.c.n)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def _row(found: RowMapping) -> TranscriptRow:
    return TranscriptRow(**found)
