"""Glob patterns as arguments: refused when any reading of them could name something outside the workspace (cases 37-39).

A search tool walks real entries and never meets `..`, so only what a pattern spells out can lead away: an absolute start, a
parent, a home directory, and everything that spells these less openly (braces, classes, escapes, lists).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from runner.model import WORKSPACE
from runner.paths.text import check_characters, check_expanding
from runner.paths.view import PathRefusal

#: Longer patterns, and more alternatives, are not looked through: the work must stay small whatever the model writes.
MAX_PATTERN = 1024
MAX_READINGS = 256

_OUTSIDE = PathRefusal(rule="pattern_outside", reason="The pattern could match outside the workspace.")
_TOO_WIDE = PathRefusal(
    rule="pattern_unchecked", reason="The pattern is longer, or has more alternatives, than can be checked."
)

_GROUP = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(.)\.\.(.)(?:\.\.-?\d+)?", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_EXTENDED = re.compile(r"[@+?*!]\(([^()]*)\)")
_WILD = re.compile(r"[*?\[{(]")


def check_pattern(text: str) -> PathRefusal | None:
    """Refuse a Glob pattern or a Grep glob that is not provably confined; None when it is."""
    refusal = check_characters(text)
    if refusal is not None:
        return refusal
    if len(text) > MAX_PATTERN:
        return _TOO_WIDE
    readings = 0
    for spelling in _spellings(text):
        for reading in _alternatives(spelling):
            readings += 1
            refusal = _TOO_WIDE if readings > MAX_READINGS else _judge(reading)
            if refusal is not None:
                return refusal
    return None


def pattern_base(text: str) -> str:
    """The leading directories that a pattern names without a wildcard; a search may start there, following links."""
    names: list[str] = []
    for name in text.split("/"):
        if _WILD.search(name):
            break
        names.append(name)
    return "/".join(names) or ("/" if text.startswith("/") else "")


def _spellings(text: str) -> Iterator[str]:
    """The text, without its escapes, and each part of it that a reader of lists would see."""
    for spelling in dict.fromkeys((text, _ESCAPE.sub(r"\1", text))):
        yield from dict.fromkeys((spelling, *filter(None, re.split(r"[\s,]+", spelling))))


def _alternatives(text: str) -> Iterator[str]:
    """Every text that braces make, the innermost first. A group that is no list is also read as its content."""
    todo = [text]
    while todo:
        current = todo.pop()
        group = _GROUP.search(current)
        if group is None:
            yield current
            continue
        for choice in _choices(group.group(1)):
            todo.append(current[: group.start()] + choice + current[group.end() :])


def _choices(content: str) -> list[str]:
    span = _RANGE.fullmatch(content)
    if span is None:
        return content.split(",")
    # A range between other signs passes through `.` and `/`: read as a parent, which is refused.
    return [span.group(1), span.group(2)] if (span.group(1) + span.group(2)).isalnum() else ["/../"]


def _judge(reading: str) -> PathRefusal | None:
    plain = reading.lstrip("!")
    refusal = check_expanding(plain)
    if refusal is not None:
        return refusal
    names = [name for name in plain.split("/") if name not in ("", ".")]
    if plain.startswith("/") and names[:1] != [WORKSPACE.name]:
        return _OUTSIDE
    if _class_holds_slash(plain) or any(_is_parent(name) for name in names):
        return _OUTSIDE
    return _OUTSIDE if any(_extended_leaves(group) for group in _EXTENDED.findall(plain)) else None


def _is_parent(name: str) -> bool:
    """Whether a name without wildcards of open length can be `..`: itself, or spelled in classes."""
    return "*" not in name and "?" not in name and fnmatchcase("..", name.replace("[^", "[!"))


def _class_holds_slash(text: str) -> bool:
    """Whether a bracket class lists a slash; one that excludes it (`[!/]`) is harmless."""
    start = text.find("[")
    while start != -1:
        end = text.find("]", start + 2)  # a class may begin with its own closing bracket
        if end == -1:
            return False
        if "/" in text[start + 1 : end] and text[start + 1] not in "!^":
            return True
        start = text.find("[", end)
    return False


def _extended_leaves(group: str) -> bool:
    return "/" in group or any(choice.strip(".") == "" for choice in group.split("|"))
