"""A reply's state machine: what of a stream may pass at once, what is held, what is handed over (design.md §3.5).

Owns no I/O. The CLI starts a call while its reply still streams, so from the first tool use on nothing but `ping` passes until
the whole turn has been decided. Events are re-built; an event or delta of an unknown kind is dropped, a block of an unknown
kind ends the reply (case 72: it may be a tool the provider runs).
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable

from runner.digest import MalformedJsonError, parse_strict
from runner.gateway.blocks import Block, open_block
from runner.gateway.memory import Given
from runner.gateway.purse import Spent
from runner.gateway.refusals import UpstreamError, clean, raise_if_error
from runner.gateway.values import GatewayLimits, Handover, ModelTurn
from runner.model import Json, JsonObject, Usage

PING: JsonObject = {"type": "ping"}
_MESSAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_INPUT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def own_name() -> str:
    """A name that no other reply has, whatever the upstream calls it."""
    return f"msg_{secrets.token_hex(12)}"


class Reply:
    """One reply as it comes in.

    Args:
        limits: Caps on blocks and bytes.
        name: What the CLI knows it by, which takes replies of one name for one; None: the upstream's own name for it.
    """

    def __init__(self, limits: GatewayLimits, *, name: str | None = None) -> None:
        self._limits, self._name = limits, name
        self._bytes = 0
        self._start: JsonObject | None = None
        self._blocks: list[Block] = []
        self._held: list[JsonObject] | None = None
        self._counts: dict[str, int] = {}
        self._stop: JsonObject = {"stop_reason": None, "stop_sequence": None}
        self.complete = self._given = False
        self._handlers: dict[str, Callable[[JsonObject], JsonObject | None]] = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
        }

    @property
    def holding(self) -> bool:
        """Whether a tool use has been seen, so that nothing passes."""
        return self._held is not None

    @property
    def usage(self) -> Usage:
        """What this one request has used so far, cached input included."""
        return Usage(
            requests=1,
            input_tokens=sum(self._counts.get(name, 0) for name in _INPUT_COUNTS),
            output_tokens=self._counts.get("output_tokens", 0),
        )

    @property
    def spent(self) -> Spent | None:
        """The same for the books; None where the upstream never began to answer."""
        if self._start is None:
            return None
        counts = [self._counts.get(name, 0) for name in (*_INPUT_COUNTS, "output_tokens")]
        return Spent(
            input_tokens=counts[0],
            cache_write_tokens=counts[1],
            cache_read_tokens=counts[2],
            output_tokens=counts[3],
            complete=self.complete,
        )

    def feed(self, event: JsonObject) -> JsonObject | None:
        """Take the upstream's next event; an answer is an event that may go to the CLI at once.

        Raises:
            UpstreamError: The stream is malformed, over a cap, holds a kind of block that is not passed on, or says `error`.
        """
        if self.complete:
            return None
        kind = event.get("type")
        if kind == "ping":
            return PING
        raise_if_error(event)
        made = self._take(str(kind), event)
        if made is None or self.complete:
            return None
        if self._held is None:
            return made
        self._held.append(made)
        return None

    def turn(self) -> ModelTurn:
        """The whole turn, once `complete`."""
        start = self._start or {}
        reason = self._stop["stop_reason"]
        return ModelTurn(
            model=str(start.get("model", "")),
            texts=tuple(block.text for block in self._blocks if block.kind == "text"),
            tool_uses=tuple(block.tool_use() for block in self._blocks if block.kind == "tool_use"),
            stop_reason=reason if isinstance(reason, str) else None,
            usage=self.usage,
            thoughts=tuple(thought for thought in (block.thought() for block in self._blocks) if thought is not None),
        )

    def given(self) -> Given:
        """What the CLI was given of it so far: once handed over all, before that the finished blocks in front of the calls."""
        whole = self._given
        first = next((block.index for block in self._blocks if block.kind == "tool_use"), len(self._blocks))
        blocks = [block for block in self._blocks if whole or (block.index < first and not block.open)]
        items = [item for item in (block.item() for block in blocks) if item is not None]
        thinking = frozenset(thought for thought in (block.thought() for block in blocks) if thought is not None)
        return Given(items=tuple(sorted(items, key=lambda item: item.kind == "call")), thinking=thinking, whole=whole)

    def release(self, handed: tuple[Handover, ...]) -> tuple[JsonObject, ...]:
        """Everything that was held, with each tool use as handed over, and the end of the message."""
        self._hand_over(handed)
        events: list[JsonObject] = []
        for event in self._held or []:
            index = event.get("index")
            block = self._blocks[index] if isinstance(index, int) else None
            if block is None or block.kind != "tool_use":
                events.append(event)
            elif event["type"] == "content_block_start":
                events += block.handed_events()
        return (*events, {"type": "message_stop"})

    def message(self, handed: tuple[Handover, ...]) -> JsonObject:
        """The reply as one message, for a request that did not ask for a stream.

        Raises:
            UpstreamError: A tool use's input is no JSON object, which only a stream can carry.
        """
        self._hand_over(handed)
        try:
            content: list[Json] = [block.whole(parse_strict) for block in self._blocks]
        except MalformedJsonError:
            raise UpstreamError("the model's tool use has no JSON object as its input") from None
        return {**(self._start or {}), "content": content, **self._stop, "usage": dict(self._counts)}

    def _hand_over(self, handed: tuple[Handover, ...]) -> None:
        tools = [block for block in self._blocks if block.kind == "tool_use"]
        for block, given in zip(tools, handed, strict=True):
            block.handed = given
        self._given = True

    def _take(self, kind: str, event: JsonObject) -> JsonObject | None:
        self._bytes += len(json.dumps(event))
        if self._bytes > self._limits.reply_bytes:
            raise UpstreamError(f"the model's reply is over {self._limits.reply_bytes} bytes")
        handler = self._handlers.get(kind)
        if handler is None:
            return None
        if (self._start is None) != (kind == "message_start"):
            raise _malformed(f"{kind} out of order")
        return handler(event)

    def _message_start(self, event: JsonObject) -> JsonObject:
        message = _object(event, "message")
        identity = message.get("id")
        if not isinstance(identity, str) or not _MESSAGE_ID.fullmatch(identity) or message.get("content"):
            raise _malformed("message_start")
        self._count(message.get("usage"))
        self._start = {
            "id": self._name or identity,
            "type": "message",
            "role": "assistant",
            "model": clean(str(message.get("model", "")), 256),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": dict(self._counts),
        }
        return {"type": "message_start", "message": self._start}

    def _block_start(self, event: JsonObject) -> JsonObject:
        if event.get("index") != len(self._blocks) or any(block.open for block in self._blocks[-1:]):
            raise _malformed("content_block_start with a wrong index")
        if len(self._blocks) >= self._limits.reply_blocks:
            raise UpstreamError(f"the model's reply has over {self._limits.reply_blocks} blocks")
        block = open_block(len(self._blocks), _object(event, "content_block"))
        self._blocks.append(block)
        if block.kind == "tool_use" and self._held is None:
            self._held = []
        return block.start()

    def _block_delta(self, event: JsonObject) -> JsonObject | None:
        return self._open(event).delta(_object(event, "delta"))

    def _block_stop(self, event: JsonObject) -> JsonObject:
        block = self._open(event)
        block.open = False
        return {"type": "content_block_stop", "index": block.index}

    def _message_delta(self, event: JsonObject) -> JsonObject:
        delta = _object(event, "delta")
        for key in self._stop:
            value = delta.get(key)
            if value is not None and not isinstance(value, str):
                raise _malformed("message_delta")
            self._stop[key] = value
        self._count(event.get("usage"))
        return {"type": "message_delta", "delta": dict(self._stop), "usage": dict(self._counts)}

    def _message_stop(self, _: JsonObject) -> None:
        if any(block.open for block in self._blocks):
            raise _malformed("message_stop within a block")
        self.complete = True

    def _open(self, event: JsonObject) -> Block:
        block = self._blocks[-1] if self._blocks else None
        if block is None or not block.open or event.get("index") != block.index:
            raise _malformed("an event of a block that is not open")
        return block

    def _count(self, usage: Json) -> None:
        """Counts are cumulative and never go down, so that a cut or odd reply is charged conservatively (M11)."""
        for name in (*_INPUT_COUNTS, "output_tokens"):
            value = usage.get(name) if isinstance(usage, dict) else None
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                self._counts[name] = max(value, self._counts.get(name, 0))


def _object(event: JsonObject, key: str) -> JsonObject:
    value = event.get(key)
    if not isinstance(value, dict):
        raise _malformed(f"{event.get('type')} without {key}")
    return value


def _malformed(what: str) -> UpstreamError:
    return UpstreamError(f"the model's reply is malformed: {clean(what, 80)}")
