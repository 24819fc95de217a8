"""Tool calls with their decisions, and the outcome each is given once."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, RowMapping, false, func, select, update

from runner.digest import digest_bytes
from runner.errors import NotFoundError
from runner.model import CallId, Digest, Json, RunId, Verdict
from runner.store import audit, codec, schema
from runner.store.rows import CallRow

_PLAIN = (
    *("id", "run", "segment", "attempt", "turn", "tool", "raw", "call_digest", "rank", "rule", "reason", "wire_id", "created"),
    *("outcome", "outcome_error", "outcome_at", "answered"),
)


def append(conn: Connection, row: CallRow) -> CallRow:
    """Store a decided call; its `n` is the next of its run, whatever the row says."""
    last = conn.execute(select(func.max(schema.calls.c.n)).where(schema.calls.c.run == row.run)).scalar_one()
    counted = replace(row, n=(last or 0) + 1)
    columns = {name: getattr(row, name) for name in _PLAIN}
    columns |= {"n": counted.n, "verdict": row.verdict.value, "paths": codec.dump_paths(row.paths)}
    conn.execute(schema.calls.insert().values(**columns))
    facts: dict[str, Json] = {"run": row.run, "n": counted.n, "tool": row.tool, "call_digest": row.call_digest}
    facts |= {"verdict": row.verdict.value, "rank": row.rank, "rule": row.rule}
    audit.append(conn, time=row.created, event="call.decide", subject=row.id, data=facts)
    return counted


def get(conn: Connection, call: CallId) -> CallRow:
    """One call.

    Raises:
        NotFoundError: No such call.
    """
    found = conn.execute(select(schema.calls).where(schema.calls.c.id == call)).mappings().one_or_none()
    if found is None:
        raise NotFoundError(f"cannot find call {call}: there is none")
    return codec.read(_row, found)


def of_run(conn: Connection, run: RunId, *, turn: int | None = None) -> tuple[CallRow, ...]:
    """A run's calls in the order they came; of one turn, where given."""
    query = select(schema.calls).where(schema.calls.c.run == run).order_by(schema.calls.c.n)
    if turn is not None:
        query = query.where(schema.calls.c.turn == turn)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def set_outcome(conn: Connection, call: CallId, *, outcome: str, error: bool = False, now: float) -> CallRow | None:
    """Give a call its outcome; None, and nothing changed, when it has one.

    Raises:
        NotFoundError: No such call.
    """
    where = (schema.calls.c.id == call, schema.calls.c.outcome.is_(None))
    values = {"outcome": outcome, "outcome_error": error, "outcome_at": now}
    if conn.execute(update(schema.calls).where(*where).values(**values)).rowcount != 1:
        get(conn, call)
        return None
    facts: dict[str, Json] = {"digest": digest_bytes(outcome.encode()), "error": error}
    audit.append(conn, time=now, event="call.outcome", subject=call, data=facts)
    return get(conn, call)


def answer(conn: Connection, call: CallId) -> bool:
    """Note that the container is being told, once; False the second time."""
    where = (schema.calls.c.id == call, schema.calls.c.answered == false())
    return conn.execute(update(schema.calls).where(*where).values(answered=True)).rowcount == 1


def _row(found: RowMapping) -> CallRow:
    values = dict(found)
    values["id"], values["run"] = CallId(values["id"]), RunId(values["run"])
    values["call_digest"] = None if values["call_digest"] is None else Digest(values["call_digest"])
    values["verdict"] = Verdict(values["verdict"])
    values["paths"] = codec.load_paths(values["paths"])
    return CallRow(**values)
