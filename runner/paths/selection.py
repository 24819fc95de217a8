"""Which files of cwd the snapshot leaves out: the profile's `read` and `hide`, both gitignore patterns (cli.md).

Doubt leaves a file out: both hold for other spellings of case too (cases 14, 41), and nothing beneath a hidden directory
comes back. The snapshot is made by the same rules, so the gate and `explain` say what it would show.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

from pathspec import GitIgnoreSpec, PathSpec
from pathspec.pattern import Pattern


class Omission(Enum):
    """Why a file is not in the snapshot."""

    HIDDEN = "hidden"  #: `hide` names it, or a directory above it
    NOT_SELECTED = "not_selected"  #: `read` does not


def omission(parts: tuple[str, ...], *, read: Sequence[str], hide: Sequence[str], directory: bool = False) -> Omission | None:
    """Why the entry at `parts` is left out, or None when it is copied.

    A directory is only ever HIDDEN: what `read` leaves out of it is left out file by file.

    Args:
        parts: Names beneath cwd.
        read: What is copied; the last matching pattern wins, so `!vault/` takes back all of vault.
        hide: What is left out of that; git's own reading, which lets fewer files back in.
        directory: Whether the entry is, or may be, a directory.

    Raises:
        ValueError: A pattern is no gitignore pattern; loading a profile refuses such.
    """
    if not parts:
        return None
    name = "/".join(parts)
    above = [("/".join(parts[:depth]) + "/") for depth in range(1, len(parts))]
    spellings = [*above, name, *([name + "/"] if directory else [])]
    hidden, hidden_folded = spec(tuple(hide)), spec(_folded(hide))
    if any(hidden.match_file(text) or hidden_folded.match_file(text.casefold()) for text in spellings):
        return Omission.HIDDEN
    selected = _last_match(tuple(read)).match_file(name) and _last_match(_folded(read)).match_file(name.casefold())
    return None if directory or selected else Omission.NOT_SELECTED


@lru_cache(maxsize=256)
def spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    """Compiled gitignore patterns, as git reads them.

    Raises:
        ValueError: One is no gitignore pattern.
    """
    return GitIgnoreSpec.from_lines(patterns)


@lru_cache(maxsize=256)
def _last_match(patterns: tuple[str, ...]) -> PathSpec[Pattern]:
    return PathSpec.from_lines("gitignore", patterns)


def _folded(patterns: Sequence[str]) -> tuple[str, ...]:
    return tuple(pattern.casefold() for pattern in patterns)
