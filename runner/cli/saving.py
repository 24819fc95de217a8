"""Files of somebody else's put into a folder of ours: never over anything, whole and checked or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from runner.errors import RunnerError, UsageError

_CHUNK = 1024 * 1024
#: What a file system without hard links says, or a system without /proc.
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.ENOENT})
#: What one says that has no files without a name.
_NO_NAMELESS = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS, errno.ENOENT})


class Folder:
    """A folder that stays the same one, whatever its path leads to meanwhile.

    Args:
        path: It is made if it is missing; a link is refused.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle = -1

    def __enter__(self) -> Self:
        try:
            with contextlib.suppress(FileExistsError):
                self._path.mkdir(mode=0o700)
            self._handle = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            cause = error.strerror if isinstance(error, OSError) else "that is no path"
            if self._path.is_symlink():
                cause = "it is a link"
            raise UsageError(f"cannot use --out {self._path}: {cause}", resolution="name a folder of your own") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._handle)

    def has(self, name: str, *, size: int, digest: str) -> bool:
        """Whether exactly this file stands there already.

        Raises:
            UsageError: Something else does.
        """
        try:
            found = os.stat(name, dir_fd=self._handle, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._unusable(name, error) from None
        if stat.S_ISREG(found.st_mode) and found.st_size == size and self._digest(name) == digest:
            return True
        raise self._taken(name)

    def put(self, name: str, data: Iterable[bytes], *, digest: str) -> None:
        """Write a file under a name that nothing has.

        Raises:
            UsageError: Something has it by now, or it cannot be written.
            RunnerError: The bytes are not those of `digest`; nothing is left of them.
        """
        hashed = hashlib.sha256()
        try:
            with self._draft() as (file, draft):
                for piece in data:
                    hashed.update(piece)
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
                if f"sha256:{hashed.hexdigest()}" != digest:
                    raise RunnerError(
                        f"cannot save {name}: its bytes are not those that were shared", resolution="fetch it again"
                    )
                self._settle(file, draft, name)
        except FileExistsError:
            raise self._taken(name) from None
        except OSError as error:
            raise self._unusable(name, error) from None

    @contextlib.contextmanager
    def _draft(self) -> Iterator[tuple[BinaryIO, str]]:
        """A file without a name, so that a command that is killed leaves nothing of it; where there is no such, with one."""
        flags = os.O_RDWR | getattr(os, "O_TMPFILE", 0) | os.O_CLOEXEC  # not on every system that has Python
        try:
            handle = os.open(".", flags, 0o600, dir_fd=self._handle)
        except OSError as error:
            if error.errno not in _NO_NAMELESS:
                raise
            with self._named() as draft:
                yield draft
            return
        with os.fdopen(handle, "w+b") as file:
            yield file, ""

    @contextlib.contextmanager
    def _named(self) -> Iterator[tuple[BinaryIO, str]]:
        name = f".runner-{secrets.token_hex(8)}.part"
        try:
            with os.fdopen(self._made(name), "w+b") as file:
                yield file, name
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self._handle)

    def _made(self, name: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600, dir_fd=self._handle)

    def _settle(self, file: BinaryIO, draft: str, name: str) -> None:
        """Give the whole file its name in one step, which fails if something has it."""
        source = draft or f"/proc/self/fd/{file.fileno()}"
        try:
            os.link(source, name, src_dir_fd=self._handle, dst_dir_fd=self._handle, follow_symlinks=not draft)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._settle_without_links(file, draft, name)

    def _settle_without_links(self, file: BinaryIO, draft: str, name: str) -> None:
        if draft:
            os.close(self._made(name))  # the name is ours from here on
            os.rename(draft, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)
            return
        with self._named() as (copy, draft_of_it):
            file.seek(0)
            shutil.copyfileobj(file, copy, _CHUNK)
            copy.flush()
            os.fsync(copy.fileno())
            self._settle_without_links(copy, draft_of_it, name)

    def _digest(self, name: str) -> str:
        hashed = hashlib.sha256()
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._handle)
            with os.fdopen(handle, "rb") as file:
                while chunk := file.read(_CHUNK):
                    hashed.update(chunk)
        except OSError as error:
            raise self._unusable(name, error) from None
        return f"sha256:{hashed.hexdigest()}"

    def _taken(self, name: str) -> UsageError:
        return UsageError(
            f"cannot save {name}: something is there already in {self._path}",
            resolution="nothing is written over; name another folder with --out",
        )

    def _unusable(self, name: str, error: OSError) -> UsageError:
        return UsageError(f"cannot save {name} in {self._path}: {error.strerror}", resolution="name another folder with --out")
