"""How much of each text field is kept, raw and escaped, and where a cut may fall (F9). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from runner.fence import table
from runner.fence.classes import one_of
from runner.fence.escape import Escaped, escape_counting, unescape


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldBound:
    """Caps of one field; the smallest that is reached cuts."""

    characters: int
    lines: int

    @property
    def bytes(self) -> int:
        """UTF-8 bytes: three a character on average, so plain text of any script reaches the character cap first."""
        return 3 * self.characters

    @property
    def escaped(self) -> int:
        """Characters after escaping; the worst input grows tenfold (tag characters), honest text hardly at all."""
        return 2 * self.characters


#: The documented table. Keys are the labels of a capture's lines; `label` and `image` stand for each of theirs.
FIELDS: Mapping[str, FieldBound] = MappingProxyType(
    {
        "url": FieldBound(characters=4_096, lines=64),
        "title": FieldBound(characters=1_000, lines=64),
        "label": FieldBound(characters=500, lines=64),
        "text": FieldBound(characters=200_000, lines=20_000),
        "note": FieldBound(characters=20_000, lines=2_000),
        "intent": FieldBound(characters=4_000, lines=400),
        "image": FieldBound(characters=200, lines=8),
    },
)
#: Characters of one block, markers and all; the field caps keep every capture below it.
MAX_BLOCK = 1_200_000
MAX_FIELDS = 256

_PIECE = re.compile(r"&(?:amp|lt|gt);|\\\\|\\u\{[0-9A-F]+\}")
_LONGEST_PIECE = 10
#: Joiners, selectors and marks at a cut belong to what was cut away or would change form without it.
_LOOSE_END = re.compile(f"(?:[\u200c\u200d\ufe0e\ufe0f]|{one_of(table.MARKS)}|{one_of(table.PICTOGRAPHS)}\u200d)+$")
_LOOKED_BACK = 64


class Cut(NamedTuple):
    """What was kept of a text, in both forms, and the length it had."""

    raw: str
    escaped: Escaped
    full: int


def cut_raw(text: str, bound: FieldBound) -> str:
    """The longest start of `text` within its raw caps that ends between characters as a reader sees them."""
    kept = text[: bound.characters]
    if text.count("\n", 0, len(kept)) >= bound.lines:
        kept = "\n".join(kept.split("\n", bound.lines)[: bound.lines])
    data = kept.encode("utf-8", "surrogatepass")
    if len(data) > bound.bytes:
        kept = _decoded(data[: bound.bytes])
    return kept if len(kept) == len(text) else _tidy(kept)


def cut(text: str, bound: FieldBound) -> Cut:
    """Bound raw, escape, bound escaped; never inside an escape (F5, F9)."""
    raw = cut_raw(text, bound)
    escaped = escape_counting(raw)
    while len(escaped.text) > bound.escaped:
        raw = _tidy(unescape(_whole_pieces(escaped.text, bound.escaped)))
        escaped = escape_counting(raw)
    return Cut(raw, escaped, len(text))


def _whole_pieces(escaped: str, limit: int) -> str:
    """The longest start of an escaped text that ends between its pieces."""
    for start in range(max(0, limit - _LONGEST_PIECE), limit):
        piece = _PIECE.match(escaped, start)
        if piece is not None and piece.end() > limit and not _inside(escaped, start):
            return escaped[:start]
    return escaped[:limit]


def _inside(escaped: str, at: int) -> bool:
    """Whether a backslash at `at` is the second of a doubled one."""
    before = at
    while before and escaped[before - 1] == "\\":
        before -= 1
    return escaped[at] == "\\" and (at - before) % 2 == 1


def _tidy(kept: str) -> str:
    start = max(0, len(kept) - _LOOKED_BACK)
    return kept[:start] + _LOOSE_END.sub("", kept[start:])


def _decoded(data: bytes) -> str:
    """Bytes cut somewhere, without the character that the cut left incomplete."""
    for drop in range(4):
        try:
            return data[: len(data) - drop].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            continue
    return ""
