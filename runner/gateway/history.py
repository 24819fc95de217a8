"""Give the model its own words back: what the CLI was handed instead of a call is undone in later requests.

Owns a bounded memory of replaced inputs, per gateway, and the `undeclared__` prefix (design.md §2.4). Past its bound, or in a
resumed run's new gateway, only the prefix is undone and the model sees the input the CLI was handed.
"""

from __future__ import annotations

from collections import OrderedDict

from runner.digest import MalformedJsonError, objects, parse_strict
from runner.gateway.values import Handover, ToolUse
from runner.model import UNDECLARED, Json, JsonObject

_CALLS = 1024
_BYTES = 16 * 1024 * 1024


class History:
    """What this gateway replaced, by the id of the call."""

    def __init__(self, *, calls: int = _CALLS, size: int = _BYTES) -> None:
        self._calls = calls
        self._room = size
        self._originals: OrderedDict[str, ToolUse] = OrderedDict()

    def note(self, tool: ToolUse, handed: Handover) -> None:
        """Remember a call whose input was replaced, unless its own input is nothing a request could carry."""
        identity = handed.id or tool.id
        self._forget(identity)  # an id may come again: what it stood for before is not this call's
        if handed.raw == tool.raw:
            return
        try:
            if not isinstance(parse_strict(tool.raw), dict):
                return
        except MalformedJsonError:
            return
        self._originals[identity] = tool
        self._room -= len(tool.raw)
        while self._originals and (self._room < 0 or len(self._originals) > self._calls):
            self._forget(next(iter(self._originals)))

    def restore(self, messages: Json) -> None:
        """Undo renames and replaced inputs in a re-built request's messages, in place."""
        renamed: dict[str, str] = {}
        for role, block in _blocks(messages):
            if role == "assistant" and block["type"] == "tool_use":
                self._restore_call(block, renamed)
            elif block["type"] == "tool_result":
                _restore_result(block, renamed)

    def _restore_call(self, block: JsonObject, renamed: dict[str, str]) -> None:
        name, identity = str(block["name"]), str(block["id"])
        if name.startswith(UNDECLARED) and len(name) > len(UNDECLARED):
            renamed[identity] = name
            block["name"] = name = name.removeprefix(UNDECLARED)
        original = self._originals.get(identity)
        if original is not None and original.name == name:
            block["input"] = parse_strict(original.raw)

    def _forget(self, identity: str) -> None:
        gone = self._originals.pop(identity, None)
        if gone is not None:
            self._room += len(gone.raw)


def _blocks(messages: Json) -> list[tuple[str, JsonObject]]:
    return [(str(message["role"]), block) for message in objects(messages) for block in objects(message["content"])]


def _restore_result(block: JsonObject, renamed: dict[str, str]) -> None:
    """The CLI's "No such tool available: undeclared__Bash" names the tool as the model does."""
    name = renamed.get(str(block["tool_use_id"]))
    if name is None:
        return
    plain = name.removeprefix(UNDECLARED)
    content = block.get("content")
    if isinstance(content, str):
        block["content"] = content.replace(name, plain)
    for part in objects(content):
        if part["type"] == "text":
            part["text"] = str(part["text"]).replace(name, plain)
