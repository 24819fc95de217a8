"""What a conversation says and who says it, whatever form the CLI gives it: the normal form in which two requests are compared.

Pure. Measured on CLI 2.1.332: from one request to the next it moves cache marks, writes a lone text as a string or as a list,
leaves out blank texts and (after a refusal, or just resumed) thinking, puts calls behind the words of their reply, ends a
text of the user's with a newline when it puts another behind it, puts its reminders behind the last result or into a message
of their own, and, past its own bound or after a refusal, a note in the place of a picture or a document. All of this looks
alike here. The rest does not: docs/gateway.md has the table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from runner.digest import MalformedJsonError, canonical, parse_strict
from runner.model import Json, JsonObject

_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"
#: Marks a part that is a picture's or a document's bytes.
MEDIA = "media:"
#: Stands where the CLI took a picture or a document out.
GONE = "gone"
#: An input that is no strict JSON: how the CLI reads it is its own affair, and the call was denied.
ANY = "any"
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


class Item(NamedTuple):
    """One thing that was said.

    `kind`: `word` and `call` are the model's, `result` a tool's, `asked` and `picture` the user's. `id` is a call's or a
    result's. `parts` are digests, but of `asked`, which holds the text.
    """

    kind: str
    id: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A conversation in its normal form; `thinking` are digests of the model's thoughts, which may be left out."""

    items: tuple[Item, ...] = ()
    thinking: frozenset[str] = frozenset()


def of_messages(messages: Json, sent: Collection[str] = ()) -> Spoken:
    """What a re-built request's messages say; `sent` are texts of the user's, whatever they look like."""
    made = _Maker(sent)
    for message in _objects(messages):
        made.take(str(message["role"]), message["content"])
    return made.done()


def of_lines(lines: Sequence[JsonObject], sent: Collection[str] = ()) -> Spoken:
    """What the lines of a transcript say that a CLI is resumed with; what is malformed in them says nothing.

    Lines of one reply belong together wherever they stand: a result may have come before the reply's last line.
    """
    made = _Maker(sent)
    replies: dict[str, list[Json]] = {}
    for line in lines:
        message = line.get("message")
        if line.get("type") not in {"user", "assistant"} or not isinstance(message, dict):
            continue
        content = message.get("content", "")
        blocks: list[Json] = content if isinstance(content, list) else [{"type": "text", "text": content}]
        if line.get("isMeta") is True and not any(asked(str(block.get("text"))) in sent for block in _objects(blocks)):
            continue
        if line["type"] == "user":
            made.take("user", blocks)
        elif (name := str(message.get("id"))) in replies:
            replies[name] += blocks
        else:
            replies[name] = made.later(blocks)
    return made.done()


def word(text: str) -> Item | None:
    """A text of the model's; a blank one says nothing."""
    return Item("word", "", (_digest(text.strip()),)) if text.strip() else None


def call(identity: str, name: str, given: Json | None) -> Item:
    """A call; `given` None: its input is no strict JSON."""
    return Item("call", identity, (name, ANY if given is None else _input(given)))


def call_of(identity: str, name: str, raw: str) -> Item:
    """A call as it was handed to the CLI."""
    try:
        value = parse_strict(raw)
    except MalformedJsonError:
        return call(identity, name, None)
    return call(identity, name, value if isinstance(value, dict) else None)


def thought(block: JsonObject) -> str:
    """The digest of a thinking block of either kind."""
    return _digest("\0".join(str(block.get(key, "")) for key in ("type", "thinking", "signature", "data")))


def asked(text: str) -> str:
    """A text of the user's as it is compared."""
    return text.rstrip("\n")


def picture(data: str) -> str:
    """A picture of the user's, by its base64 text."""
    return MEDIA + _digest(data)


def alike(known: Item, told: Item) -> bool:
    """Whether one thing is told as it was: bytes may have been taken out, and an input that no reader agrees on is any."""
    if (known.kind, known.id, len(known.parts)) != (told.kind, told.id, len(told.parts)):
        return False
    return all(_same(was, now) for was, now in zip(known.parts, told.parts, strict=True))


def without_excuses(messages: Json) -> None:
    """Say in fixed words that bytes were taken out, in place: what the CLI says of it is not compared, so not told either."""
    for message in _objects(messages):
        _excuse(message, "content")
        for block in _objects(message["content"]):
            _excuse(block, "text")
            _excuse(block, "content")
            for part in _objects(block.get("content")):
                _excuse(part, "text")


def is_note(text: str) -> bool:
    """Whether a text in the user's mouth is one of the CLI's fixed notes."""
    return _NOTES.fullmatch(text) is not None


def is_voice(text: str) -> bool:
    """Whether a text is nothing but the CLI's reminders."""
    first, *reminders = text.split(_OPEN)
    return bool(reminders) and not first.strip() and all(_closed(one) for one in reminders)


@dataclass(slots=True)
class _Maker:
    """Takes messages in: who speaks, and blocks, which may still grow until all is there."""

    _sent: Collection[str] = ()
    _turns: list[tuple[str, list[Json]]] = field(default_factory=list)
    _items: list[Item] = field(default_factory=list)
    _thinking: set[str] = field(default_factory=set)

    def take(self, role: str, content: Json) -> None:
        """One message."""
        self._turns.append((role, content if isinstance(content, list) else [{"type": "text", "text": content}]))

    def later(self, blocks: list[Json]) -> list[Json]:
        """The beginning of a reply; the answer is where the rest of it goes."""
        self._turns.append(("assistant", begun := list(blocks)))
        return begun

    def done(self) -> Spoken:
        """All of it."""
        for role, content in self._turns:
            if role == "assistant":
                self._reply(_objects(content))
            elif role == "user":
                for block in _objects(content):
                    self._heard(block)
        return Spoken(items=tuple(self._items), thinking=frozenset(self._thinking))

    def _reply(self, blocks: Iterable[JsonObject]) -> None:
        calls: list[Item] = []
        for block in blocks:
            kind = block.get("type")
            if kind == "text" and (said := word(str(block.get("text", "")))) is not None:
                self._items.append(said)
            elif kind == "tool_use":
                calls.append(call(str(block.get("id")), str(block.get("name")), block.get("input")))
            elif kind in {"thinking", "redacted_thinking"}:
                self._thinking.add(thought(block))
        self._items += calls

    def _heard(self, block: JsonObject) -> None:
        kind = block.get("type")
        if kind == "tool_result":
            parts = (str(block.get("is_error") is True), *_parts(block.get("content", "")))
            self._items.append(Item("result", str(block.get("tool_use_id")), parts))
        elif kind in {"image", "document"}:
            self._items.append(Item("picture", "", (_bytes(block),)))
        elif kind == "text":
            self._text(asked(str(block.get("text", ""))))

    def _text(self, text: str) -> None:
        if _REMOVED.fullmatch(text) and text not in self._sent:
            self._items.append(Item("picture", "", (GONE,)))
        elif text in self._sent or (text.strip() and not is_note(text) and not is_voice(text)):
            self._items.append(Item("asked", "", (text,)))


def _parts(content: Json) -> list[str]:
    """A result's parts without the reminders behind it; what it begins with is the tool's, whatever it looks like."""
    parts: list[str] = []
    for index, block in enumerate(_objects([{"type": "text", "text": content}] if isinstance(content, str) else content)):
        if block.get("type") != "text":
            parts.append(_bytes(block))
            continue
        if index and is_voice(str(block.get("text", ""))):
            continue
        text = without_voice(str(block.get("text", "")))
        if _REMOVED.fullmatch(text):
            parts.append(GONE)
        elif text:
            parts.append(_digest(text))
    return parts


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
    if isinstance(text, str) and _REMOVED.fullmatch(without_voice(text)):
        block[key] = REMOVED


def _same(was: str, now: str) -> bool:
    return was in {now, ANY} or (was.startswith(MEDIA) and now == GONE)


def _closed(reminder: str) -> bool:
    """Whether what follows an opening tag is one reminder and nothing behind it."""
    _, tag, behind = reminder.partition(_CLOSE)
    return bool(tag) and not behind.strip()


def _bytes(block: JsonObject) -> str:
    source = block.get("source")
    said = [
        source.get("data") if isinstance(source, dict) else None,
        *(block[key] for key in ("title", "context") if key in block),
    ]
    return picture("\0".join(map(str, said)))


def _input(value: Json) -> str:
    try:
        return hashlib.sha256(canonical(value)).hexdigest()
    except MalformedJsonError:
        return ANY


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _objects(value: Json) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
