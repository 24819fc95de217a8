r"""Injective display of text nobody vouches for (V2): what is shown can be read back to exactly what was received.

Owns the escape. Every character that a terminal could act on, hide or reorder by appears as `\u{hex}`; a backslash is doubled;
long blanks are counted. Pure; never styles, never prints.
"""

# ruff: noqa: RUF001, RUF003 - the multiplication sign is the mark of a count, chosen because no escape uses it

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby

#: Runs of at least this many blanks, newlines or escaped characters are counted instead of drawn (V4).
RUN = 4
#: Combining marks one base may carry before the rest are escaped: enough for every living script, too few for a tower.
MARKS = 4

BLANK = "␣"  #: stands for one blank; `␣×9␣` for nine
BREAK = "⏎"  #: `⏎×9⏎` stands for nine newlines
CUT, CUT_END = "⟪", "⟫"  #: `⟪+9⟫` ends a bounded cell: nine characters more were received

_OURS = frozenset((BLANK, BREAK, CUT, CUT_END))
#: Drawn as nothing though Unicode calls them printable letters, marks or symbols; and enclosing marks, at which some
#: emulators stop drawing the rest of a line.
_INVISIBLE = re.compile(
    "[\u0488\u0489\u1abe\u20dd-\u20e0\u20e2-\u20e4\ua670-\ua672\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\ufffc\U0001d159\U000e0100-\U000e01ef]"
)
#: Where even a text of printable characters needs care.
_CARE = re.compile(f"[\\\\{''.join(sorted(_OURS))}]| {{{RUN},}}| $")


@lru_cache(maxsize=4096)
def _hidden(char: str) -> bool:
    """Whether a character must never reach a screen as itself. `isprintable` refuses all of C*, Zl, Zp and Zs but the blank."""
    return not char.isprintable() or char in _OURS or _INVISIBLE.match(char) is not None


@lru_cache(maxsize=4096)
def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def show_text(text: str) -> str:
    r"""One line of printable characters from which `text` can be read back; a newline appears as `\u{a}`."""
    return _escape(text, newline=None)


def show_inline(text: str, *, limit: int | None = None) -> str:
    """`show_text` for a table cell or a sentence, bounded.

    Args:
        text: What was received.
        limit: Characters of `text` to show; what is cut is counted in a mark no text can forge. None: all of it.
    """
    if limit is None or len(text) <= limit:
        return show_text(text)
    return f"{show_text(text[:limit])}{CUT}+{len(text) - limit}{CUT_END}"


def show_lines(text: str) -> list[str]:
    """`text` as display lines, a newline ending each; four newlines or more are counted at the end of the line they follow."""
    return _escape(text, newline="\n").split("\n")


def _escape(text: str, *, newline: str | None) -> str:
    if text.isascii() and text.isprintable() and _CARE.search(text) is None:
        return text
    shown: list[str] = []
    marks = MARKS  # how many marks the character before has taken; a full load means there is nothing to stand on
    position = 0
    for char, group in groupby(text):
        count = sum(1 for _ in group)
        position += count
        if char == "\n" and newline is not None:
            shown.append(newline * count if count < RUN else f"{BREAK}×{count}{BREAK}{newline}")
            marks = MARKS
        elif char == " ":
            last = position == len(text) or (newline is not None and text[position] == "\n")
            shown.append(_blanks(count, last=last))
            marks = MARKS
        elif _is_mark(char) and not _hidden(char):
            fits = min(count, MARKS - marks)
            shown.append(char * fits + _escaped(char, count - fits))
            marks += fits
        else:
            shown.append(_plain(char, count))
            marks = MARKS if _hidden(char) or char == "\\" else 0
    return "".join(shown)


def _blanks(count: int, *, last: bool) -> str:
    """Blanks as themselves where they can be seen between two words, else by number: none is lost at the end of a line."""
    if last and count == 1:
        return BLANK
    return f"{BLANK}×{count}{BLANK}" if last or count >= RUN else " " * count


def _plain(char: str, count: int) -> str:
    if char == "\\":
        return "\\\\" * count
    return _escaped(char, count) if _hidden(char) else char * count


def _escaped(char: str, count: int) -> str:
    code = f"{ord(char):x}"
    return f"\\u{{{code}×{count}}}" if count >= RUN else f"\\u{{{code}}}" * count
