"""Character classes built from the pinned tables, and the names hidden characters are counted under (U1, U2, U4). Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

from runner.fence import table

#: Classes in the order they are tried; what is hidden and in none of them is unassigned.
_KINDS = (
    ("line", "85 2028-2029"),
    ("control", "0-8 B-1F 7F-9F"),
    ("bidi", "61C 200E-200F 202A-202E 2066-2069"),
    ("joiner", "200C-200D"),
    ("tag", "E0000-E007F"),
    ("variation", "180B-180F FE00-FE0F E0100-E01EF"),
    (
        "zero_width",
        "AD 34F 115F-1160 17B4-17B5 180E 200B 2060-2065 206A-206F 2800 3164 FEFF FFA0 FFF0-FFFC 13430-1343F 1BCA0-1BCA3 "
        "1D173-1D17A",
    ),
    ("surrogate", "D800-DFFF"),
    ("private", "E000-F8FF F0000-FFFFD 100000-10FFFD"),
)


def spans(text: str) -> list[tuple[int, int]]:
    """First and last code points of a list such as `AD 115F-1160`."""
    found = []
    for item in text.split():
        first, _, last = item.partition("-")
        found.append((int(first, 16), int(last or first, 16)))
    return found


def one_of(*texts: str) -> str:
    """A regular expression for one character of some lists, fast on text that stays in the basic plane."""
    basic, beyond = "", ""
    for low, high in sorted(span for text in texts for span in spans(text)):
        if low <= 0xFFFF:
            basic += f"{_literal(low)}-{_literal(min(high, 0xFFFF))}"
        if high > 0xFFFF:
            beyond += f"{_literal(max(low, 0x10000))}-{_literal(high)}"
    if not beyond:
        return f"[{basic}]"
    return f"(?:[{basic}]|(?=[\\U00010000-\\U0010ffff])[{beyond}])"


def _literal(code: int) -> str:
    """The character itself where it means nothing in a class: an escape of it takes the compiler several times as long."""
    return f"\\x{code:02x}" if code < 0x80 else chr(code)


_KIND_SPANS = tuple((kind, spans(text)) for kind, text in _KINDS)


@cache
def _hidden_run() -> re.Pattern[str]:
    return re.compile(f"{one_of(table.HIDDEN)}+")


def is_hidden(character: str) -> bool:
    """Whether a reader cannot see a character."""
    return _hidden_run().match(character) is not None


def kind_of(character: str) -> str:
    """The class a hidden character is counted under."""
    code = ord(character)
    for kind, ranges in _KIND_SPANS:
        if any(low <= code <= high for low, high in ranges):
            return kind
    return "unassigned"


def counted(characters: Iterable[str]) -> dict[str, int]:
    """How many of each class; each distinct character is looked up once."""
    found: dict[str, int] = {}
    for character, count in Counter(characters).items():
        kind = kind_of(character)
        found[kind] = found.get(kind, 0) + count
    return found


def hidden_counts(text: str) -> dict[str, int]:
    """Hidden characters of a text by class, wherever they stand; TAB and LF are not hidden."""
    return counted(character for run in _hidden_run().findall(text) for character in run)


def decode_hidden(text: str) -> str:
    """What tag characters and variation selector bytes spell, for a person only (U4); empty when there are none."""
    spelled = []
    for character in text:
        code = ord(character)
        if 0xE0020 <= code <= 0xE007E:
            spelled.append(chr(code - 0xE0000))
        elif 0xE0100 <= code <= 0xE01EF and chr(code - 0xE0100 + 16).isprintable():
            spelled.append(chr(code - 0xE0100 + 16))
    return "".join(spelled)
