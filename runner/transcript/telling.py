"""Mirrored lines and our own, put together: for a run that goes on, and for one that is continued."""

from __future__ import annotations

import json
from collections.abc import Sequence

from runner.model import JsonObject
from runner.transcript.lines import Lines
from runner.transcript.mirror import Mirror, answered_in, last_uuid_of, results_in
from runner.transcript.values import Resumption, Scribe, Told, Turn

NOT_RUN = "Not run: the run was parked before this call could run. Ask again if it is still wanted."
LOST = "Lost: the run was interrupted and this call's result with it. Ask again if it is still wanted."

#: Stands for a last word that was empty: a message without any is refused.
WORDLESS = "(no words)"


def resume(mirrored: Sequence[str], turns: Sequence[Sequence[Told]], scribe: Scribe, *, prompt: JsonObject) -> Resumption:
    """Lines for a fresh container.

    Args:
        mirrored: Everything stored of the run's transcript, in order.
        turns: The calls of every turn that had any, in order; no two of a run have one wire id.
        scribe: What our lines carry.
        prompt: The user message that began it all, for a mirror that was cut before even that line came.
    """
    mirror = Mirror(mirrored, turns)
    if mirror.asked and mirror.number == len(turns) - 1:
        mirror.hush()
    if turns:
        mirror.reopen(turns[-1])
    entries = mirror.kept()
    answered = answered_in(entries)
    lines = _begun(entries, scribe, prompt)
    deferred: int | None = None
    unrun: list[int] = []
    for number, turn in enumerate(turns[mirror.number :], start=mirror.number):
        is_last = number == len(turns) - 1
        lines.ask_missing(turn, mirror.asked, message_id=mirror.message_id if number == mirror.number else "")
        open_calls = [index for index, call in enumerate(turn) if call.wire_id not in answered]
        deferred = _the_one(turn, open_calls) if is_last else None
        unrun = [index for index in open_calls if turn[index].text is None and index != deferred]
        for index in open_calls:
            if index != deferred:
                lines.answer(turn[index], otherwise=NOT_RUN if is_last else LOST)
    if deferred is not None:
        lines.defer(turns[-1][deferred])
    kept = tuple(json.dumps(entry) for entry in entries)
    return Resumption(kept=kept, added=tuple(lines.written), deferred=deferred, unrun=tuple(unrun))


def finished(
    mirrored: Sequence[str], turns: Sequence[Turn], scribe: Scribe, *, prompt: JsonObject, reply: str
) -> tuple[str, ...]:
    """The conversation of a run that has replied, for one that continues it: every call has a result, the reply is last.

    Every line is ours. A container's are taken for nothing but what only it could tell, the results of its own reads: what else
    it mirrored, a later run would take for the owner's words, the model's or the CLI's (case 109). The same rows give the same
    lines, if `scribe` names its lines alike each time: what comes later names them as its parents.

    Args:
        mirrored: Everything stored of the run's transcript, in order.
        turns: The turns that had calls, in order; no two calls of a run have one wire id.
        scribe: What our lines carry.
        prompt: The user message that began the run.
        reply: The model's last words, as the gateway saw them.
    """
    found = results_in(mirrored)
    lines = Lines(scribe, parent=scribe.parent)
    lines.user(prompt)
    for turn in turns:
        lines.say(turn.words, turn.calls)
        for call in turn.calls:
            told = found.get(call.wire_id) if call.text is None else None
            if told is None:
                lines.answer(call, otherwise=LOST)
            else:
                lines.told(call, told["content"], is_error=told["is_error"] is True)
    lines.say(reply if reply.strip() else WORDLESS)
    return tuple(lines.written)


def last_uuid(lines: Sequence[str]) -> str | None:
    """The line that the next one follows."""
    # Most lines have one, and a conversation is long: from its end, and no further than needed.
    entries = (entry for entry in map(json.loads, reversed(lines)) if isinstance(entry, dict))
    return next((uuid for entry in entries if isinstance(uuid := entry.get("uuid"), str)), None)


def _begun(entries: Sequence[JsonObject], scribe: Scribe, prompt: JsonObject) -> Lines:
    """Where our lines go: behind the mirror's, which have the prompt, else behind the prompt."""
    lines = Lines(scribe, parent=last_uuid_of(entries) or scribe.parent)
    if not any(entry.get("type") == "user" for entry in entries):
        lines.user(prompt)
    return lines


def _the_one(turn: Sequence[Told], open_calls: Sequence[int]) -> int | None:
    """The call the CLI asks for again: one that still has to run, else the last it would bring to the gate (design.md §3.8)."""
    askable = [index for index in open_calls if turn[index].askable]
    to_run = [index for index in askable if turn[index].text is None]
    return next(iter(to_run), askable[-1] if askable else None)
