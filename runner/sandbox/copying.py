"""Copying one regular file into a snapshot, with every doubt looked at on the open handle.

Owns the moment between a look and its use: what is checked is the file that is open, not its name (cases 29, 48, 49).
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1024 * 1024
#: copy_file_range refuses these pairs of file systems; plain reads and writes do it then.
_NO_RANGE = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}
_ATTEMPTS = 3
_SAME = ("st_dev", "st_ino", "st_nlink", "st_size", "st_mtime_ns", "st_ctime_ns")
MOUNTED = "another file system is mounted here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """How many bytes a file had."""

    bytes: int


def mount_of(handle: int) -> str:
    """The kernel's id of the mount an open handle is on; a bind mount of the same disk has another one."""
    for line in Path(f"/proc/self/fdinfo/{handle}").read_text(encoding="ascii").splitlines():
        if line.startswith("mnt_id:"):
            return line.split()[1]
    raise OSError(errno.ENOTSUP, "the kernel does not say which mount a handle is on")


def copy_file(  # noqa: PLR0913 - each is one fact the open file is held against
    source: int, destination: int, name: str, *, room: int, device: int, mount: str, hard_links: bool
) -> Copied | str | None:
    """Copy `name` from one open directory to another.

    Args:
        source: Handle of the directory it stands in.
        destination: Handle of the directory it goes to; a name that is taken is an error.
        name: The file's name in both.
        room: Bytes it may have.
        device: Device it must be on.
        mount: Mount it must be on.
        hard_links: Whether it may have another name too.

    Returns:
        What was copied, None when it is larger than `room`, or the reason it is left out; then nothing of it is left.

    Raises:
        OSError: The destination cannot be written.
    """
    for _ in range(_ATTEMPTS):
        try:
            reader = os.open(name, _OPEN, dir_fd=source)
        except OSError as error:
            return f"cannot be opened: {error.strerror}"
        try:
            facts = os.fstat(reader)
            if (fault := _fault(reader, facts, device=device, mount=mount, hard_links=hard_links)) is not None:
                return fault
            if facts.st_size > room:
                return None
            if _copy(reader, destination, name, facts=facts, source=source):
                return Copied(bytes=facts.st_size)
        finally:
            os.close(reader)
    return "it kept changing while it was copied"


def _fault(reader: int, facts: os.stat_result, *, device: int, mount: str, hard_links: bool) -> str | None:
    if not stat.S_ISREG(facts.st_mode):
        return "not a regular file"
    if facts.st_dev != device or mount_of(reader) != mount:
        return MOUNTED
    if facts.st_nlink > 1 and not hard_links:
        return "it has another name too (hard link)"
    return None


def _copy(reader: int, destination: int, name: str, *, facts: os.stat_result, source: int) -> bool:
    """Copy exactly the bytes the file had when opened; False, and nothing left, when it changed meanwhile."""
    writer = os.open(name, _CREATE, 0o600, dir_fd=destination)
    kept = False
    try:
        kept = _transfer(reader, writer, facts.st_size) == facts.st_size and _unchanged(source, name, facts)
        if kept:
            # Who may execute it is the agent's own business; nobody may write it.
            os.fchmod(writer, 0o555 if facts.st_mode & 0o111 else 0o444)
            os.utime(writer, ns=(facts.st_mtime_ns, facts.st_mtime_ns))
    finally:
        os.close(writer)
        if not kept:
            with suppress(OSError):
                os.unlink(name, dir_fd=destination)
    return kept


def _unchanged(source: int, name: str, facts: os.stat_result) -> bool:
    """Whether the name still is the file that was copied, with as many names and the same times.

    Asked of the name and not of the open file: a hard link whose name is taken away after it was opened looks like a file with
    one name, the one outside. One look that finds it here and finds one name proves that the name is this one.
    """
    try:
        after = os.stat(name, dir_fd=source, follow_symlinks=False)
    except OSError:
        return False
    return all(getattr(after, field) == getattr(facts, field) for field in _SAME)


def _transfer(reader: int, writer: int, size: int) -> int:
    """Up to `size` bytes; returns how many there were."""
    done = 0
    ranged = True
    while done < size:
        step = min(_CHUNK, size - done)
        if ranged:
            try:
                count = os.copy_file_range(reader, writer, step)
            except OSError as error:
                if error.errno not in _NO_RANGE:
                    raise
                ranged = False
                continue
        else:
            count = _write_all(writer, _read(reader, step))
        if count == 0:
            break
        done += count
    return done


def _read(reader: int, count: int) -> bytes:
    try:
        return os.read(reader, count)
    except BlockingIOError:
        return b""


def _write_all(writer: int, data: bytes) -> int:
    view = memoryview(data)
    while view:
        view = view[os.write(writer, view) :]
    return len(data)
