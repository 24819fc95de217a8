"""A bounded look at an agent's directory for `profile check`: what an agent would be able to read there.

The only part of this room that walks the disk. It follows no link and reads no file's content.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.model import Profile
from runner.paths import omission

#: Directories deeper and trees larger than this are not counted to the end.
MAX_ENTRIES = 200_000

_SECRET_NAMES = ("credential", "secret", "password", "passwd", "token", "apikey", "api_key", "private")
_SECRET_ENDS = (".key", ".p12", ".pfx", ".kdbx", ".jks", ".keystore", ".ovpn", ".gpg", ".asc", ".pem")
_SECRET_FILES = ("id_rsa", "id_ed25519", ".netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials", "shadow", ".htpasswd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What stands in cwd."""

    found: bool  #: cwd is a directory
    real: Path  #: cwd without links
    homes: tuple[Path, ...] = ()  #: home directories that cwd is or contains
    worktree: bool = False  #: a .git stands in it
    files: int = 0  #: that would be copied
    size: int = 0  #: of those, in bytes
    hidden: int = 0  #: left out
    special: int = 0  #: links, sockets, pipes, devices
    hard_links: int = 0  #: files with several names
    likely_secrets: tuple[str, ...] = ()  #: copied, and named like a secret; the first few
    complete: bool = True  #: the count went to the end


def survey(profile: Profile, *, cap: int = MAX_ENTRIES) -> Survey:
    """Look at a profile's directory, at most `cap` entries of it; what cannot be looked at is not counted."""
    real = Path(os.path.realpath(profile.cwd))
    if not profile.cwd.is_dir():
        return Survey(found=False, real=real)
    files = size = hidden = special = hard_links = seen = 0
    secrets: list[str] = []
    for seen, (parts, info) in enumerate(_entries(real), start=1):
        if seen > cap:
            break
        if not stat.S_ISREG(info.st_mode):
            special += 1
        elif omission(parts, read=profile.read, hide=profile.hide) is not None:
            hidden += 1
        elif info.st_nlink > 1 and not profile.allow_hard_links:
            hard_links += 1
        else:
            files += 1
            size += info.st_size
            if _like_a_secret(parts[-1]) and len(secrets) < 5:
                secrets.append("/".join(parts))
    return Survey(
        found=True,
        real=real,
        homes=tuple(home for home in _homes() if home == real or real in home.parents),
        worktree=(real / ".git").exists(),
        files=files,
        size=size,
        hidden=hidden,
        special=special,
        hard_links=hard_links,
        likely_secrets=tuple(secrets),
        complete=seen <= cap,
    )


def _entries(root: Path) -> Iterator[tuple[tuple[str, ...], os.stat_result]]:
    """Everything beneath `root` but directories, the entry itself and not where it leads."""
    for folder, names, files in os.walk(root, followlinks=False):
        base = Path(folder).relative_to(root).parts
        linked = [name for name in names if (Path(folder) / name).is_symlink()]
        for name in (*files, *linked):
            try:
                yield (*base, name), (Path(folder) / name).lstat()
            except OSError:
                continue


def _homes() -> set[Path]:
    return {Path(entry.pw_dir) for entry in pwd.getpwall() if entry.pw_uid == 0 or 1000 <= entry.pw_uid < 60000} | {Path.home()}


def _like_a_secret(name: str) -> bool:
    low = name.lower()
    return low in _SECRET_FILES or low.endswith(_SECRET_ENDS) or any(word in low for word in _SECRET_NAMES)
