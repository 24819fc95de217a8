"""A sender's private key as a file: written once, 0600, and read only while nobody else can (contacts.md)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from runner.captures import ed25519
from runner.captures.ed25519 import KeyUnusableError, SecretKey
from runner.errors import NotAllowedError, UsageError

_MAX = 64 * 1024


def write(path: Path, key: SecretKey, *, passphrase: bytes | None = None) -> None:
    """Make the file; one that is there stays as it is.

    Raises:
        UsageError: Something is there already, or the file cannot be made.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise UsageError(
            f"cannot make a key: {path} is there already",
            resolution="use that key, or name another file with --out; a key that is lost cannot be made again",
        ) from None
    except OSError as error:
        raise UsageError(f"cannot make a key in {path}: {error.strerror}", resolution="name another file with --out") from None
    with os.fdopen(handle, "wb") as file:
        file.write(key.sealed(passphrase))
        file.flush()
        os.fsync(file.fileno())


def read(path: Path, *, passphrase: bytes | None = None) -> SecretKey:
    """The key in a file.

    Raises:
        UsageError: It cannot be read or holds no key.
        NotAllowedError: Other users can read it or control it.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise UsageError(f"cannot read the key {path}: it is no regular file")
            if found.st_uid not in {os.geteuid(), 0} or found.st_mode & 0o077:
                raise NotAllowedError(
                    f"cannot use the key {path}: other users can read it or control it", resolution=f"chmod 600 {path}"
                )
            text = file.read(_MAX)
    except OSError as error:
        raise UsageError(
            f"cannot read the key {path}: {error.strerror}", resolution="runner contact keygen makes one"
        ) from None
    try:
        return ed25519.unseal(text, passphrase)
    except KeyUnusableError as error:
        raise UsageError(f"cannot read the key {path}: {error}", resolution="runner contact keygen makes one") from None
