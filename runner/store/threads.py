"""Threads: conversations that the owner continues under a name; rows that are written once (design.md §6, invariant 10).

Which capture belongs to which thread, and from whose transcript its run starts, is settled in the transaction that takes the
capture. The order of a thread's runs is told by what continues what, and by no clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, Select, func, select

from runner.lifecycle import RUN_ENDS, CaptureState, RunState
from runner.model import CaptureId, Digest, Json, RunId
from runner.store import audit, codec
from runner.store.schema import captures, runs
from runner.store.schema_threads import thread_captures, threads, turn_words

#: States of a capture that has no run yet and may get one.
_WAITS = tuple(state.value for state in (CaptureState.RECEIVED, CaptureState.STUB, CaptureState.STORED))
_ENDED = tuple(sorted(state.value for state in RUN_ENDS))


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRow:
    """A thread: whose conversation it is, and under which profile it began."""

    name: str
    agent: str
    profile_digest: Digest
    created: float


class Part(NamedTuple):
    """A capture's place: its thread, and the run that its own continues; None: it begins a conversation."""

    thread: str
    continues: RunId | None


class Line(NamedTuple):
    """A thread in a list. `runs`: how many it had; `state`: of the newest of them, None before the first."""

    thread: ThreadRow
    runs: int
    state: RunState | None
    updated: float


def insert(conn: Connection, row: ThreadRow) -> ThreadRow:
    """Begin a thread."""
    values = {"name": row.name, "agent": row.agent, "profile_digest": row.profile_digest, "created": row.created}
    conn.execute(threads.insert().values(**values))
    facts: dict[str, Json] = {"agent": row.agent, "profile": row.profile_digest}
    audit.append(conn, time=row.created, event="thread.begin", subject=row.name, data=facts)
    return row


def join(conn: Connection, capture: CaptureId, part: Part, *, now: float) -> None:
    """Say of a capture that it belongs to a thread, once."""
    conn.execute(thread_captures.insert().values(capture=capture, thread=part.thread, continues=part.continues))
    facts: dict[str, Json] = {"thread": part.thread, "continues": part.continues}
    audit.append(conn, time=now, event="thread.join", subject=capture, data=facts)


def get(conn: Connection, name: str) -> ThreadRow | None:
    """A thread by its whole name; None: nobody began it."""
    found = conn.execute(select(threads).where(threads.c.name == name)).mappings().one_or_none()
    return None if found is None else codec.read(_row, found)


def of_capture(conn: Connection, capture: CaptureId) -> Part | None:
    """Where a capture belongs; None for one that stands alone."""
    return _part(conn, select(thread_captures).where(thread_captures.c.capture == capture))


def of_run(conn: Connection, run: RunId) -> Part | None:
    """Where a run belongs; None for one that stands alone."""
    joined = select(thread_captures).join(runs, runs.c.capture == thread_captures.c.capture)
    return _part(conn, joined.where(runs.c.id == run))


def under_way(conn: Connection, name: str) -> tuple[CaptureId, RunId | None] | None:
    """The capture of a thread that still waits for its run, or the run of one that has not ended; None: nothing is open."""
    open_run = runs.c.id.is_not(None) & runs.c.state.not_in(_ENDED)
    waits = runs.c.id.is_(None) & captures.c.state.in_(_WAITS)
    query = select(captures.c.id, runs.c.id).join(thread_captures, thread_captures.c.capture == captures.c.id)
    query = query.join(runs, runs.c.capture == captures.c.id, isouter=True).where(thread_captures.c.thread == name)
    found = conn.execute(query.where(open_run | waits).limit(1)).one_or_none()
    return None if found is None else (CaptureId(found[0]), None if found[1] is None else RunId(found[1]))


def last(conn: Connection, name: str) -> RunId | None:
    """The run from which a thread goes on: the replied one that no replied one continues; None before the first reply."""
    answered = _answered(conn, name)
    continued = set(answered.values())
    return next((run for run in answered if run not in continued), None)


def before(conn: Connection, run: RunId) -> tuple[RunId, ...]:
    """The runs whose conversation a run starts from, oldest first; empty for one that begins it or stands alone."""
    part = of_run(conn, run)
    if part is None or part.continues is None:
        return ()
    answered = _answered(conn, part.thread)
    found: list[RunId] = []
    at: RunId | None = part.continues
    while at is not None and at not in found:
        found.append(at)
        at = answered.get(at)
    return tuple(reversed(found))


def note_words(conn: Connection, run: RunId, turn: int, text: str) -> None:  # noqa: PLR0917 - one turn, whole
    """Note what the model said in a turn; of a run that nobody can continue nothing is kept."""
    if text.strip() and of_run(conn, run) is not None:
        conn.execute(turn_words.insert().values(run=run, turn=turn, text=text))


def words(conn: Connection, run: RunId) -> Mapping[int, str]:
    """What the model said in a run, by turn."""
    return {
        turn: text for turn, text in conn.execute(select(turn_words.c.turn, turn_words.c.text).where(turn_words.c.run == run))
    }


def listing(conn: Connection, *, limit: int) -> tuple[Line, ...]:
    """Threads, the one that moved last first."""
    moved = func.coalesce(func.max(runs.c.updated), threads.c.created).label("moved")
    query = select(*threads.c, func.count(runs.c.id).label("many"), moved)
    query = query.join(thread_captures, thread_captures.c.thread == threads.c.name)
    query = query.join(runs, runs.c.capture == thread_captures.c.capture, isouter=True)
    query = query.group_by(*threads.c).order_by(moved.desc(), threads.c.name).limit(limit)
    found = conn.execute(query).mappings().all()
    return tuple(Line(codec.read(_row, one), one["many"], _newest(conn, one["name"]), one["moved"]) for one in found)


def _newest(conn: Connection, name: str) -> RunState | None:
    query = select(runs.c.state).join(thread_captures, thread_captures.c.capture == runs.c.capture)
    query = query.where(thread_captures.c.thread == name).order_by(runs.c.created.desc(), runs.c.id.desc()).limit(1)
    found = conn.execute(query).scalar_one_or_none()
    return None if found is None else RunState(found)


def _answered(conn: Connection, name: str) -> dict[RunId, RunId | None]:
    """Every replied run of a thread, with the one that it continues."""
    query = select(runs.c.id, thread_captures.c.continues).join(thread_captures, thread_captures.c.capture == runs.c.capture)
    query = query.where(thread_captures.c.thread == name, runs.c.state == RunState.REPLIED.value)
    return {RunId(run): None if after is None else RunId(after) for run, after in conn.execute(query)}


def _part(conn: Connection, query: Select[tuple[object, ...]]) -> Part | None:
    found = conn.execute(query).mappings().one_or_none()
    if found is None:
        return None
    return Part(found["thread"], None if found["continues"] is None else RunId(found["continues"]))


def _row(found: RowMapping) -> ThreadRow:
    return ThreadRow(
        name=found["name"], agent=found["agent"], profile_digest=Digest(found["profile_digest"]), created=found["created"]
    )
