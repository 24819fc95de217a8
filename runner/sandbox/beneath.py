"""A directory handle beneath which files are reached without following a link.

Owns the only way the host touches a directory an agent's files stand in: every name is opened component by component with
O_NOFOLLOW from an open directory, so a link swapped in underfoot leads nowhere (cases 21-29, 48). It never resolves a path.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

Parts = tuple[str, ...]

#: More components than any file of a sane tree; refused before the first system call (case 17).
MAX_PARTS = 128

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: O_NONBLOCK: opening a FIFO that nobody writes to must not hang the supervisor.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CHUNK = 1024 * 1024


class Beneath:
    """Everything beneath one open directory; a context manager.

    Every method raises OSError: EINVAL for parts that are no plain names, ELOOP or ENOTDIR where a link stands in the way,
    else what the system said. What that means is the caller's to decide.
    """

    def __init__(self, handle: int) -> None:
        """Take over an open directory handle; `Beneath.open` is the usual door."""
        self._handle = handle

    @classmethod
    def open(cls, path: Path) -> Beneath:
        """Open a host directory. Links in `path` itself are followed, once, here (case 34)."""
        return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def __enter__(self) -> Beneath:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the handle; a second close does nothing."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def stat(self, parts: Parts) -> os.stat_result:
        """What stands there, a link not followed; no parts means the directory itself."""
        if not parts:
            return os.fstat(self._handle)
        with self.parent(parts) as (directory, name):
            return os.stat(name, dir_fd=directory, follow_symlinks=False)

    def readlink(self, parts: Parts) -> str:
        """A link's target as it is written."""
        with self.parent(parts) as (directory, name):
            return os.readlink(name, dir_fd=directory)

    def names(self, parts: Parts) -> list[str]:
        """Names in a directory, sorted."""
        with self.directory(parts) as handle:
            return sorted(os.listdir(handle))  # noqa: PTH208 - of a handle, not of a path

    def read_bytes(self, parts: Parts, *, limit: int) -> bytes:
        """A regular file's bytes.

        Raises:
            OSError: EFBIG over `limit` bytes, EINVAL for what is no regular file, else what the system said.
        """
        with self.file(parts) as handle:
            if os.fstat(handle).st_size > limit:
                raise _refusal(errno.EFBIG, parts)
            data = bytearray()
            while chunk := os.read(handle, min(_CHUNK, limit + 1 - len(data))):
                data += chunk
                if len(data) > limit:
                    raise _refusal(errno.EFBIG, parts)
            return bytes(data)

    def write_atomic(  # noqa: PLR0913 -- one file, whole
        self,
        parts: Parts,
        data: bytes,
        *,
        mode: int,
        owner: tuple[int, int] | None,
        temporary: str | None = None,
        keep: bool = False,
    ) -> None:
        """Put a file in place in one step: readers see the old bytes or the new ones, a crash leaves one of the two.

        Args:
            parts: Where; the directory must exist, a file or link there is replaced.
            data: The new bytes.
            mode: Permission bits, whatever the umask.
            owner: (uid, gid), or None for the supervisor's own.
            temporary: Name of the file that is written first, in the same directory, for whoever must find it after a kill.
            keep: Keep the access list and the `user.` attributes of a file that is replaced.
        """

        def fill(handle: int) -> None:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]

        self.put(parts, fill, mode=mode, owner=owner, temporary=temporary, keep=keep)

    def put(  # noqa: PLR0913 -- one file, whole
        self,
        parts: Parts,
        fill: Callable[[int], None],
        *,
        mode: int,
        owner: tuple[int, int] | None = None,
        temporary: str | None = None,
        keep: bool = False,
    ) -> None:
        """As `write_atomic`, with `fill` writing to an open handle; what it raises leaves nothing behind."""
        with self.parent(parts) as (directory, name):
            temporary = temporary or f".{secrets.token_hex(8)}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(temporary, flags, 0o600, dir_fd=directory)
            try:
                try:
                    fill(handle)
                    if owner is not None:
                        os.fchown(handle, *owner)
                    os.fchmod(handle, mode)
                    if keep:
                        _keep_attributes(directory, name, handle)
                    os.fsync(handle)
                finally:
                    os.close(handle)
                os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=directory)
                raise
            os.fsync(directory)

    def make_directory(self, parts: Parts, *, mode: int, owner: tuple[int, int] | None) -> None:
        """Make one directory, or leave none; FileExistsError when the name is taken."""
        with self.parent(parts) as (directory, name):
            os.mkdir(name, 0o700, dir_fd=directory)
            try:
                handle = os.open(name, _DIRECTORY, dir_fd=directory)
                try:
                    if owner is not None:
                        os.fchown(handle, *owner)
                    os.fchmod(handle, mode)
                    os.fsync(directory)
                finally:
                    os.close(handle)
            except BaseException:
                with suppress(OSError):
                    os.rmdir(name, dir_fd=directory)
                raise

    def remove(self, parts: Parts) -> None:
        """Remove a file, a link or an empty directory."""
        with self.parent(parts) as (directory, name):
            if stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
                os.rmdir(name, dir_fd=directory)
            else:
                os.unlink(name, dir_fd=directory)
            os.fsync(directory)

    @contextmanager
    def directory(self, parts: Parts) -> Iterator[int]:
        """An open handle of a directory beneath, closed on leaving."""
        _check(parts)
        handle = os.dup(self._handle) if not parts else os.open(parts[0], _DIRECTORY, dir_fd=self._handle)
        try:
            for part in parts[1:]:
                below = os.open(part, _DIRECTORY, dir_fd=handle)
                os.close(handle)
                handle = below
            yield handle
        finally:
            os.close(handle)

    @contextmanager
    def file(self, parts: Parts) -> Iterator[int]:
        """An open handle of a regular file, looked at again after opening; closed on leaving."""
        with self.parent(parts) as (directory, name):
            handle = os.open(name, _FILE, dir_fd=directory)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise _refusal(errno.EINVAL, parts)
            yield handle
        finally:
            os.close(handle)

    @contextmanager
    def parent(self, parts: Parts) -> Iterator[tuple[int, str]]:
        """Handle of the directory the last part stands in, and that part."""
        _check(parts)
        if not parts:
            raise _refusal(errno.EINVAL, parts)
        with self.directory(parts[:-1]) as handle:
            yield handle, parts[-1]


def _check(parts: Parts) -> None:
    if len(parts) > MAX_PARTS or any(part in {"", ".", ".."} or "/" in part or "\0" in part for part in parts):
        raise _refusal(errno.EINVAL, parts)


def _refusal(code: int, parts: Parts) -> OSError:
    return OSError(code, os.strerror(code), "/".join(parts)[:200])


def _keep_attributes(directory: int, name: str, handle: int) -> None:
    """Give a file that is about to replace another the other's attributes.

    File capabilities and security labels are not kept: like a set-user-id bit, they were given to the old content.
    """
    try:
        old = os.open(name, _FILE, dir_fd=directory)
    except FileNotFoundError:
        return
    try:
        for attribute in os.listxattr(old):
            if attribute == "system.posix_acl_access" or attribute.startswith("user."):
                os.setxattr(handle, attribute, os.getxattr(old, attribute))
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
    finally:
        os.close(old)
