"""Which names of the agent's directory go into its snapshot: `read` selects, `hide` takes out.

Pure: gitignore patterns over names. Doubt leaves a file out: `hide` and every exclusion also hold for other spellings of case
(cases 14, 41, 110), and nothing beneath a hidden directory comes back.
"""

from __future__ import annotations

from collections.abc import Sequence

from pathspec import GitIgnoreSpec, PathSpec
from pathspec.pattern import Pattern
from pathspec.patterns.gitignore import GitIgnorePatternError

from runner.errors import SnapshotError

Parts = tuple[str, ...]


class Selection:
    """Compiled `read` and `hide`.

    Raises:
        SnapshotError: A pattern that means nothing; half a `hide` list would show what the rest of it hides.
    """

    def __init__(self, *, read: Sequence[str], hide: Sequence[str]) -> None:
        # `read` is plain last-match-wins, so that `!vault/` takes back all of vault; of `hide`, git's own reading, which
        # lets fewer files back in.
        self._read = (_last_match(read), _last_match([pattern.casefold() for pattern in read]))
        self._hide = (_as_git(hide), _as_git([pattern.casefold() for pattern in hide]))

    def hides(self, parts: Parts, *, directory: bool) -> bool:
        """Whether a name is hidden, whatever its case; a hidden directory is never entered."""
        name = "/".join(parts) + ("/" if directory else "")
        exact, folded = self._hide
        return exact.match_file(name) or folded.match_file(name.casefold())

    def reads(self, parts: Parts) -> bool:
        """Whether a file is selected, both as spelled and with case folded, so that `!*.key` also leaves `X.KEY` out."""
        name = "/".join(parts)
        exact, folded = self._read
        return exact.match_file(name) and folded.match_file(name.casefold())

    def reads_directory(self, parts: Parts) -> bool:
        """Whether a directory is selected for itself, so that it is there though it be empty."""
        name = "/".join(parts) + "/"
        exact, folded = self._read
        return exact.match_file(name) and folded.match_file(name.casefold())


def _last_match(patterns: Sequence[str]) -> PathSpec[Pattern]:
    try:
        return PathSpec.from_lines("gitignore", patterns)
    except (GitIgnorePatternError, ValueError, TypeError) as error:
        raise _unusable("read", error) from None


def _as_git(patterns: Sequence[str]) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except (GitIgnorePatternError, ValueError, TypeError) as error:
        raise _unusable("hide", error) from None


def _unusable(key: str, error: Exception) -> SnapshotError:
    return SnapshotError(
        f"cannot use the patterns of `{key}`: {error}", resolution="write them as in a .gitignore file, one pattern an item"
    )
