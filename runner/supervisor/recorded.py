"""A mirrored transcript, less what the run's gateways did not hear (case 109).

Owns what a container may tell its next one of the model's words and thoughts, and of the results of its own reads: what its
gateway saw when it was said. The rest is left out, not refused: an honest CLI keeps the beginning of a reply that was cut, and
says of a call that it failed when its input ends.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runner.gateway import agrees, found_in, said_in
from runner.model import Json, JsonObject, RunId
from runner.store import Connection, calls, heard
from runner.transcript import without


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What was heard of a run."""

    turns: Mapping[str, int]  #: of its calls, by the ids that the CLI knows them by
    said: Mapping[int, Sequence[str]]  #: by turn
    results: Mapping[str, Sequence[str]]  #: each as every attempt that let it through heard it


def recorded(conn: Connection, run: RunId) -> Recorded:
    """What is on record of a run."""
    turns = {call.wire_id: call.turn for call in calls.of_run(conn, run) if call.turn > 0}
    return Recorded(turns=turns, said=heard.said(conn, run), results=heard.results(conn, run))


def as_recorded(lines: Sequence[str], record: Recorded) -> list[str]:
    """The lines of a transcript without words, thoughts and results of which something else is on record, or nothing.

    A result that was never let through stays: the model has not been told of it. Each word is taken once, in the turn of its
    reply's calls; one of a reply without calls, in any turn that had none.
    """
    entries = [entry for entry in map(json.loads, lines) if isinstance(entry, dict)]
    hearing = _Hearing(entries, record)
    drop = {index for index, entry in enumerate(entries) if hearing.empties(entry)}
    return [json.dumps(entry) for entry in without(entries, drop)] if hearing.missed else list(lines)


class _Hearing:
    """Goes through lines in order and takes out of them, in place, what was not heard."""

    def __init__(self, entries: Sequence[JsonObject], record: Recorded) -> None:
        self.missed = False  #: something was taken out
        self._record = record
        self._left = {turn: Counter(said) for turn, said in record.said.items()}
        self._wordy = [turn for turn in self._left if turn not in set(record.turns.values())]
        self._turns: dict[str, list[int]] = {}
        for entry in entries:
            if entry.get("type") == "assistant":
                named = [record.turns.get(str(block.get("id"))) for block in _blocks(entry) if block.get("type") == "tool_use"]
                self._turns.setdefault(_reply(entry), []).extend(turn for turn in named if turn is not None)

    def empties(self, entry: JsonObject) -> bool:
        """Take out of a line what was not heard; whether nothing is left of it."""
        kind, blocks = entry.get("type"), _blocks(entry)
        if kind == "assistant":
            kept = [block for block in blocks if self._was_said(block, _reply(entry))]
        elif kind == "user":
            kept = [block for block in blocks if self._was_told(block)]
        else:
            return False
        if len(kept) < len(content := _content(entry)):
            self.missed = True
            _message(entry)["content"] = list(kept)
        return bool(content) and not kept

    def _was_said(self, block: JsonObject, reply: str) -> bool:
        digest = said_in(block)
        if digest is None:
            return True
        for turn in self._turns.get(reply) or self._wordy:
            left = self._left.get(turn, Counter())
            if left[digest]:
                left[digest] -= 1
                return True
        return False

    def _was_told(self, block: JsonObject) -> bool:
        records = self._record.results.get(str(block.get("tool_use_id"))) if block.get("type") == "tool_result" else None
        if records is None:
            return True
        found = found_in(block)
        return any(agrees(record, found) for record in records)


def _reply(entry: JsonObject) -> str:
    return str(_message(entry).get("id"))


def _message(entry: JsonObject) -> JsonObject:
    message = entry.get("message")
    return message if isinstance(message, dict) else {}


def _content(entry: JsonObject) -> Sequence[Json]:
    content = _message(entry).get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _blocks(entry: JsonObject) -> list[JsonObject]:
    """What a line says; what is no block is of nobody's."""
    return [block for block in _content(entry) if isinstance(block, dict)]
