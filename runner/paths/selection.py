"""Which files of cwd the snapshot leaves out: the profile's `read` and `hide`, both gitignore patterns (cli.md)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

from pathspec import GitIgnoreSpec


class Omission(Enum):
    """Why a file is not in the snapshot."""

    HIDDEN = "hidden"  #: `hide` names it
    NOT_SELECTED = "not_selected"  #: `read` does not


def omission(parts: tuple[str, ...], *, read: Sequence[str], hide: Sequence[str], directory: bool = False) -> Omission | None:
    """Why the entry at `parts` is left out, or None when it is copied.

    A directory is only ever HIDDEN: what `read` leaves out of it is left out file by file.

    Args:
        parts: Names beneath cwd.
        read: What is copied.
        hide: What is left out of that.
        directory: Whether the entry is, or may be, a directory.

    Raises:
        ValueError: A pattern is no gitignore pattern; loading a profile refuses such.
    """
    if not parts:
        return None
    text = "/".join(parts)
    hidden = spec(tuple(hide))
    if hidden.match_file(text) or (directory and hidden.match_file(text + "/")):
        return Omission.HIDDEN
    if not directory and not spec(tuple(read)).match_file(text):
        return Omission.NOT_SELECTED
    return None


@lru_cache(maxsize=256)
def spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    """Compiled gitignore patterns.

    Raises:
        ValueError: One is no gitignore pattern.
    """
    return GitIgnoreSpec.from_lines(patterns)
