"""What was heard at a run's gateway, as digests that are written once: a container's word for it is not taken (case 109)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select

from runner.model import Attempt, CallId, RunId
from runner.store import schema
from runner.store.schema_heard import call_results, turn_said


def note_said(conn: Connection, run: RunId, digests: Sequence[str], *, turn: int) -> None:
    """Note every text and thought of a turn."""
    rows = [{"run": run, "turn": turn, "n": n, "digest": digest} for n, digest in enumerate(digests)]
    if rows:
        conn.execute(turn_said.insert(), rows)


def said(conn: Connection, run: RunId) -> Mapping[int, Sequence[str]]:
    """What the model said in a run, by turn."""
    query = select(turn_said.c.turn, turn_said.c.digest).where(turn_said.c.run == run).order_by(turn_said.c.turn, turn_said.c.n)
    found: dict[int, list[str]] = {}
    for turn, digest in conn.execute(query):
        found.setdefault(turn, []).append(digest)
    return found


def note_result(conn: Connection, attempt: Attempt, call: CallId, parts: str) -> None:  # noqa: PLR0917 -- who let what through
    """Note the result of a call as an attempt's gateway let it through; only the first one, which no later one differs from."""
    key = {"call": call, "segment": attempt.segment, "attempt": attempt.number}
    if conn.execute(select(call_results.c.call).filter_by(**key)).one_or_none() is None:
        conn.execute(call_results.insert().values(**key, parts=parts))


def results(conn: Connection, run: RunId) -> Mapping[str, Sequence[str]]:
    """The results that the model was told in a run, by the ids that its CLI knows the calls by."""
    query = select(schema.calls.c.wire_id, call_results.c.parts).join(call_results, call_results.c.call == schema.calls.c.id)
    query = query.where(schema.calls.c.run == run, schema.calls.c.turn > 0)
    found: dict[str, list[str]] = {}
    for wire_id, parts in conn.execute(query):
        found.setdefault(wire_id, []).append(parts)
    return found
