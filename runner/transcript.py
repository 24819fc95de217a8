"""The transcript a resumed CLI is handed: the mirrored lines, then the lines the supervisor writes from its own rows.

Pure. The mirrored lines are container data and go back into a container only; what they say decides nothing. The mirror lags:
it may be cut inside a turn or several turns back, and a call with neither result nor deferral line would vanish
(design.md §3.8). So every turn on record is found in the mirror or written anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from runner.model import Json, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One call of a turn and what the model is told about it.

    `name` and `arguments` are what the CLI was handed. `text` None: only the container can give its result. `askable`: the
    CLI, asked for this call again, would bring it to the gate and get an answer there.
    """

    wire_id: str
    name: str
    arguments: Mapping[str, Json]
    text: str | None
    is_error: bool = False
    askable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """What a fresh container is given.

    `deferred` is the index, in the last turn, of the call that the CLI asks for again; None: it has to be nudged. `unrun` are
    indexes, in the last turn, of calls that only the container could have answered and whose model was told to ask again.
    """

    kept: tuple[str, ...]  #: of the mirrored lines, in order
    added: tuple[str, ...]  #: ours, to be stored before the container starts
    deferred: int | None
    unrun: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scribe:
    """The constant fields of a line we write, and where its id and time come from."""

    session_id: str
    cli_version: str
    new_uuid: Callable[[], str]
    timestamp: str  #: ISO 8601


NOT_RUN = "Not run: the run was parked before this call could run. Ask again if it is still wanted."
LOST = "Lost: the run was interrupted and this call's result with it. Ask again if it is still wanted."

#: Attachments that must not reach another container: a recorded prompt would override ours (case 109), and a deferral that an
#: earlier resumption wrote has been asked for.
_DROPPED = frozenset({"prompt_snapshot", "hook_deferred_tool"})


def resume(mirrored: Sequence[str], turns: Sequence[Sequence[Told]], scribe: Scribe, *, prompt: JsonObject) -> Resumption:
    """Lines for a fresh container.

    Args:
        mirrored: Everything stored of the run's transcript, in order.
        turns: The calls of every turn that had any, in order.
        scribe: What our lines carry.
        prompt: The user message that began it all, for a mirror that was cut before even that line came.
    """
    entries = _kept(mirrored)
    seen = _seen(entries, turns)
    lines = _Lines(scribe, parent=_last_uuid(entries))
    if not any(entry.get("type") == "user" for entry in entries):
        lines.user(prompt)
    deferred: int | None = None
    unrun: list[int] = []
    for number, turn in enumerate(turns[seen.number :], start=seen.number):
        is_last = number == len(turns) - 1
        open_calls = lines.ask_missing(turn, seen if number == seen.number else _Seen())
        deferred = _the_one(turn, open_calls) if is_last else None
        unrun = [index for index in open_calls if turn[index].text is None and index != deferred]
        for index in open_calls:
            if index != deferred:
                lines.answer(turn[index], otherwise=NOT_RUN if is_last else LOST)
    if deferred is not None:
        lines.defer(turns[-1][deferred])
    kept = tuple(json.dumps(entry) for entry in entries)
    return Resumption(kept=kept, added=tuple(lines.written), deferred=deferred, unrun=tuple(unrun))


@dataclass(slots=True, kw_only=True)
class _Seen:
    """How far the mirror has come: the last turn it shows anything of, and which ids of its calls and results."""

    number: int = 0
    message_id: str = ""  #: empty: nothing of any turn
    asked: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)


class _Lines:
    """Our lines, each the child of the one before."""

    def __init__(self, scribe: Scribe, *, parent: str | None) -> None:
        self._scribe = scribe
        self._parent = parent
        self.written: list[str] = []

    def user(self, message: JsonObject) -> None:
        """The prompt."""
        self._write({"type": "user", "message": message})

    def ask_missing(self, turn: Sequence[Told], seen: _Seen) -> list[int]:
        """Write the calls whose lines the mirror lacks; the answer is which of the turn's calls have no result yet.

        All lines of one reply carry one message id, or the CLI would send them as several replies.
        """
        message_id = seen.message_id or f"msg_{self._scribe.new_uuid().replace('-', '')}"
        asked, answered = list(seen.asked), list(seen.answered)
        for call in turn:
            if not _take(asked, call.wire_id):
                self._ask(call, message_id)
        return [index for index, call in enumerate(turn) if not _take(answered, call.wire_id)]

    def answer(self, call: Told, *, otherwise: str) -> None:
        """A call's result; `otherwise` where only the container could have given it."""
        content: list[Json] = [{"type": "text", "text": otherwise if call.text is None else call.text}]
        is_error = call.is_error or call.text is None
        result: JsonObject = {"type": "tool_result", "tool_use_id": call.wire_id, "content": content, "is_error": is_error}
        self._write({"type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": content})

    def defer(self, call: Told) -> None:
        """The line that makes the CLI ask for this call as soon as it is resumed."""
        attachment: JsonObject = {
            "type": "hook_deferred_tool",
            "toolUseID": call.wire_id,
            "toolName": call.name,
            "toolInput": dict(call.arguments),
            "hookName": "settings",
            "hookEvent": "PreToolUse",
            "permissionMode": "default",
        }
        self._write({"type": "attachment", "attachment": attachment})

    def _ask(self, call: Told, message_id: str) -> None:
        block: JsonObject = {"type": "tool_use", "id": call.wire_id, "name": call.name, "input": dict(call.arguments)}
        message: JsonObject = {"role": "assistant", "type": "message", "id": message_id, "content": [block]}
        self._write({"type": "assistant", "message": message})

    def _write(self, fields: JsonObject) -> None:
        uuid = self._scribe.new_uuid()
        line: JsonObject = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "uuid": uuid,
            "timestamp": self._scribe.timestamp,
            "userType": "external",
            "entrypoint": "sdk-py",
            "cwd": "/workspace",
            "sessionId": self._scribe.session_id,
            "version": self._scribe.cli_version,
            "gitBranch": "HEAD",
            **fields,
        }
        self._parent = uuid
        self.written.append(json.dumps(line))


def _the_one(turn: Sequence[Told], open_calls: Sequence[int]) -> int | None:
    """The call the CLI asks for again: one that still has to run, else the last it would bring to the gate (design.md §3.8)."""
    askable = [index for index in open_calls if turn[index].askable]
    to_run = [index for index in askable if turn[index].text is None]
    return next(iter(to_run), askable[-1] if askable else None)


def _kept(mirrored: Sequence[str]) -> list[JsonObject]:
    """The mirrored lines less the dropped ones, whose children become their parents' (the CLI follows `parentUuid`)."""
    kept: list[JsonObject] = []
    adopted: dict[str, Json] = {}
    for line in mirrored:
        entry = json.loads(line)
        if not isinstance(entry, dict):
            continue
        parent = entry.get("parentUuid")
        if isinstance(parent, str) and parent in adopted:
            entry["parentUuid"] = parent = adopted[parent]
        attachment = entry.get("attachment")
        if isinstance(attachment, dict) and attachment.get("type") in _DROPPED:
            if isinstance(uuid := entry.get("uuid"), str):
                adopted[uuid] = parent
            continue
        kept.append(entry)
    return kept


def _seen(entries: Sequence[JsonObject], turns: Sequence[Sequence[Told]]) -> _Seen:
    """Walk the mirror and the turns together, in order: ids can repeat from turn to turn (B11), places cannot."""
    seen = _Seen()
    waiting = [call.wire_id for call in turns[0]] if turns else []
    for entry in entries:
        for block in _blocks(entry, "assistant", "tool_use"):
            wire_id, message_id = str(block.get("id")), str(_message(entry).get("id"))
            if not (seen.message_id in ("", message_id) and _take(waiting, wire_id)):
                found = _turn_with(turns, wire_id, after=seen.number if seen.message_id else -1)
                if found is None:
                    continue
                seen = _Seen(number=found)
                waiting = [call.wire_id for call in turns[found]]
                _take(waiting, wire_id)
            seen.message_id = message_id
            seen.asked.append(wire_id)
        if seen.asked:
            seen.answered.extend(str(block.get("tool_use_id")) for block in _blocks(entry, "user", "tool_result"))
    return seen


def _turn_with(turns: Sequence[Sequence[Told]], wire_id: str, *, after: int) -> int | None:
    """The next turn that has a call of this id."""
    later = range(after + 1, len(turns))
    return next((number for number in later if any(call.wire_id == wire_id for call in turns[number])), None)


def _message(entry: JsonObject) -> JsonObject:
    message = entry.get("message")
    return message if isinstance(message, dict) else {}


def _blocks(entry: JsonObject, kind: str, block_type: str) -> Iterator[JsonObject]:
    if entry.get("type") != kind:
        return
    content = _message(entry).get("content")
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == block_type:
            yield block


def _take(ids: list[str], wire_id: str) -> bool:
    """Take one occurrence of an id out: ids can repeat within a turn (B11)."""
    if wire_id not in ids:
        return False
    ids.remove(wire_id)
    return True


def _last_uuid(entries: Sequence[JsonObject]) -> str | None:
    uuids = [entry.get("uuid") for entry in entries]
    found = [uuid for uuid in uuids if isinstance(uuid, str)]
    return found[-1] if found else None
