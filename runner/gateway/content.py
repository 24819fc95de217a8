"""Which content blocks may travel to the model, and in whose mouth.

Owns one rule per role. Bytes travel inside the request only: no URL, no file id, no server-side tool (G3, case 72).
"""

from __future__ import annotations

from runner.gateway.shapes import (
    Rule,
    anything,
    by_type,
    flag,
    listed,
    one_of,
    record,
    refuse,
    shown,
    text,
    text_or,
)
from runner.model import Json

_BLOCKS = 20_000
_NAME = text(512)


def cache_control(value: Json, where: str) -> Json:
    """Only what a cache mark is; other keys of it are left out. For an hour it would cost twice what input does."""
    if value is None:
        return None
    if not isinstance(value, dict) or value.get("type") != "ephemeral":
        refuse(where, "is no cache mark")
    if value.get("ttl") not in (None, "5m"):
        refuse(f"{where}.ttl", f"is {shown(value['ttl'])}, which is not reserved for")
    return {"type": "ephemeral"}


_CACHE: dict[str, Rule] = {"cache_control": cache_control}
_BASE64 = {"type": one_of("base64"), "data": text()}

TEXT = record({"type": one_of("text"), "text": text()}, _CACHE, dropped=frozenset({"citations"}))
_IMAGE = record(
    {
        "type": one_of("image"),
        "source": record({**_BASE64, "media_type": one_of("image/png", "image/jpeg", "image/gif", "image/webp")}),
    },
    _CACHE,
)
_DOCUMENT = record(
    {
        "type": one_of("document"),
        "source": by_type(
            {
                "base64": record({**_BASE64, "media_type": one_of("application/pdf")}),
                "text": record({"type": one_of("text"), "media_type": one_of("text/plain"), "data": text()}),
            }
        ),
    },
    {**_CACHE, "title": text(1000), "context": text(10_000)},
    dropped=frozenset({"citations"}),
)
_RESULT = record(
    {"type": one_of("tool_result"), "tool_use_id": _NAME},
    {
        **_CACHE,
        "is_error": flag,
        "content": text_or(listed(by_type({"text": TEXT, "image": _IMAGE, "document": _DOCUMENT}), _BLOCKS)),
    },
)
_TOOL_USE = record(
    {"type": one_of("tool_use"), "id": _NAME, "name": _NAME, "input": anything},
    {**_CACHE, "caller": record({"type": one_of("direct")})},
)
_THINKING = record({"type": one_of("thinking"), "thinking": text(), "signature": text()}, _CACHE)
_REDACTED = record({"type": one_of("redacted_thinking"), "data": text()}, _CACHE)

_BY_ROLE: dict[str, dict[str, Rule]] = {
    "user": {"text": TEXT, "image": _IMAGE, "document": _DOCUMENT, "tool_result": _RESULT},
    "assistant": {"text": TEXT, "tool_use": _TOOL_USE, "thinking": _THINKING, "redacted_thinking": _REDACTED},
    "system": {"text": TEXT},  # the CLI's notes, to newer models; see `notes`
}
_MESSAGES = {
    role: record({"role": one_of(role), "content": text_or(listed(by_type(kinds), _BLOCKS))})
    for role, kinds in _BY_ROLE.items()
}


def message(value: Json, where: str) -> Json:
    """One message of a conversation, re-built."""
    role = value.get("role") if isinstance(value, dict) else None
    if not isinstance(role, str) or role not in _MESSAGES:
        refuse(f"{where}.role", "is none of user, assistant, system")
    return _MESSAGES[role](value, where)
