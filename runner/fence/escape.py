r"""The fence's escape: total, injective, and readable where text is plain (F2, F3, U1, U3). Pure.

`&` `<` `>` become entities, `\` is doubled, what a reader cannot see becomes `\u{HEX}`. Nothing is dropped or normalised, so
`unescape(escape(s)) == s` for every str, lone surrogates included.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import NamedTuple

from runner.fence import table
from runner.fence.classes import counted, is_hidden, one_of

#: More marks than this on one letter draw over their neighbours (U1).
MAX_MARKS = 4

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\\": "\\\\"}
_BACK = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "\\\\": "\\"}
_ESCAPED = re.compile(r"&(?:amp|lt|gt);|\\\\|\\u\{(10[0-9A-F]{4}|[0-9A-F]{1,5})\}")

_BLANK = "[ \t\n\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"


class Escaped(NamedTuple):
    """Escaped text and how many characters of each class were made visible; `spoof` counts imitations of a marker."""

    text: str
    counts: dict[str, int]


def escape(text: str) -> str:
    """`text` in a form that holds no `<`, no `>`, nothing hidden and no line end but LF."""
    return escape_counting(text).text


def escape_counting(text: str) -> Escaped:
    """As `escape`, with counts by class."""
    return _escape(text, keep_html=False)


def visible(text: str) -> Escaped:
    """The owner's own words: hidden characters and imitated markers are spelled out, all else stays as written.

    Not injective and not meant to be: it keeps a pasted invisible instruction or marker from working, nothing more.
    """
    return _escape(text, keep_html=True)


def unescape(text: str) -> str:
    """The text that `escape` was given."""
    return _ESCAPED.sub(_back, text)


# The patterns are made at the first text: compiling them takes longer than most commands, which have no text to escape.


@cache
def _tokens() -> re.Pattern[str]:
    """What is not plain, or must be kept.

    A joiner or selector that belongs to the spelling stays as it is: one selector after a pictograph or within a keycap, a
    joiner between pictographs, a joiner between letters of scripts that need one.
    """
    pictograph, joining, mark = one_of(table.PICTOGRAPHS), one_of(table.JOINING), one_of(table.MARKS)
    tone, selector = "[\U0001f3fb-\U0001f3ff]", "[\ufe0e\ufe0f]"
    kept = (
        f"(?<={pictograph}){selector}|(?<=[0-9#*])\ufe0f(?=\u20e3)"
        f"|\u200d(?:(?<={pictograph}\u200d)|(?<={tone}\u200d)|(?<={pictograph}\ufe0f\u200d))(?={pictograph})"
        f"|[\u200c\u200d](?<={joining}[\u200c\u200d])(?={joining})"
    )
    return re.compile(
        f"(?P<html>[&<>\\\\]+)|(?P<kept>(?=[\u200c\u200d\ufe0e\ufe0f])(?:{kept}))|(?P<hidden>{one_of(table.HIDDEN)})"
        f"|(?P<stacked>{mark}(?<={mark * (MAX_MARKS + 1)}))",
    )


@cache
def _spoofs() -> re.Pattern[str]:
    """What a reader could take for a marker of the fence."""
    hidden, mark, bracket = one_of(table.HIDDEN), one_of(table.MARKS), one_of(table.LIKE_OPEN, table.LIKE_CLOSE)
    # What may stand between the letters of a fake tag without a reader seeing it, and between them and its bracket.
    unseen = f"(?:{hidden}|{mark}){{0,6}}"
    # The four classes share no character: one that fits two ways would let a sender make the search take exponential time.
    gap = f"(?:{hidden}|{mark}|{_BLANK}|{one_of(table.LIKE_SLASH)}){{0,12}}"
    word = unseen.join(one_of(getattr(table, f"LIKE_{letter}")) for letter in "UNTRUSTED")
    return re.compile(f"{bracket}{gap}{word}{unseen}{bracket}?|{word}{gap}{bracket}|{bracket}{unseen}[│┃]")


def _escape(text: str, *, keep_html: bool) -> Escaped:
    hidden: Counter[str] = Counter()
    stacked = spoofs = 0

    def token(found: re.Match[str]) -> str:
        nonlocal stacked
        run = found.group()
        match found.lastgroup:
            case "html":
                return run if keep_html else "".join([_HTML[character] for character in run])
            case "kept":
                return run
            case "stacked":
                stacked += 1
            case _:
                hidden[run] += 1
        return f"\\u{{{ord(run):X}}}"

    tokens = _tokens()
    pieces, done = [], 0
    for spoof in _spoofs().finditer(text):
        spoofs += 1
        pieces += [tokens.sub(token, text[done : spoof.start()]), _spelled(spoof.group(), hidden)]
        done = spoof.end()
    pieces.append(tokens.sub(token, text[done:]))
    counts = counted(hidden.elements())
    counts.update({name: count for name, count in (("combining", stacked), ("spoof", spoofs)) if count})
    return Escaped("".join(pieces), counts)


def _spelled(text: str, hidden: Counter[str]) -> str:
    """An imitated marker with everything but plain ASCII spelled out, so that only the real one looks like one."""
    hidden.update(character for character in text if is_hidden(character))
    return "".join([_HTML.get(character) or _plain(character) for character in text])


def _plain(character: str) -> str:
    return character if character in "\t\n" or " " <= character <= "~" else f"\\u{{{ord(character):X}}}"


def _back(found: re.Match[str]) -> str:
    code = found.group(1)
    return chr(int(code, 16)) if code else _BACK[found.group()]
