"""The transcript a resumed CLI is handed: the mirrored lines, then the lines the supervisor writes from its own rows.

Pure. The mirrored lines are container data and go back into a container only; what they say decides nothing. The mirror lags:
it may be cut inside a turn or several turns back, and a call with neither result nor deferral line would vanish
(design.md §3.8). So every turn on record is found in the mirror or written anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

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
#: The model of assistant lines that no model wrote: errors, and words the CLI put into its mouth.
_NOBODY = "<synthetic>"


def resume(mirrored: Sequence[str], turns: Sequence[Sequence[Told]], scribe: Scribe, *, prompt: JsonObject) -> Resumption:
    """Lines for a fresh container.

    Args:
        mirrored: Everything stored of the run's transcript, in order.
        turns: The calls of every turn that had any, in order; no two of a run have one wire id.
        scribe: What our lines carry.
        prompt: The user message that began it all, for a mirror that was cut before even that line came.
    """
    mirror = _Mirror(mirrored, turns)
    if turns:
        mirror.reopen(turns[-1])
    entries = mirror.kept()
    answered = {wire_id for entry in entries for wire_id in _ids(entry, "user", "tool_result", "tool_use_id")}
    lines = _Lines(scribe, parent=_last_uuid(entries))
    if not any(entry.get("type") == "user" for entry in entries):
        lines.user(prompt)
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


class _Mirror:
    """What the mirrored lines show: the last turn they have anything of, and the ids of all calls and results."""

    def __init__(self, mirrored: Sequence[str], turns: Sequence[Sequence[Told]]) -> None:
        numbers = {call.wire_id: number for number, turn in enumerate(turns) for call in turn}
        self._entries = [entry for entry in map(json.loads, mirrored) if isinstance(entry, dict)]
        self._drop: set[int] = set()
        self.number = 0
        self.message_id = ""
        self.asked: set[str] = set()
        self._answered: dict[str, int] = {}  #: where the result stands
        last_ask = len(self._entries)
        for index, entry in enumerate(self._entries):
            for wire_id in _ids(entry, "assistant", "tool_use", "id"):
                if wire_id in numbers:
                    self.number, self.message_id, last_ask = numbers[wire_id], str(_message(entry).get("id")), index
                    self.asked.add(wire_id)
            for wire_id in _ids(entry, "user", "tool_result", "tool_use_id"):
                # One that was reopened before has two; the last one counts.
                self._drop |= {self._answered[wire_id]} if wire_id in self._answered else set()
                self._answered[wire_id] = index
            if _attachment(entry) in _DROPPED or _message(entry).get("model") == _NOBODY:
                self._drop.add(index)
        if self.number == len(turns) - 1:
            self._drop |= {index for index in range(last_ask + 1, len(self._entries)) if _is_chatter(self._entries[index])}

    def reopen(self, turn: Sequence[Told]) -> None:
        """Where no call is left to be asked for: take the last result back, so that there is one.

        A CLI that is merely told to go on puts words into the model's mouth first.
        """
        askable = [call.wire_id for call in turn if call.askable]
        if askable and all(wire_id in self._answered for wire_id in askable):
            self._drop.add(self._answered.pop(askable[-1]))

    def kept(self) -> list[JsonObject]:
        """The lines that are left; children of the others become their parents' (the CLI follows `parentUuid`)."""
        kept: list[JsonObject] = []
        adopted: dict[str, Json] = {}
        for index, entry in enumerate(self._entries):
            parent = entry.get("parentUuid")
            if isinstance(parent, str) and parent in adopted:
                entry["parentUuid"] = parent = adopted[parent]
            if index not in self._drop:
                kept.append(entry)
            elif isinstance(uuid := entry.get("uuid"), str):
                adopted[uuid] = parent
        return kept


class _Lines:
    """Our lines, each the child of the one before."""

    def __init__(self, scribe: Scribe, *, parent: str | None) -> None:
        self._scribe = scribe
        self._parent = parent
        self.written: list[str] = []

    def user(self, message: JsonObject) -> None:
        """The prompt."""
        self._write({"type": "user", "message": message})

    def ask_missing(self, turn: Sequence[Told], asked: Collection[str], *, message_id: str) -> None:
        """The calls whose lines the mirror lacks; the gateway saw them.

        All lines of one reply carry one message id, or the CLI would send them as several replies.
        """
        message_id = message_id or f"msg_{self._scribe.new_uuid().replace('-', '')}"
        for call in turn:
            if call.wire_id not in asked:
                self._ask(call, message_id)

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


def _is_chatter(entry: JsonObject) -> bool:
    """Whether a line after the last call is neither a result nor bookkeeping: the CLI's own words, or an error it met."""
    return isinstance(entry.get("uuid"), str) and not any(_ids(entry, "user", "tool_result", "tool_use_id"))


def _attachment(entry: JsonObject) -> str:
    attachment = entry.get("attachment")
    return str(attachment.get("type")) if isinstance(attachment, dict) else ""


def _message(entry: JsonObject) -> JsonObject:
    message = entry.get("message")
    return message if isinstance(message, dict) else {}


def _ids(entry: JsonObject, kind: str, block_type: str, key: str) -> Iterator[str]:  # noqa: PLR0917 -- four words of one question
    content = _message(entry).get("content")
    if entry.get("type") == kind and isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and block.get("type") == block_type:
                yield str(block.get(key))


def _last_uuid(entries: Sequence[JsonObject]) -> str | None:
    uuids = [entry.get("uuid") for entry in entries]
    found = [uuid for uuid in uuids if isinstance(uuid, str)]
    return found[-1] if found else None
