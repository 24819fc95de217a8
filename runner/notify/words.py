"""What a notice says: agent, tool, why in words, the id's beginning, the deadline; no argument, path or capture (C1).

Pure. Every text from outside goes through `render.plain`, a field on a line of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from runner.model import Json, JsonObject
from runner.policy.precedence import TABLE
from runner.render.plain import plain
from runner.render.values import tool_name
from runner.store.redact import redacted_text

#: Calls that are named in one notice; of more only the number is told.
NAMED = 10
#: Characters of an id: enough to type, and to be unique.
ID_LENGTH = 10
_ID = re.compile(r"[a-z]_[0-9a-z]+")

#: Why a call is asked about, by the rule that said so; the words of the table and of what stands above it.
WHY: Mapping[str, str] = {row.rule: row.says for row in TABLE} | {
    "strict": "the run is strict, so only confined reads run unasked",
    "ceiling": "the profile's policy is above this host's ceiling, so every call asks",
}
_TITLES: Mapping[str, tuple[str, str]] = {
    "asked": ("a call waits for you", "calls wait for you"),
    "half": ("a call has waited half its time", "calls have waited half their time"),
    "late": ("a call expires soon", "calls expire soon"),
    "unknown": ("nobody knows whether an effect happened", "effects may have happened or not"),
    "refused": ("a call was refused: too many wait", "calls were refused: too many wait"),
    "stub": ("a capture waits to be accepted", "captures wait to be accepted"),
    "reply": ("a reply waits for your review", "replies wait for your review"),
    "budget": ("a run waits for more budget", "runs wait for more budget"),
    "test": ("a test, nothing needs you", "tests, nothing needs you"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that needs a person, as it is on record. `approval` is its id; it and `expires` are None where it has none."""

    agent: str
    tool: str
    why: str
    approval: str | None = None
    expires: float | None = None


class Message(NamedTuple):
    """A notice as a channel takes it; `body` is the JSON of the signed webhook, byte for byte the same at every try."""

    key: str
    title: str
    text: str
    body: bytes


def body_of(key: str, kind: str, items: Sequence[Item], *, total: int) -> str:
    """A notice as canonical JSON, stored before it is sent.

    Args:
        key: The notice's id; a channel that gets one twice knows it by that.
        kind: What it is about, such as `asked`.
        items: What is named; the first `NAMED` of them.
        total: How many there are in all.
    """
    one, several = _TITLES.get(kind, (plain(kind), plain(kind)))
    title = f"runner: {one}" if total <= 1 else f"runner: {total} {several}"
    named: list[Json] = [_fields(item) for item in items[:NAMED]]
    facts: JsonObject = {"version": 1, "key": key, "kind": kind, "title": title, "total": total, "items": named}
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)


def message_of(body: str) -> Message:
    """A stored notice as it is sent."""
    found = json.loads(body)
    lines: list[str] = []
    for item in found["items"]:
        lines += [f"{name}: {item[name]}" for name in ("agent", "tool", "why", "id", "expires") if item.get(name)]
        lines.append("")
    left = found["total"] - len(found["items"])
    if left > 0:
        lines += [f"and {left} more", ""]
    lines += ["look: runner todo", f"notice: {found['key']}"]
    return Message(key=found["key"], title=found["title"], text="\n".join(lines), body=body.encode())


def _told(text: str) -> str:
    return plain(redacted_text(text))


def _fields(item: Item) -> JsonObject:
    fields: JsonObject = {"agent": _told(item.agent), "tool": _told(tool_name(item.tool))}
    fields["why"] = WHY.get(item.why) or _told(item.why)
    if item.approval is not None:
        shown = item.approval[:ID_LENGTH]
        fields["id"] = shown if _ID.fullmatch(shown) else _told(shown)
    if item.expires is not None:
        fields["expires"] = f"{datetime.fromtimestamp(item.expires, UTC):%Y-%m-%d %H:%M} UTC"
    return fields
