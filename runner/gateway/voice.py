"""What the CLI says of its own accord within a conversation: reminders, notes, and excuses for bytes that it took out.

Owns how they are told from what others said. Texts are the container's: each part of one is looked at once. Which reminders the
model is to read is `reminders`' business, what stands between the messages `notes`'.
"""

from __future__ import annotations

import re

from runner.digest import objects
from runner.model import Json, JsonObject

_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"
#: What the CLI writes in the place of bytes that were too many, or that the provider could not read.
_REMOVED = re.compile(
    r"\[media removed: request limit\. [^\[\]]{1,400}\]"
    r"|\[(?:Image|Document) removed: the API could not process this (?:image|document)"
    r"(?: \([^\n]{1,400}\))?\. [^\[\]\n]{1,300}\]"
    r"|\(media removed \u2014 rejected by API\)"
)
#: What the model reads there, whatever the CLI says about it.
REMOVED = "[removed: it does not fit into the request, or cannot be read]"
#: What the CLI notes behind pictures: where it has put one, and how it has shrunk one.
_NOTES = re.compile(
    r"\[Image: source: /tmp/claude-\d{1,10}/-workspace/[0-9a-f-]{36}/images/\d{1,4}\.[a-z]{3,4}\]"
    r"|\[Image: original \d{1,6}x\d{1,6}, displayed at \d{1,6}x\d{1,6}\. Multiply coordinates by [\d.]{1,12} "
    r"to map to original image\.\]"
    r"|Continue from where you left off\.",
    re.ASCII,
)


def without_excuses(messages: Json) -> None:
    """Say in fixed words that bytes were taken out, in place: what the CLI says of it is not compared, so not told either."""
    for message in objects(messages):
        _excuse(message, "content")
        for block in objects(message["content"]):
            _excuse(block, "text")
            _excuse(block, "content")
            for part in objects(block.get("content")):
                _excuse(part, "text")


def is_note(text: str) -> bool:
    """Whether a text in the user's mouth is one of the CLI's fixed notes."""
    return _NOTES.fullmatch(text) is not None


def is_excuse(text: str) -> bool:
    """Whether a text says that a picture or a document was taken out."""
    return _REMOVED.fullmatch(text) is not None


def is_voice(text: str) -> bool:
    """Whether a text is nothing but the CLI's reminders."""
    first, *reminders = text.split(_OPEN)
    return bool(reminders) and not first.strip() and all(_closed(one) for one in reminders)


def without_voice(text: str) -> str:
    """The beginning of a result's text, in front of the reminders behind it; there is always something in front.

    Each part of the text is looked at once, however many reminders there are: it is the container's.
    """
    first, end = len(text) - len(text.lstrip()), _end_of(text, len(text))
    while text.endswith(_CLOSE, 0, end):
        start = text.rfind(_OPEN, 0, end)
        if start <= first or text.find(_CLOSE, start, end) != end - len(_CLOSE):
            break
        end = _end_of(text, start)
    return text[:end]


def _end_of(text: str, end: int) -> int:
    """Where a text ends without the blanks before `end`."""
    size = 64
    while end > 0:
        piece = text[max(end - size, 0) : end]
        kept = piece.rstrip()
        end -= len(piece) - len(kept)
        if kept:
            break
        size *= 2
    return end


def _excuse(block: JsonObject, key: str) -> None:
    text = block.get(key)
    if isinstance(text, str) and is_excuse(without_voice(text)):
        block[key] = REMOVED


def _closed(reminder: str) -> bool:
    """Whether what follows an opening tag is one reminder and nothing behind it."""
    _, tag, behind = reminder.partition(_CLOSE)
    return bool(tag) and not behind.strip()
