"""Reading a fenced prompt back, independently of the code that made it (F5).

Shares no helper, pattern or table with the escape, so that one mistake does not hide the other.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: An attribute is a supervisor-made value: nothing in it can end the value or the tag (F8).
_ATTRIBUTE = r'[a-z]+="[^"<>&\\\n]*"'
_OPENER = re.compile(rf"<untrusted((?: {_ATTRIBUTE})+)>")
_LABEL = re.compile(r"[a-z]+(?: [0-9]+)?")


class Block(NamedTuple):
    """The one block of a prompt: its attributes and its fields, text unescaped."""

    attributes: tuple[tuple[str, str], ...]
    fields: tuple[tuple[str, str], ...]


class Parsed(NamedTuple):
    """A prompt taken apart."""

    before: str
    block: Block
    after: str


def parse(prompt: str) -> Parsed:
    """Take a prompt apart; it holds exactly one block.

    Raises:
        ValueError: It does not, or a line of it is none the fence writes.
    """
    folded = prompt.casefold()
    if folded.count("<untrusted") != 1 or folded.count("</untrusted") != 1:
        raise ValueError("not exactly one block")
    before, _, rest = prompt.partition("<untrusted")
    head, _, rest = rest.partition("\n")
    opener = _OPENER.fullmatch("<untrusted" + head)
    if opener is None:
        raise ValueError("the opening marker is malformed")
    attributes = tuple((name, value) for name, value in re.findall(r'([a-z]+)="([^"]*)"', opener.group(1)))
    names = [name for name, _ in attributes]
    if len(set(names)) != len(names) or names[-1] != "fence":
        raise ValueError("the opening marker's attributes are wrong")
    body, closed, after = ("\n" + rest).partition(f'\n</untrusted fence="{attributes[-1][1]}">')
    if not closed or (after and after[0] != "\n"):
        raise ValueError("the block is not closed by its own marker on a line of its own")
    return Parsed(before, Block(attributes, _fields(body[1:])), after)


def _fields(body: str) -> tuple[tuple[str, str], ...]:
    if any(character in body for character in "<>\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"):
        raise ValueError("the body holds a bracket or a foreign line end")
    found: list[tuple[str, list[str]]] = []
    for line in body.split("\n") if body else []:
        if line[:2] != "│ ":
            raise ValueError("a line of the body has no gutter")
        if line[2:4] == "| " and found:
            found[-1][1].append(line[4:])
            continue
        label, colon, value = line[2:].partition(": ")
        if not colon or _LABEL.fullmatch(label) is None:
            raise ValueError("a line of the body has no label")
        found.append((label, [value]))
    return tuple((label, _plain("\n".join(lines))) for label, lines in found)


def _plain(text: str) -> str:
    """The text that was escaped, read piece by piece from one special character to the next."""
    pieces, at = [], 0
    for special in re.finditer(r"[&\\]", text):
        start = special.start()
        if start < at:
            continue
        character, end = _one(text, start)
        pieces += [text[at:start], character]
        at = end
    return "".join([*pieces, text[at:]])


def _one(text: str, start: int) -> tuple[str, int]:
    for written, meant in (("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("\\\\", "\\")):
        if text.startswith(written, start):
            return meant, start + len(written)
    end = text.find("}", start, start + 10)
    if text.startswith("\\u{", start) and end > 0:
        return chr(int(text[start + 3 : end], 16)), end + 1
    raise ValueError("the body holds half an escape")
