"""What a run that continues a thread starts from: the conversation of the runs before it, made anew from their rows.

Every line is ours; a container's word is taken for the results of its own reads alone. The same rows give the same lines every
time, ids included: a line that a container added names the one before it by its id.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from runner.agent import Message, user_message, versions
from runner.captures import from_json as capture_from_json
from runner.errors import NotAllowedError
from runner.fence import Prompt, compose
from runner.model import SenderKind
from runner.store import Connection, RunRow, captures, runs, threads, transcript
from runner.store.rows import TranscriptRow
from runner.supervisor.recorded import as_recorded, recorded
from runner.supervisor.retold import answers_of, told_of, turns_of
from runner.transcript import Scribe, Turn, finished, last_uuid

#: Ids of our lines are made from the run and the line's number within this.
_LINES = uuid.UUID("6d0b5a52-3f2e-4f4e-9d53-6a0f0c7f2f10")


class Earlier(NamedTuple):
    """A run that is continued, and what it was asked."""

    run: RunRow
    prompt: Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A conversation so far."""

    lines: tuple[str, ...] = ()
    wire_ids: frozenset[str] = frozenset()  #: of every call in it


NO_PAST = Past()


def earlier(conn: Connection, run: RunRow) -> tuple[Earlier, ...]:
    """The runs whose conversation a run continues, oldest first, each with its prompt as it was.

    Raises:
        NotAllowedError: One of them is not the owner's, or another agent's or profile's: nobody should have let it begin.
        FenceError: A prompt cannot be made with the fence that is on record for it.
    """
    found = [runs.get(conn, one) for one in threads.before(conn, run.id)]
    for row in found:
        if any(one.sender.kind is not SenderKind.OWNER for one in (row, run)) or _whose(row) != _whose(run):
            raise NotAllowedError(f"cannot start {run.id}: {row.id}, which it is to continue, is another agent's or person's")
    return tuple(Earlier(row, _prompt(conn, row)) for row in found)


def conversation(conn: Connection, these: Sequence[Earlier], *, session_id: str) -> Past:
    """The conversation of runs that replied, in order."""
    lines: list[str] = []
    wire_ids: set[str] = set()
    for row, prompt in these:
        answers = answers_of(conn, row.id)
        turns = turns_of(conn, row.id, answers)
        first = (turns[0][0].segment, turns[0][0].attempt) if turns else (row.segment, row.attempt)
        words, record = threads.words(conn, row.id), recorded(conn, row.id)
        lines += finished(
            as_recorded(since(transcript.read(conn, row.id), first), record),
            [Turn(words.get(turn[0].turn, ""), [told_of(call, answers.get(call.id)) for call in turn]) for turn in turns],
            _scribe(row, session_id=session_id, parent=last_uuid(lines)),
            prompt=user_message(Message(text=prompt.text, images=prompt.images)),
            reply=row.reply or "",
        )
        wire_ids |= record.turns.keys()
    return Past(lines=tuple(lines), wire_ids=frozenset(wire_ids))


def since(mirrored: Sequence[TranscriptRow], first: tuple[int, int]) -> list[str]:
    """Lines of the attempt that took the first turn, and of those behind it: the ones before left nothing to go on from."""
    return [row.entry for row in mirrored if (row.segment, row.attempt) >= first]


def stamp(time: float) -> str:
    """A line's time."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _prompt(conn: Connection, row: RunRow) -> Prompt:
    capture = capture_from_json(captures.get(conn, row.capture).text)
    return compose(capture, row.sender, nonce=row.nonce)


def _whose(row: RunRow) -> tuple[str, str]:
    return row.agent, row.profile_digest


def _scribe(row: RunRow, *, session_id: str, parent: str | None) -> Scribe:
    numbers = itertools.count()
    return Scribe(
        session_id=session_id,
        cli_version=versions()[1],
        new_uuid=lambda: str(uuid.uuid5(_LINES, f"{row.id} {next(numbers)}")),
        timestamp=stamp(row.updated),
        parent=parent,
    )
