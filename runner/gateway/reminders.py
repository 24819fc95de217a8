"""The CLI's reminders in the user's mouth and behind results: those that it is known to make are passed on, others left out.

Reminders are no part of what is compared, so they must not be a way to tell the model anything. One between the messages, in
the provider's voice, is refused by `notes`. Here an unknown one is no reason to end a run: the CLI has many, and the model can
do without any.
"""

from __future__ import annotations

from collections.abc import Collection

from runner.digest import objects
from runner.gateway.notes import is_note
from runner.gateway.spoken import asked, digest
from runner.gateway.voice import is_voice, without_voice
from runner.model import Json, JsonObject

#: What the model reads in the place of one nobody knows.
LEFT_OUT = "<system-reminder>\n(left out)\n</system-reminder>"
#: Sentences by their digest, as CLI 2.1.332 says them (measured): that a reply was cut, came to nothing, reached its limit, was
#: stopped by a classifier, or called no tool though it said so.
_SENTENCES = frozenset(
    {
        "45d6aa7b19924d42bc0c4937773333c8957016083cda62faa907a6deda101140",
        "1b8233d9ec5f3b55b8cb2e5370012a0b9118f26b3b4d9cb2cde7e4ae28a23b20",
        "c373e56926c44b5cd039c9dc761a5eda8db6ae60ff06be0cd9d73cf288d8c5a1",
        "0c9631554ef67bd3a5a733f32227a96f62c7538bad803bfb331318e978af769c",
        "194eee108098fd63cdb4cad3ac257a389f75edbe2e31e6d636b3b0c2a6747b35",
    }
)


def leave_out_unknown(messages: Json, *, model: str, sent: Collection[str]) -> int:
    """Replace them in a re-built request's messages, in place.

    Args:
        messages: The conversation.
        model: The profile's; the CLI names it.
        sent: Texts of the user's own, whatever they look like.

    Returns:
        How many there were.
    """
    count = 0
    for message in objects(messages):
        if message["role"] != "user":
            continue
        count += _replaced(message, "content", model=model, sent=sent)
        for block in objects(message["content"]):
            if block["type"] == "text":
                count += _replaced(block, "text", model=model, sent=sent)
            elif block["type"] == "tool_result":
                count += _in_result(block, model)
    return count


def _in_result(block: JsonObject, model: str) -> int:
    """The same behind a result, where the CLI puts some of them."""
    content = block.get("content")
    if not isinstance(content, list):
        return _cut(block, "content", model)
    parts = [part for part in objects(content) if part["type"] == "text"]
    first = content[0] if content else None
    return sum(
        _cut(part, "text", model) if part is first or not is_voice(str(part["text"])) else _replaced(part, "text", model=model)
        for part in parts
    )


def _cut(holder: JsonObject, key: str, model: str) -> bool:
    text = holder.get(key)
    if not isinstance(text, str):
        return False
    said = without_voice(text)
    if not text[len(said) :].strip() or _is_known(text[len(said) :], model):
        return False
    holder[key] = f"{said}\n\n{LEFT_OUT}"
    return True


def _replaced(holder: JsonObject, key: str, *, model: str, sent: Collection[str] = ()) -> bool:
    text = holder[key]
    if not isinstance(text, str) or not is_voice(text) or asked(text) in sent or _is_known(text, model):
        return False
    holder[key] = LEFT_OUT
    return True


def _is_known(text: str, model: str) -> bool:
    return all(is_note(line, model) or digest(line) in _SENTENCES for line in text.strip().split("\n"))
