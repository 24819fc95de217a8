"""The blocks of a reply: text, thinking, tool uses; nothing else passes.

Owns how each kind is re-built from its events, as events and as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from runner.digest import MalformedJsonError
from runner.gateway.refusals import UpstreamError, clean
from runner.gateway.spoken import Item, call_of, thought, word
from runner.gateway.values import Handover, ToolUse
from runner.model import Json, JsonObject

_NAME_LENGTH = 200
#: Kind of block → its deltas, each with the field that grows.
_DELTAS = {
    "text": {"text_delta": "text"},
    "thinking": {"thinking_delta": "thinking", "signature_delta": "signature"},
    "redacted_thinking": {},
    "tool_use": {"input_json_delta": "partial_json"},
}
#: Kind of block → the texts it starts with.
_FIELDS = {"text": ("text",), "thinking": ("thinking", "signature"), "redacted_thinking": ("data",), "tool_use": ()}


@dataclass(slots=True, kw_only=True)
class Block:
    """One block, growing until it is no longer `open`."""

    index: int
    kind: str
    parts: dict[str, list[str]]
    id: str = ""
    name: str = ""
    open: bool = True
    handed: Handover | None = field(default=None)

    @property
    def text(self) -> str:
        """The text of a text block."""
        return "".join(self.parts["text"])

    def tool_use(self) -> ToolUse:
        """The call, with the exact text of its input; the model may leave an empty one out."""
        return ToolUse(id=self.id, name=self.name, raw="".join(self.parts["partial_json"]) or "{}")

    def start(self) -> JsonObject:
        """The event that opens this block."""
        content: JsonObject = {"type": self.kind, **self._texts()}
        if self.kind == "tool_use":
            content = {"type": "tool_use", "id": self.id, "name": self.name, "input": {}}
        return {"type": "content_block_start", "index": self.index, "content_block": content}

    def delta(self, delta: JsonObject) -> JsonObject | None:
        """Grow by one delta; the event to pass on, or None for a kind of delta that is not known.

        Raises:
            UpstreamError: The delta belongs to another kind of block, or its text is none.
        """
        kind = str(delta.get("type"))
        name = _DELTAS[self.kind].get(kind)
        if name is None:
            if any(kind in deltas for deltas in _DELTAS.values()):
                raise UpstreamError(f"the model's reply is malformed: {kind} in a {self.kind} block")
            return None
        value = delta.get(name)
        if not isinstance(value, str):
            raise UpstreamError(f"the model's reply is malformed: {kind} without {name}")
        self.parts[name].append(value)
        return {"type": "content_block_delta", "index": self.index, "delta": {"type": kind, name: value}}

    def handed_events(self) -> list[JsonObject]:
        """The events of this tool use as the CLI is given it, its input in one piece."""
        given = self.handed or Handover(name=self.name, raw=self.tool_use().raw)
        start = self.start()
        content = start["content_block"]
        if isinstance(content, dict):
            content["name"], content["id"] = given.name, given.id or self.id
        delta: JsonObject = {"type": "input_json_delta", "partial_json": given.raw}
        return [
            start,
            {"type": "content_block_delta", "index": self.index, "delta": delta},
            {"type": "content_block_stop", "index": self.index},
        ]

    def item(self) -> Item | None:
        """What it says, as the CLI is given it; None for thinking and for a blank text."""
        if self.kind == "text":
            return word(self.text)
        if self.kind != "tool_use":
            return None
        given = self.handed or Handover(name=self.name, raw=self.tool_use().raw)
        return call_of(given.id or self.id, given.name, given.raw)

    def thought(self) -> str | None:
        """The digest of a thinking block."""
        return thought({"type": self.kind, **self._texts()}) if self.kind in {"thinking", "redacted_thinking"} else None

    def whole(self, parse: Callable[[str], Json]) -> JsonObject:
        """The finished block as part of one message.

        Raises:
            MalformedJsonError: The input of a tool use is no JSON object.
        """
        if self.kind != "tool_use":
            return {"type": self.kind, **self._texts()}
        given = self.handed or Handover(name=self.name, raw=self.tool_use().raw)
        value = parse(given.raw)
        if not isinstance(value, dict):
            raise MalformedJsonError("the input is not a JSON object")
        return {"type": "tool_use", "id": given.id or self.id, "name": given.name, "input": value}

    def _texts(self) -> JsonObject:
        return {name: "".join(self.parts[name]) for name in _FIELDS[self.kind]}


def open_block(index: int, content: JsonObject) -> Block:
    """A block from its `content_block_start`.

    Raises:
        UpstreamError: Of a kind that is not passed on, or malformed.
    """
    kind = str(content.get("type"))
    if kind not in _FIELDS:
        raise UpstreamError(f"the model's reply holds a block of type {clean(repr(kind), 60)}, which is not passed on")
    names = {*_FIELDS[kind], *_DELTAS[kind].values()}
    block = Block(index=index, kind=kind, parts={name: [] for name in names})
    for name in _FIELDS[kind]:
        value = content.get(name, "")
        if not isinstance(value, str):
            raise UpstreamError(f"the model's reply is malformed: {kind} with a {name} that is no text")
        block.parts[name].append(value)
    if kind == "tool_use":
        _read_tool_use(block, content)
    return block


def _read_tool_use(block: Block, content: JsonObject) -> None:
    block.id, block.name = _word(content, "id"), _word(content, "name")
    caller = content.get("caller")
    if caller is not None and (not isinstance(caller, dict) or caller.get("type") != "direct"):
        raise UpstreamError("the model's reply holds a tool use that code at the provider made")
    given = content.get("input", {})
    if given not in ({}, None):
        # A stream that is no stream gives the whole input here; deltas after it would then make no JSON.
        block.parts["partial_json"].append(json.dumps(given, ensure_ascii=False))


def _word(content: JsonObject, key: str) -> str:
    value = content.get(key)
    if not isinstance(value, str) or not 0 < len(value) <= _NAME_LENGTH or clean(value, _NAME_LENGTH) != value:
        raise UpstreamError(f"the model's reply is malformed: a tool use whose {key} is no plain word")
    return value
