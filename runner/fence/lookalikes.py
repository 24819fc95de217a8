"""Words that look like other words: which scripts one mixes, and what plain ASCII it would be read as (V6, V10, U3). Pure.

It warns and never repairs. Whether two whole names look alike is `skeleton`'s to say.
"""

from __future__ import annotations

import re
import unicodedata

from runner.fence.skeleton import skeleton

#: Signs that are drawn like one of a path's or a host's own.
_SIGNS = {
    "\u2044": "/",
    "\u2215": "/",
    "\u29f8": "/",
    "\u2024": ".",
    "\u2010": "-",
    "\u2011": "-",
    "\u2212": "-",
    "\u2236": ":",
}
#: East Asian writing mixes these, and none of them is taken for a Latin letter.
_TOGETHER = {"HIRAGANA": "HAN", "KATAKANA": "HAN", "KATAKANA-HIRAGANA": "HAN", "CJK": "HAN", "HANGUL": "HAN"}
_WORD = re.compile(r"[^\W\d_]+(?:[\d_-]*[^\W\d_]+)*")


def scripts(word: str) -> tuple[str, ...]:
    """The scripts of a word's letters, in order of appearance."""
    found: dict[str, None] = {}
    for char in word:
        if char.isalpha():
            name = unicodedata.name(char, "UNKNOWN").split()[0]
            found[_TOGETHER.get(name, name).capitalize()] = None
    return tuple(found)


def mixed(text: str) -> tuple[str, ...]:
    """The words of `text` that are written in several scripts."""
    if text.isascii():
        return ()
    return tuple(word for word in _WORD.findall(text) if len({*scripts(word)} - {"Han"}) > 1)


def passes_for_ascii(text: str) -> str | None:
    """The plain ASCII that `text` would be read as though it is written otherwise; None where nobody would.

    An accent is no disguise: only letters of another script, of another form, and signs count.
    """
    if text.isascii():
        return None
    read = [char if char.isascii() else _read_as(char) for char in text]
    return None if None in read else "".join(char for char in read if char is not None)


def _read_as(char: str) -> str | None:
    if char in _SIGNS:
        return _SIGNS[char]
    if scripts(char) == ("Latin",):
        return None
    seen = skeleton(char)
    return seen if seen and seen.isascii() else None
