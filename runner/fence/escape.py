r"""The fence's escape: total, injective, and readable where text is plain (F2, F3, U1, U3). Pure.

`&` `<` `>` become entities, `\` is doubled, what a reader cannot see becomes `\u{HEX}`. Nothing is dropped or normalised, so
`unescape(escape(s)) == s` for every str, lone surrogates included.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from runner.fence import table
from runner.fence.classes import counted, one_of

#: More marks than this on one letter draw over their neighbours (U1).
MAX_MARKS = 4

_PICTOGRAPH = one_of(table.PICTOGRAPHS)
_TONE = "[\U0001f3fb-\U0001f3ff]"
_JOINING = one_of(table.JOINING)
_MARK = one_of(table.MARKS)
_SELECTOR = "[\ufe0e\ufe0f]"

#: A joiner or selector that belongs to the spelling stays as it is: one selector after a pictograph or within a keycap, a
#: joiner between pictographs, a joiner between letters of scripts that need one.
_KEPT = (
    f"(?<={_PICTOGRAPH}){_SELECTOR}|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    f"|\u200d(?:(?<={_PICTOGRAPH}\u200d)|(?<={_TONE}\u200d)|(?<={_PICTOGRAPH}\ufe0f\u200d))(?={_PICTOGRAPH})"
    f"|[\u200c\u200d](?<={_JOINING}[\u200c\u200d])(?={_JOINING})"
)
_TOKEN = re.compile(
    f"(?P<html>[&<>\\\\]+)|(?P<kept>(?=[\u200c\u200d\ufe0e\ufe0f])(?:{_KEPT}))|(?P<hidden>{one_of(table.HIDDEN)})"
    f"|(?P<stacked>{_MARK}(?<={_MARK * (MAX_MARKS + 1)}))",
)
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\\": "\\\\"}
_BACK = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "\\\\": "\\"}
_ESCAPED = re.compile(r"&(?:amp|lt|gt);|\\\\|\\u\{(10[0-9A-F]{4}|[0-9A-F]{1,5})\}")

_BRACKET = one_of(table.LIKE_OPEN, table.LIKE_CLOSE)
_BLANK = "[ \t\n\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
#: What may stand between the letters of a fake tag without a reader seeing it, and between them and its bracket.
_UNSEEN = f"(?:{one_of(table.HIDDEN)}|{_MARK}){{0,6}}"
#: The four classes share no character: one that fits two ways would let a sender make the search take exponential time.
_GAP = f"(?:{one_of(table.HIDDEN)}|{_MARK}|{_BLANK}|{one_of(table.LIKE_SLASH)}){{0,12}}"
_WORD = _UNSEEN.join(one_of(getattr(table, f"LIKE_{letter}")) for letter in "UNTRUSTED")
_SPOOF = re.compile(f"{_BRACKET}{_GAP}{_WORD}{_UNSEEN}{_BRACKET}?|{_WORD}{_GAP}{_BRACKET}|{_BRACKET}{_UNSEEN}[│┃]")


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

    pieces, done = [], 0
    for spoof in _SPOOF.finditer(text):
        spoofs += 1
        pieces += [_TOKEN.sub(token, text[done : spoof.start()]), _spelled(spoof.group(), hidden)]
        done = spoof.end()
    pieces.append(_TOKEN.sub(token, text[done:]))
    counts = counted(hidden.elements())
    counts.update({name: count for name, count in (("combining", stacked), ("spoof", spoofs)) if count})
    return Escaped("".join(pieces), counts)


def _spelled(text: str, hidden: Counter[str]) -> str:
    """An imitated marker with everything but plain ASCII spelled out, so that only the real one looks like one."""
    hidden.update(character for character in text if _IS_HIDDEN.match(character))
    return "".join([_HTML.get(character) or _plain(character) for character in text])


_IS_HIDDEN = re.compile(one_of(table.HIDDEN))


def _plain(character: str) -> str:
    return character if character in "\t\n" or " " <= character <= "~" else f"\\u{{{ord(character):X}}}"


def _back(found: re.Match[str]) -> str:
    code = found.group(1)
    return chr(int(code, 16)) if code else _BACK[found.group()]
