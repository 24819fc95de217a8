"""Runs: rows that move only along `lifecycle.RUN`, by compare-and-set (invariant 9)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import TypedDict, Unpack

from sqlalchemy import Connection, RowMapping, func, select, update

from runner.errors import NotFoundError
from runner.lifecycle import RUN, RunEvent, RunState, sources
from runner.model import CaptureId, Digest, Json, RunId, Usage
from runner.store import audit, codec, ids, schema
from runner.store.rows import Approver, RunRow


class RunChange(TypedDict, total=False):
    """Fields a change may set; `to_segment` and `to_attempt` are the new values of what `segment` and `attempt` guard."""

    session_id: str | None
    nonce: str
    reason: str | None
    reply: str | None
    usage: Usage
    to_segment: int
    to_attempt: int


def insert(conn: Connection, row: RunRow) -> RunRow:
    """Store a new, queued run."""
    conn.execute(schema.runs.insert().values(**_columns(row)))
    facts: dict[str, Json] = {"agent": row.agent, "capture": row.capture, "profile": row.profile_digest, "strict": row.strict}
    audit.append(conn, time=row.created, event="run.queue", subject=row.id, data=facts | codec.sender_columns(row.sender))
    return row


def get(conn: Connection, run: RunId) -> RunRow:
    """A run by its whole id.

    Raises:
        NotFoundError: No such run.
    """
    found = conn.execute(select(schema.runs).where(schema.runs.c.id == run)).mappings().one_or_none()
    if found is None:
        raise NotFoundError(f"cannot find run {run}: there is none")
    return codec.read(_row, found)


def find(conn: Connection, text: str) -> RunRow:
    """A run by id or unique beginning.

    Raises:
        NotFoundError: None or several.
    """
    return get(conn, RunId(ids.whole(conn, schema.runs.c.id, text, kind="r", noun="run")))


def list(
    conn: Connection, *, agent: str | None = None, states: Collection[RunState] | None = None, limit: int | None = None
) -> tuple[RunRow, ...]:
    """Runs, newest first; None means any."""
    query = select(schema.runs).order_by(schema.runs.c.created.desc(), schema.runs.c.id.desc()).limit(limit)
    if agent is not None:
        query = query.where(schema.runs.c.agent == agent)
    if states is not None:
        query = query.where(schema.runs.c.state.in_(sorted(state.value for state in states)))
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def of_capture(conn: Connection, capture: CaptureId) -> tuple[RunRow, ...]:
    """The runs of a capture, oldest first."""
    query = select(schema.runs).where(schema.runs.c.capture == capture).order_by(schema.runs.c.created, schema.runs.c.id)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def counts(conn: Connection) -> dict[RunState, int]:
    """How many runs are in each state that any is in."""
    state = schema.runs.c.state
    return {RunState(name): count for name, count in conn.execute(select(state, func.count()).group_by(state))}


def idle(conn: Connection) -> tuple[RunId, ...]:
    """Parked runs that wait for an engine and for no person: no call of theirs waits for an outcome, nor they for a budget."""
    waits = schema.approvals.c.state.in_(("pending", "approved", "executing", "unknown"))
    waiting = select(schema.approvals.c.id).where(schema.approvals.c.run == schema.runs.c.id, waits)
    held = select(schema.budget_holds.c.run).where(schema.budget_holds.c.run == schema.runs.c.id)
    query = select(schema.runs.c.id).where(schema.runs.c.state == RunState.PARKED.value, ~waiting.exists(), ~held.exists())
    return tuple(RunId(run) for run in conn.execute(query).scalars())


def move(  # noqa: PLR0913 -- the guards are part of the question
    conn: Connection,
    run: RunId,
    event: RunEvent,
    *,
    now: float,
    segment: int | None = None,
    attempt: int | None = None,
    by: Approver | None = None,
    **fields: Unpack[RunChange],
) -> RunRow | None:
    """Let `event` happen to a run, from whichever state the table allows.

    Args:
        conn: The transaction.
        run: Whole id.
        event: What happened.
        now: Epoch seconds.
        segment: Only if this is the run's segment; a stale one changes nothing.
        attempt: Only if this is the run's attempt.
        by: Who did it, if a person did.
        **fields: What else changes with it.

    Returns:
        The run as it is now, or None when the event did not apply: then nothing has changed.

    Raises:
        NotFoundError: No such run.
    """
    before = _guarded(conn, run, segment=segment, attempt=attempt)
    after = None if before is None else sources(RUN, event).get(before.state)
    if before is None or after is None or not _set(conn, before, now=now, state=after.value, **_changes(fields)):
        return None
    row = get(conn, run)
    audit.append(conn, time=now, event=f"run.{event.value}", subject=run, data=_facts(before, row) | codec.by(by))
    return row


def record(
    conn: Connection,
    run: RunId,
    *,
    now: float,
    segment: int | None = None,
    attempt: int | None = None,
    **fields: Unpack[RunChange],
) -> RunRow | None:
    """Set fields without moving the run; None, and nothing changed, when the guards do not fit.

    Raises:
        NotFoundError: No such run.
    """
    before = _guarded(conn, run, segment=segment, attempt=attempt)
    if before is None or not _set(conn, before, now=now, **_changes(fields)):
        return None
    return get(conn, run)


def _guarded(conn: Connection, run: RunId, *, segment: int | None, attempt: int | None) -> RunRow | None:
    row = get(conn, run)
    fits = segment in (None, row.segment) and attempt in (None, row.attempt)
    return row if fits else None


def _set(conn: Connection, before: RunRow, *, now: float, **columns: object) -> bool:
    where = (schema.runs.c.id == before.id, schema.runs.c.state == before.state.value, schema.runs.c.version == before.version)
    changed = conn.execute(update(schema.runs).where(*where).values(updated=now, version=before.version + 1, **columns))
    return changed.rowcount == 1


def _changes(fields: RunChange) -> dict[str, object]:
    columns: dict[str, object] = {}
    for name, value in fields.items():
        match name:
            case "usage":
                columns |= asdict(fields["usage"])
            case "to_segment" | "to_attempt":
                columns[name.removeprefix("to_")] = value
            case _:
                columns[name] = value
    return columns


def _facts(before: RunRow, after: RunRow) -> dict[str, Json]:
    facts: dict[str, Json] = {"from": before.state.value, "to": after.state.value}
    return facts | {"segment": after.segment, "attempt": after.attempt, "reason": after.reason}


def _columns(row: RunRow) -> dict[str, object]:
    plain = ("id", "capture", "agent", "profile_digest", "strict", "segment", "attempt", "session_id", "nonce")
    columns: dict[str, object] = {
        name: getattr(row, name) for name in (*plain, "reason", "reply", "created", "updated", "version")
    }
    return columns | {"state": row.state.value} | asdict(row.usage) | codec.sender_columns(row.sender)


def _row(found: RowMapping) -> RunRow:
    usage = ("requests", "turns", "input_tokens", "output_tokens")
    return RunRow(
        id=RunId(found["id"]),
        capture=CaptureId(found["capture"]),
        agent=found["agent"],
        profile_digest=Digest(found["profile_digest"]),
        sender=codec.load_sender(found),
        strict=found["strict"],
        created=found["created"],
        updated=found["updated"],
        state=RunState(found["state"]),
        segment=found["segment"],
        attempt=found["attempt"],
        session_id=found["session_id"],
        nonce=found["nonce"],
        reason=found["reason"],
        reply=found["reply"],
        usage=Usage(**{name: found[name] for name in usage}),
        version=found["version"],
    )
