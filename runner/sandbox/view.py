"""A live snapshot, looked at and kept up to date from the host.

Owns the answers `paths` needs about the container's view, and the one way a brokered effect shows in it: by a rename, so
that the agent sees the old bytes or the new ones. Nothing here follows a link.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from runner.errors import SnapshotError
from runner.paths import EntryKind
from runner.sandbox.beneath import Beneath, Parts


class SnapshotView:
    """What stands where in a snapshot; implements the directory-reading protocol of `paths`.

    Every method raises OSError on trouble, and trouble is a denial.
    """

    def __init__(self, beneath: Beneath) -> None:
        """Look beneath an open handle, which stays the caller's to close."""
        self._beneath = beneath

    def kind(self, parts: Parts) -> EntryKind:
        """What stands there, a link not followed."""
        try:
            mode = self._beneath.stat(parts).st_mode
        except FileNotFoundError:
            return EntryKind.ABSENT
        kinds = {stat.S_IFREG: EntryKind.FILE, stat.S_IFDIR: EntryKind.DIRECTORY, stat.S_IFLNK: EntryKind.LINK}
        return kinds.get(stat.S_IFMT(mode), EntryKind.SPECIAL)

    def link_target(self, parts: Parts) -> str:
        """A link's target as it is written."""
        return self._beneath.readlink(parts)

    def hard_links(self, parts: Parts) -> int:
        """How many names a file has."""
        return self._beneath.stat(parts).st_nlink

    def size(self, parts: Parts) -> int:
        """A file's bytes."""
        return self._beneath.stat(parts).st_size


def apply_bytes(destination: Path, parts: Parts, data: bytes) -> None:
    """Show a file that the broker wrote; missing directories are made, who may execute it stays as it was.

    Raises:
        SnapshotError: It cannot be put in place; then the snapshot is as it was.
    """
    try:
        with Beneath.open(destination) as beneath:
            _make(beneath, parts[:-1])
            beneath.write_atomic(parts, data, mode=_mode(beneath, parts), owner=None)
    except OSError as error:
        raise _trouble(parts, error) from error


def apply_directory(destination: Path, parts: Parts) -> None:
    """Show a directory that the broker made, and those above it.

    Raises:
        SnapshotError: It cannot be made, or something else has the name.
    """
    try:
        with Beneath.open(destination) as beneath:
            _make(beneath, parts)
    except OSError as error:
        raise _trouble(parts, error) from error


def apply_removal(destination: Path, parts: Parts) -> None:
    """Show that a file or an empty directory is gone; what is not there needs no showing.

    Raises:
        SnapshotError: It cannot be taken away.
    """
    try:
        with Beneath.open(destination) as beneath:
            beneath.remove(parts)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _trouble(parts, error) from error


def holds_anything(folder: Path) -> bool:
    """Whether something lies in a directory; one that cannot be looked at counts as full (C9)."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _make(beneath: Beneath, parts: Parts) -> None:
    for depth in range(1, len(parts) + 1):
        try:
            beneath.make_directory(parts[:depth], mode=0o755, owner=None)
        except FileExistsError:
            if not stat.S_ISDIR(beneath.stat(parts[:depth]).st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), parts[depth - 1]) from None


def _mode(beneath: Beneath, parts: Parts) -> int:
    try:
        facts = beneath.stat(parts)
    except FileNotFoundError:
        return 0o444
    return 0o555 if stat.S_ISREG(facts.st_mode) and facts.st_mode & 0o111 else 0o444


def _trouble(parts: Parts, error: OSError) -> SnapshotError:
    return SnapshotError(f"cannot update the snapshot: {error.strerror or error}", details="/".join(parts)[:500])
