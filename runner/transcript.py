"""The transcript a resumed CLI is handed: the mirrored lines, then the lines the supervisor writes from its own rows.

Pure. The mirrored lines are container data and go back into a container only; what they say decides nothing. A call of the
last turn with neither result nor deferral line would vanish (design.md §3.8).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.model import Json, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One call of the last turn and what the model is told about it.

    `name` and `arguments` are what the CLI was handed. `text` None: the call still has to run in the container. `untold`: by
    our own rows the container never had its outcome, whatever the mirrored lines say.
    """

    wire_id: str
    name: str
    arguments: Mapping[str, Json]
    text: str | None
    is_error: bool = False
    untold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """What a fresh container is given.

    `deferred` is the index of the call that the CLI asks for again; None: it has to be nudged. `unrun` are indexes of calls
    that still had to run and whose model was told to ask again.
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


def resume(mirrored: Sequence[str], told: Sequence[Told], scribe: Scribe, *, prompt: JsonObject) -> Resumption:
    """Lines for a fresh container.

    Args:
        mirrored: Everything stored of the run's transcript, in order.
        told: The gated and other calls of the last turn, in the turn's order.
        scribe: What our lines carry.
        prompt: The user message that began it all, for a mirror that was cut before even that line came.
    """
    entries = [entry for entry in _parsed(mirrored) if not _is_prompt_snapshot(entry)]
    turn = _last_turn(entries, told)
    lines = _Lines(scribe, parent=_last_uuid(entries), message_id=turn.message_id)
    if not any(entry.get("type") == "user" for entry in entries):
        lines.user(prompt)
    open_calls = [index for index, call in enumerate(told) if not _take(turn.answered, call.wire_id)]
    deferred = _the_one(told, open_calls)
    unrun = tuple(index for index in open_calls if told[index].text is None and index != deferred)
    for call in told:
        if not _take(turn.asked, call.wire_id):
            lines.ask(call)
    for index in open_calls:
        if index != deferred:
            lines.answer(told[index])
    if deferred is not None:
        lines.defer(told[deferred])
    return Resumption(
        kept=tuple(json.dumps(entry) for entry in entries), added=tuple(lines.written), deferred=deferred, unrun=unrun
    )


class _Lines:
    """Our lines, each the child of the one before."""

    def __init__(self, scribe: Scribe, *, parent: str | None, message_id: str) -> None:
        self._scribe = scribe
        self._parent = parent
        self._message_id = message_id
        self.written: list[str] = []

    def user(self, message: JsonObject) -> None:
        """The prompt."""
        self._write({"type": "user", "message": message})

    def ask(self, call: Told) -> None:
        """The model's call, where the mirror was cut before its line came; the gateway saw it.

        All lines of one reply carry one message id, or the CLI would send them as several replies.
        """
        block: JsonObject = {"type": "tool_use", "id": call.wire_id, "name": call.name, "input": dict(call.arguments)}
        message: JsonObject = {"role": "assistant", "type": "message", "id": self._message_id, "content": [block]}
        self._write({"type": "assistant", "message": message})

    def answer(self, call: Told) -> None:
        """A call's result."""
        content: list[Json] = [{"type": "text", "text": NOT_RUN if call.text is None else call.text}]
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


def _the_one(told: Sequence[Told], open_calls: Sequence[int]) -> int | None:
    """The call the CLI asks for again: one that still has to run, else the last (design.md §3.8)."""
    to_run = [index for index in open_calls if told[index].text is None]
    return next(iter(to_run), open_calls[-1] if open_calls else None)


def _parsed(lines: Sequence[str]) -> Iterator[JsonObject]:
    for line in lines:
        entry = json.loads(line)
        if isinstance(entry, dict):
            yield entry


def _is_prompt_snapshot(entry: JsonObject) -> bool:
    """A recorded prompt would override ours on resume (case 109)."""
    attachment = entry.get("attachment")
    return isinstance(attachment, dict) and attachment.get("type") == "prompt_snapshot"


@dataclass(slots=True, kw_only=True)
class _Turn:
    """What the mirrored lines have of the last turn: ids of its tool uses, and of those of them that have a result."""

    message_id: str
    asked: list[str]
    answered: list[str]


def _last_turn(entries: Sequence[JsonObject], told: Sequence[Told]) -> _Turn:
    """The lines of the model's last reply, if they are of this turn; else the mirror was cut before it."""
    start, message_id = len(entries), ""
    for index in range(len(entries) - 1, -1, -1):
        if entries[index].get("type") == "assistant":
            found = str(_message(entries[index]).get("id"))
            if message_id not in ("", found):
                break
            start, message_id = index, found
    turn = _Turn(
        message_id=message_id,
        asked=[str(block.get("id")) for entry in entries[start:] for block in _blocks(entry, "assistant", "tool_use")],
        answered=[
            str(block.get("tool_use_id")) for entry in entries[start:] for block in _blocks(entry, "user", "tool_result")
        ],
    )
    return turn if _is_this_turn(turn, told) else _Turn(message_id="msg_resumed", asked=[], answered=[])


def _is_this_turn(turn: _Turn, told: Sequence[Told]) -> bool:
    """Ids can repeat from turn to turn (B11): a result for a call whose outcome nobody was told is of an earlier one."""
    wire_ids = {call.wire_id for call in told}
    if not turn.asked or not wire_ids.issuperset(turn.asked):
        return False
    answered = list(turn.answered)
    return not any(_take(answered, call.wire_id) and call.untold for call in told)


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
