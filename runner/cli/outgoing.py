"""Files of the person's own, read once, to be handed to somebody: what was looked at is what leaves."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from runner.captures.sharing import MAX_BYTES, MAX_FILES, MAX_TOTAL, named
from runner.errors import UsageError


def read_files(paths: Sequence[Path]) -> list[tuple[str, bytes]]:
    """Name and bytes of each; of a path only its last part is a name.

    Raises:
        UsageError: One has a name that cannot be shared, is no regular file, is a link, is too large, or changed while it was
            read; or they are too many.
    """
    if len(paths) > MAX_FILES:
        raise UsageError(
            f"cannot share {len(paths)} files: at most {MAX_FILES} at once", resolution="pack them, or share twice"
        )
    found: list[tuple[str, bytes]] = []
    for path in paths:
        found.append((named(path.name), _read(path)))
        if sum(len(data) for _, data in found) > MAX_TOTAL:
            raise UsageError(f"cannot share: these are over {MAX_TOTAL // 2**20} MiB together", resolution="share twice")
    return found


def _read(path: Path) -> bytes:
    """The bytes of a file that is opened once: no link, nothing that waits for a writer, nothing that grows meanwhile."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        cause = "that is no path"
        if isinstance(error, OSError):
            cause = "it is a link" if path.is_symlink() else (error.strerror or "it cannot be opened")
        raise _refused(path, cause) from None
    try:
        return _whole(path, handle)
    except OSError as error:
        raise _refused(path, error.strerror or "it cannot be read") from None
    finally:
        os.close(handle)


def _whole(path: Path, handle: int) -> bytes:
    before = os.fstat(handle)
    if not stat.S_ISREG(before.st_mode):
        raise _refused(path, "it is no regular file")
    if before.st_size > MAX_BYTES:
        raise UsageError(
            f"cannot share {path}: it is over {MAX_BYTES // 2**20} MiB", resolution="pack it, or share a part of it"
        )
    data = bytearray()
    while len(data) <= before.st_size and (more := os.read(handle, before.st_size + 1 - len(data))):
        data += more
    after = os.fstat(handle)
    if len(data) != before.st_size or (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise _refused(path, "it changed while it was read")
    return bytes(data)


def _refused(path: Path, cause: str) -> UsageError:
    return UsageError(f"cannot share {path}: {cause}", resolution="name regular files that nobody writes to meanwhile")
