"""Reads what was mirrored: how far it has come, which calls and results it has, and what of it may not go on."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence

from runner.digest import objects
from runner.model import Json, JsonObject
from runner.transcript.values import Told

#: Attachments that must not reach another container: a recorded prompt would override ours (case 109), and a deferral that an
#: earlier resumption wrote has been asked for.
_DROPPED = frozenset({"prompt_snapshot", "hook_deferred_tool"})
#: Parts of a result that are no text.
_BYTES = frozenset({"image", "document"})
#: The model of assistant lines that no model wrote: errors, and words the CLI put into its mouth.
_NOBODY = "<synthetic>"


class Mirror:
    """What the mirrored lines show: the last turn they have anything of, and the ids of all calls and results."""

    def __init__(self, mirrored: Sequence[str], turns: Sequence[Sequence[Told]]) -> None:
        numbers = {call.wire_id: number for number, turn in enumerate(turns) for call in turn}
        self._entries = [entry for entry in map(json.loads, mirrored) if isinstance(entry, dict)]
        self._drop: set[int] = set()
        self.number = 0
        self.message_id = ""
        self.asked: set[str] = set()
        self._answered: dict[str, int] = {}  #: where the result stands
        self._since = -1  #: the last call's place, else the prompt's
        for index, entry in enumerate(self._entries):
            for wire_id in _ids(entry, "assistant", "tool_use", "id"):
                if wire_id in numbers:
                    self.number, self.message_id, self._since = numbers[wire_id], str(_message(entry).get("id")), index
                    self.asked.add(wire_id)
            for wire_id in _ids(entry, "user", "tool_result", "tool_use_id"):
                # One that was reopened before has two; the last one counts.
                self._drop |= {self._answered[wire_id]} if wire_id in self._answered else set()
                self._answered[wire_id] = index
            if _attachment(entry) in _DROPPED or _message(entry).get("model") == _NOBODY:
                self._drop.add(index)
            if self._since < 0 and entry.get("type") == "user":
                self._since = index
        self._doubt(turns[self.number] if turns else ())

    def _doubt(self, turn: Sequence[Told]) -> None:
        """Leave out results of the last turn that fail where the record says done, or the other way round: ours is told.

        A CLI whose input ends says of the call that waits that it failed; another may say so of one that was carried out.
        """
        for call in turn:
            at = self._answered.get(call.wire_id)
            if at is not None and call.text is not None and _has_failed(self._entries[at], call.wire_id) is not call.is_error:
                self._drop.add(self._answered.pop(call.wire_id))

    def hush(self) -> None:
        """Leave out what was said after the last call: the CLI's own words, or an error it met, or what nobody saw."""
        self._drop |= {index for index in range(self._since + 1, len(self._entries)) if _is_chatter(self._entries[index])}

    def reopen(self, turn: Sequence[Told]) -> None:
        """Where no call is left to be asked for: take the last result back, so that there is one.

        A CLI that is merely told to go on puts words into the model's mouth first.
        """
        askable = [call.wire_id for call in turn if call.askable]
        if askable and all(wire_id in self._answered for wire_id in askable):
            self._drop.add(self._answered.pop(askable[-1]))

    def kept(self) -> list[JsonObject]:
        """The lines that are left."""
        return without(self._entries, self._drop)


def without(entries: Sequence[JsonObject], drop: Collection[int]) -> list[JsonObject]:
    """Lines but for some, by their places; children of these become their parents' (the CLI follows `parentUuid`)."""
    kept: list[JsonObject] = []
    adopted: dict[str, Json] = {}
    for index, entry in enumerate(entries):
        parent = entry.get("parentUuid")
        if isinstance(parent, str) and parent in adopted:
            entry["parentUuid"] = parent = adopted[parent]
        if index not in drop:
            kept.append(entry)
        elif isinstance(uuid := entry.get("uuid"), str):
            adopted[uuid] = parent
    return kept


def answered_in(entries: Sequence[JsonObject]) -> set[str]:
    """The calls that have a result among lines."""
    return {wire_id for entry in entries for wire_id in _ids(entry, "user", "tool_result", "tool_use_id")}


def results_in(mirrored: Sequence[str]) -> dict[str, JsonObject]:
    """Results by their calls' ids, as a container told them: content that a model can be given, and whether it is an error.

    Of one call the last counts. Nothing else of a line is looked at: whatever it holds besides goes no further.
    """
    found: dict[str, JsonObject] = {}
    for entry in map(json.loads, mirrored):
        content = _message(entry).get("content") if isinstance(entry, dict) and entry.get("type") == "user" else None
        for block in objects(content):
            if block.get("type") == "tool_result" and _is_told(block.get("content")):
                identity, is_error = str(block.get("tool_use_id")), block.get("is_error") is True
                found[identity] = {"content": block["content"], "is_error": is_error}
    return found


def _is_told(content: Json) -> bool:
    """Whether this is text, or parts that are texts, pictures and documents."""
    if isinstance(content, str):
        return True
    if not isinstance(content, list):
        return False
    return all(
        isinstance(part, dict)
        and ((part.get("type") == "text" and isinstance(part.get("text"), str)) or part.get("type") in _BYTES)
        for part in content
    )


def _is_chatter(entry: JsonObject) -> bool:
    """Whether a line after the last call is neither a result nor bookkeeping: the CLI's own words, or an error it met."""
    return isinstance(entry.get("uuid"), str) and not any(_ids(entry, "user", "tool_result", "tool_use_id"))


def _has_failed(entry: JsonObject, wire_id: str) -> bool:
    content = _message(entry).get("content")
    return any(str(block.get("tool_use_id")) == wire_id and block.get("is_error") is True for block in objects(content))


def _attachment(entry: JsonObject) -> str:
    attachment = entry.get("attachment")
    return str(attachment.get("type")) if isinstance(attachment, dict) else ""


def _message(entry: JsonObject) -> JsonObject:
    message = entry.get("message")
    return message if isinstance(message, dict) else {}


def _ids(entry: JsonObject, kind: str, block_type: str, key: str) -> Iterator[str]:  # noqa: PLR0917 -- four words of one question
    if entry.get("type") == kind:
        for block in objects(_message(entry).get("content")):
            if block.get("type") == block_type:
                yield str(block.get(key))


def last_uuid_of(entries: Sequence[JsonObject]) -> str | None:
    """The line that the next one follows."""
    uuids = [entry.get("uuid") for entry in entries]
    found = [uuid for uuid in uuids if isinstance(uuid, str)]
    return found[-1] if found else None
