"""What of a conversation goes on record, and how it is found again in lines that a container mirrored; pure.

Digests in the normal form of `spoken`, in which a request is compared with what was said before: what an honest CLI may tell
in several ways is on record in one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from runner.gateway import spoken
from runner.gateway.spoken import Item, Spoken
from runner.gateway.values import ModelTurn, ToolResult
from runner.model import JsonObject

#: Parts of a result that are on record each by itself; of one with more, all together.
_PARTS = 256


def said_by(turn: ModelTurn) -> tuple[str, ...]:
    """Digests of a turn's texts and thoughts; a blank text says nothing."""
    words = (spoken.word(text) for text in turn.texts)
    return (*(word.parts[0] for word in words if word is not None), *turn.thoughts)


def said_in(block: JsonObject) -> str | None:
    """The digest of a text or a thought in a reply; None for whatever else a block is."""
    kind = block.get("type")
    if kind in {"thinking", "redacted_thinking"}:
        return spoken.thought(block)
    word = spoken.word(str(block.get("text", ""))) if kind == "text" else None
    return None if word is None else word.parts[0]


def marked(results: Sequence[ToolResult], told: Spoken) -> tuple[ToolResult, ...]:
    """Results of a request, each with the digests of all that it holds."""
    parts = {item.id: item.parts for item in told.items if item.kind == "result"}
    return tuple(replace(result, parts=parts.get(result.tool_use_id, ())) for result in results)


def noted(parts: Sequence[str]) -> str:
    """A result as it stands on record."""
    return json.dumps(list(_folded(parts)))


def found_in(block: JsonObject) -> tuple[str, ...]:
    """The digests of all that a mirrored result holds."""
    return spoken.of_messages([{"role": "user", "content": [block]}]).items[0].parts


def agrees(record: str, found: Sequence[str]) -> bool:
    """Whether a mirrored result is the one on record: bytes may have been taken out of it since, and nothing else."""
    return spoken.alike(Item("result", "", tuple(json.loads(record))), Item("result", "", _folded(found)))


def _folded(parts: Sequence[str]) -> tuple[str, ...]:
    """Many parts are one."""
    return tuple(parts) if len(parts) <= _PARTS else (spoken.digest("\0".join(parts)),)
