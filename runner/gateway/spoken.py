"""What a conversation says and who says it, whatever form the CLI gives it: the normal form in which two requests are compared.

Pure. Measured on CLI 2.1.332: from one request to the next it moves cache marks, writes a lone text as a string or as a list,
leaves out blank texts and (after a refusal, or just resumed) thinking, puts calls behind the words of their reply, ends a
text of the user's with a newline when it puts another behind it, puts its reminders behind the last result or into a message
of their own, and, past its own bound or after a refusal, a note in the place of a picture or a document. All of this looks
alike here. The rest does not: docs/gateway.md has the table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from runner.digest import MalformedJsonError, canonical, objects, parse_strict
from runner.gateway.voice import is_excuse, is_note, is_voice, without_voice
from runner.model import Json, JsonObject

#: Marks a part that is a picture's or a document's bytes.
MEDIA = "media:"
#: Stands where the CLI took a picture or a document out.
GONE = "gone"
#: An input that is no strict JSON: how the CLI reads it is its own affair, and the call was denied.
ANY = "any"


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
    for message in objects(messages):
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
        if line.get("isMeta") is True and not any(asked(str(block.get("text"))) in sent for block in objects(blocks)):
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
    return Item("word", "", (digest(text.strip()),)) if text.strip() else None


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
    return digest("\0".join(str(block.get(key, "")) for key in ("type", "thinking", "signature", "data")))


def asked(text: str) -> str:
    """A text of the user's as it is compared."""
    return text.rstrip("\n")


def picture(data: str) -> str:
    """A picture of the user's, by its base64 text."""
    return MEDIA + digest(data)


def digest(text: str) -> str:
    """The digest of a text, whatever characters it has."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def alike(known: Item, told: Item) -> bool:
    """Whether one thing is told as it was: bytes may have been taken out, and an input that no reader agrees on is any."""
    if (known.kind, known.id, len(known.parts)) != (told.kind, told.id, len(told.parts)):
        return False
    return all(_same(was, now) for was, now in zip(known.parts, told.parts, strict=True))


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
                self._reply(objects(content))
            elif role == "user":
                for block in objects(content):
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
        if is_excuse(text) and text not in self._sent:
            self._items.append(Item("picture", "", (GONE,)))
        elif text in self._sent or (text.strip() and not is_note(text) and not is_voice(text)):
            self._items.append(Item("asked", "", (text,)))


def _parts(content: Json) -> list[str]:
    """A result's parts without the reminders behind it; what it begins with is the tool's, whatever it looks like."""
    parts: list[str] = []
    for index, block in enumerate(objects([{"type": "text", "text": content}] if isinstance(content, str) else content)):
        if block.get("type") != "text":
            parts.append(_bytes(block))
            continue
        if index and is_voice(str(block.get("text", ""))):
            continue
        text = without_voice(str(block.get("text", "")))
        if is_excuse(text):
            parts.append(GONE)
        elif text:
            parts.append(digest(text))
    return parts


def _same(was: str, now: str) -> bool:
    return was in {now, ANY} or (was.startswith(MEDIA) and now == GONE)


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
