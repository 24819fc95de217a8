"""Lines of a full-screen surface: what a terminal command would say, as styled text that whoever draws it only has to place.

Owns folding of our own lines: none is wider than the sheet, even where a terminal draws ambiguous characters wide (A26).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rich.text import Text

from runner.render.block import CONTINUED, width_of
from runner.render.screen import Part, assemble

#: One line that only `render` makes, for whoever places it on a screen.
Line: TypeAlias = Text

#: A fold goes to a blank this near, so that words stay whole.
_WORD = 24


class Sheet:
    """Collects what `say` and `lines` show, as `Screen` would; nothing reaches a terminal from here.

    Args:
        width: Columns; no line is wider.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.drawn: list[Text] = []

    def say(self, *parts: Part) -> None:
        """One line of ours; what is too wide goes on behind `CONTINUED`, so that no data can start a line of ours (V5)."""
        text = assemble(parts)
        for number, piece in enumerate(text.divide(_folds(text.plain, self.width))):
            self.drawn.append(piece if number == 0 else Text(CONTINUED, style="dim") + piece)

    def lines(self, lines: Sequence[str], *, style: str = "") -> None:
        """Lines that `runner.render` has already made."""
        self.drawn += [Text(line, style=style) for line in lines]


def line(*parts: Part, width: int, style: str = "") -> Text:
    """One line of ours that never goes on: what does not fit is left out, and the last column says so."""
    text = assemble(parts)
    kept, used = 0, 0
    for char in text.plain:
        used += width_of(char)
        if used > width:
            break
        kept += 1
    if kept < len(text.plain):
        while kept > 0 and width_of(text.plain[:kept]) > width - 1:
            kept -= 1
        text = text[:kept] + Text(">", style="dim")
    if style:
        text.stylize(style)
    return text


def _folds(plain: str, width: int) -> list[int]:
    """Places at which a line is broken."""
    found: list[int] = []
    start, room = 0, width
    while True:
        end, used = start, 0
        while end < len(plain) and used + width_of(plain[end]) <= room:
            used += width_of(plain[end])
            end += 1
        if end == len(plain) or end == start:
            return found
        blank = plain.rfind(" ", max(end - _WORD, start + 1), end)
        start = blank + 1 if blank > 0 else end
        found.append(start)
        room = width - width_of(CONTINUED)
