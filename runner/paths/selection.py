"""Which files of cwd the snapshot leaves out: the profile's `read` and `hide`, both gitignore patterns (cli.md).

Pure: patterns over names. The snapshot is made by these rules; the gate, `explain` and `profile check` say by them what it
would show. Doubt leaves a file out: `hide` and every exclusion hold for other spellings of case too (cases 14, 41, 110), and
nothing beneath a hidden directory comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import Enum
from functools import lru_cache

from pathspec import GitIgnoreSpec, PathSpec
from pathspec.pattern import Pattern


class Omission(Enum):
    """Why a file is not in the snapshot."""

    HIDDEN = "hidden"  #: `hide` names it, or a directory above it
    NOT_SELECTED = "not_selected"  #: `read` does not


class Selection:
    """Compiled `read` and `hide`, asked name by name as a walk meets them.

    Raises:
        ValueError: A pattern is no gitignore pattern; half a `hide` list would show what the rest of it hides. The message
            starts with the list's name.
    """

    def __init__(self, *, read: Sequence[str], hide: Sequence[str], without: Collection[tuple[str, ...]] = frozenset()) -> None:
        # `read` is plain last-match-wins, so that `!vault/` takes back all of vault; of `hide`, git's own reading, which
        # lets fewer files back in.
        self._read = _compiled("read", read, lambda patterns: PathSpec.from_lines("gitignore", patterns))
        self._hide = _compiled("hide", hide, GitIgnoreSpec.from_lines)
        self._without = frozenset(without)  #: single entries that are hidden besides, exactly as spelled

    def hides(self, parts: tuple[str, ...], *, directory: bool) -> bool:
        """Whether the name itself is hidden, whatever its case; a hidden directory is never entered."""
        name = "/".join(parts) + ("/" if directory else "")
        exact, folded = self._hide
        return parts in self._without or exact.match_file(name) or folded.match_file(name.casefold())

    def reads(self, parts: tuple[str, ...], *, directory: bool = False) -> bool:
        """Whether a name is selected, both as spelled and with case folded, so that `!*.key` also leaves `X.KEY` out."""
        name = "/".join(parts) + ("/" if directory else "")
        exact, folded = self._read
        return exact.match_file(name) and folded.match_file(name.casefold())

    def omits(self, parts: tuple[str, ...], *, directory: bool = False) -> Omission | None:
        """Why the entry at `parts` is left out, or None when it is copied.

        A directory is only ever HIDDEN: what `read` leaves out of it is left out file by file.

        Args:
            parts: Names beneath cwd.
            directory: Whether the entry is, or may be, a directory.
        """
        if not parts:
            return None
        above = any(self.hides(parts[:depth], directory=True) for depth in range(1, len(parts)))
        if above or self.hides(parts, directory=False) or (directory and self.hides(parts, directory=True)):
            return Omission.HIDDEN
        return None if directory or self.reads(parts) else Omission.NOT_SELECTED


def omission(parts: tuple[str, ...], *, read: Sequence[str], hide: Sequence[str], directory: bool = False) -> Omission | None:
    """`Selection.omits` of a selection that is compiled once.

    Raises:
        ValueError: A pattern is no gitignore pattern; loading a profile refuses such.
    """
    return _selection(tuple(read), tuple(hide)).omits(parts, directory=directory)


@lru_cache(maxsize=256)
def spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    """Compiled gitignore patterns, as git reads them.

    Raises:
        ValueError: One is no gitignore pattern.
    """
    return GitIgnoreSpec.from_lines(patterns)


@lru_cache(maxsize=256)
def _selection(read: tuple[str, ...], hide: tuple[str, ...]) -> Selection:
    return Selection(read=read, hide=hide)


def _compiled(
    key: str, patterns: Sequence[str], compiler: Callable[[Sequence[str]], PathSpec[Pattern]]
) -> tuple[PathSpec[Pattern], PathSpec[Pattern]]:
    """The patterns as they are written, and with case folded."""
    try:
        return compiler(patterns), compiler([pattern.casefold() for pattern in patterns])
    except (ValueError, TypeError) as error:
        raise ValueError(f"`{key}`: {error}") from error
