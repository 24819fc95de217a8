"""Untrusted text as lines that can never pass for ours (V4, V5): each begins with a gutter, none is cut, none wraps by itself.

Owns gutters and widths. Our own lines never start with a gutter character; every line of a block does.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping

from runner.model import Json
from runner.render.text import show_inline, show_lines

GUTTER = "│ "
#: Goes on where the line before was too wide; it is not a newline of the text.
CONTINUED = "┊ "
_NARROWEST = 8


def width_of(text: str) -> int:
    """Terminal columns `text` can take at most: a terminal may draw ambiguous characters wide and marks apart (A26)."""
    if text.isascii():
        return len(text)
    # Flags and pictographs are narrow by their property, and two columns wide on many terminals.
    return sum(2 if char >= "\U0001f000" or unicodedata.east_asian_width(char) in "WFA" else 1 for char in text)


def show_block(text: str, *, width: int | None = None) -> list[str]:
    """`text` behind the gutter, one display line each.

    Args:
        text: What was received.
        width: Columns of the screen; a longer line goes on behind `CONTINUED`. None: lines are as long as they are.
    """
    return [piece for line in show_lines(text) for piece in _folded(line, first=GUTTER, width=width)]


def show_fields(fields: Mapping[str, Json], *, width: int | None = None) -> list[str]:
    """A tool's exact input, a field at a time: our line names field and kind, the gutter holds the value (V2, A29, A30).

    A name is the model's too, so the head line begins with a word of ours. Text is shown as text, anything else as JSON,
    each with its number of characters.
    """
    lines: list[str] = []
    for name, value in fields.items():
        kind, text = _kind(value)
        lines.extend(_folded(f"field {show_inline(name)}: {kind}", first="", width=width))
        lines.extend(show_block(text, width=width))
    return lines


def _folded(line: str, *, first: str, width: int | None) -> list[str]:
    """A display line in pieces that fit, `first` before it and the mark of a continuation before the rest."""
    head, *rest = [line] if width is None else _fold(line, max(width - width_of(GUTTER), _NARROWEST))
    return [first + head, *(CONTINUED + piece for piece in rest)]


def _kind(value: Json) -> tuple[str, str]:
    if isinstance(value, str):
        return f"text, {_counted(len(value), 'character')}", value
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return f"JSON, {_counted(len(text), 'character')}", text


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _fold(line: str, room: int) -> Iterable[str]:
    """Pieces of at most `room` columns; none ends in a blank or starts with a mark: no blank is lost at the edge."""
    start = 0
    while True:
        end, used = start, 0
        while end < len(line) and used + width_of(line[end]) <= room:
            used += width_of(line[end])
            end += 1
        if end == len(line):
            yield line[start:]
            return
        edge = end
        while edge - 1 > start and (line[edge - 1] == " " or unicodedata.category(line[edge])[0] == "M"):
            edge -= 1
        yield line[start:edge]
        start = edge
