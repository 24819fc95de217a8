"""What a run that continues a thread starts from: the conversation of the runs before it, made anew from their rows.

The same rows give the same lines every time, ids included: a line that a container added names the one before it by its id.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from runner.agent import versions
from runner.model import JsonObject, RunId
from runner.store import Connection, RunRow, calls, runs, transcript
from runner.store.rows import TranscriptRow
from runner.supervisor.retold import answers_of, told_of, turns_of
from runner.transcript import Scribe, finished, last_uuid

#: Ids of our lines are made from the run and the line's number within this.
_LINES = uuid.UUID("6d0b5a52-3f2e-4f4e-9d53-6a0f0c7f2f10")


class Earlier(NamedTuple):
    """A run that is continued, and the user message that it began with."""

    run: RunId
    prompt: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A conversation so far."""

    lines: tuple[str, ...] = ()
    wire_ids: frozenset[str] = frozenset()  #: of every call in it


NO_PAST = Past()


def conversation(conn: Connection, earlier: Sequence[Earlier], *, session_id: str) -> Past:
    """The conversation of runs that replied, in order."""
    lines: list[str] = []
    wire_ids: set[str] = set()
    for one in earlier:
        row = runs.get(conn, one.run)
        answers = answers_of(conn, row.id)
        turns = turns_of(conn, row.id, answers)
        first = (turns[0][0].segment, turns[0][0].attempt) if turns else (row.segment, row.attempt)
        told = [[told_of(call, answers.get(call.id)) for call in turn] for turn in turns]
        lines += finished(
            since(transcript.read(conn, row.id), first),
            told,
            _scribe(row, session_id=session_id, parent=last_uuid(lines)),
            prompt=one.prompt,
            reply=row.reply or "",
        )
        wire_ids |= {call.wire_id for call in calls.of_run(conn, row.id) if call.turn > 0}
    return Past(lines=tuple(lines), wire_ids=frozenset(wire_ids))


def since(mirrored: Sequence[TranscriptRow], first: tuple[int, int]) -> list[str]:
    """Lines of the attempt that took the first turn, and of those behind it: the ones before left nothing to go on from."""
    return [row.entry for row in mirrored if (row.segment, row.attempt) >= first]


def stamp(time: float) -> str:
    """A line's time."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _scribe(row: RunRow, *, session_id: str, parent: str | None) -> Scribe:
    numbers = itertools.count()
    return Scribe(
        session_id=session_id,
        cli_version=versions()[1],
        new_uuid=lambda: str(uuid.uuid5(_LINES, f"{row.id} {next(numbers)}")),
        timestamp=stamp(row.updated),
        parent=parent,
    )
