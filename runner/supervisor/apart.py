"""What a contact's run must not find in its agent's directory: what effects of somebody else's runs put there (invariant 10).

A file is theirs while its bytes are those that were written; once the owner has changed it, it is the owner's (R57).
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runner.digest import digest_bytes
from runner.model import WORKSPACE, SenderKind
from runner.sandbox.beneath import Beneath
from runner.sandbox.snapshot import directory_of
from runner.store import Connection, RunRow, written
from runner.store.written import WrittenRow

Parts = tuple[str, ...]
#: Largest file that is compared: more than any effect writes.
_MAX_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """`files` and `folders` as effects of others left them."""

    files: tuple[WrittenRow, ...] = ()
    folders: tuple[str, ...] = ()

    def files_in(self, cwd: Path) -> frozenset[Parts]:
        """Those that still lie there as they were written; of what cannot be read it is not known. Blocking; for a thread.

        Raises:
            SnapshotError: The directory cannot be opened.
        """
        if not self.files:
            return frozenset()
        with directory_of(cwd) as beneath:
            return frozenset(_parts(row.path) for row in self.files if _is_theirs(beneath, row))

    def tidy(self, snapshot: Path, without: Collection[Parts]) -> None:
        """Take out folders in which nothing is left: their names are theirs too. Blocking; for a thread."""
        above = {parts[:depth] for parts in without for depth in range(1, len(parts))}
        for parts in sorted(above | {_parts(path) for path in self.folders}, key=len, reverse=True):
            with suppress(OSError):  # there is something else in it, or it is not there
                snapshot.joinpath(*parts).rmdir()


NOTHING = Apart()


def of_others(conn: Connection, run: RunRow) -> Apart:
    """What is not for a run; nothing where the owner sent the capture."""
    if run.sender.kind is SenderKind.OWNER:
        return NOTHING
    return Apart(files=written.of_others(conn, run), folders=written.folders_of_others(conn, run))


def _parts(path: str) -> Parts:
    return PurePosixPath(path).relative_to(WORKSPACE).parts


def _is_theirs(beneath: Beneath, row: WrittenRow) -> bool:
    try:
        return digest_bytes(beneath.read_bytes(_parts(row.path), limit=_MAX_BYTES)) == row.post_image
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
