"""A bounded look at an agent's directory for `profile check`: what an agent would be able to read there.

The only part of this room that walks the disk. It follows no link, and of a file reads the head at the most: private keys say
that they are.
"""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from runner.model import Profile
from runner.paths import omission
from runner.profiles.grounds import unfit

#: Directories deeper and trees larger than this are not counted to the end.
MAX_ENTRIES = 200_000
#: How many names are told of each kind.
_FEW = 5

#: Files whose head is looked at, and how much of it.
MAX_HEADS = 5000
_HEAD = 2048
_PRIVATE = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----|^PuTTY-User-Key-File-|^age-secret-key-1", re.I
)

_SECRET_NAMES = ("credential", "secret", "password", "passwd", "token", "apikey", "api_key", "private")
_SECRET_ENDS = (
    *(".key", ".p12", ".pfx", ".kdbx", ".kdb", ".jks", ".keystore", ".ovpn", ".gpg", ".asc", ".pem", ".ppk", ".age", ".der"),
    *(".tfstate", ".tfvars", ".env", ".mobileconfig"),
)
_SECRET_FILES = (
    *(
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        ".netrc",
        "_netrc",
        ".pgpass",
        ".my.cnf",
        ".npmrc",
        ".pypirc",
        ".dockercfg",
    ),
    *(".git-credentials", "shadow", ".htpasswd", ".boto", ".s3cfg", ".vault-token", "authinfo", ".authinfo", "cookies.sqlite"),
    *("logins.json", "key4.db", "login.keychain", "wallet.dat", "kubeconfig", "terraform.rc", ".terraformrc", "wp-config.php"),
)
_SECRET_FOLDERS = frozenset({".aws", ".ssh", ".gnupg", ".kube", ".docker", ".azure", ".password-store", "secrets"})
#: What is public by its name is no secret, whatever else the name says.
_PUBLIC_ENDS = (".pub",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What stands in cwd."""

    found: bool  #: cwd is a directory
    real: Path  #: cwd without links
    linked: bool = False  #: cwd itself is a link
    unfit: str | None = None  #: why no agent's directory may be there at all
    homes: tuple[Path, ...] = ()  #: home directories that cwd is or contains
    worktree: bool = False  #: a .git stands in it
    files: int = 0  #: that would be copied
    size: int = 0  #: of those, in bytes
    hidden: int = 0  #: left out
    special: int = 0  #: links, sockets, pipes, devices
    hard_links: int = 0  #: files with several names
    likely_secrets: tuple[str, ...] = ()  #: copied, and like a secret by name or head; the first few
    left_out: tuple[str, ...] = ()  #: the first few of what is left out
    complete: bool = True  #: the count went to the end


def survey(profile: Profile, *, cap: int = MAX_ENTRIES) -> Survey:
    """Look at a profile's directory, at most `cap` entries of it; what cannot be looked at is not counted."""
    real = Path(os.path.realpath(profile.cwd))
    if not profile.cwd.is_dir():
        return Survey(found=False, real=real)
    about = Survey(
        found=True,
        real=real,
        linked=profile.cwd.is_symlink(),
        unfit=unfit(real),
        homes=tuple(home for home in homes() if home == real or real in home.parents),
        worktree=(real / ".git").exists(),
    )
    # What is no agent's directory anyway is not walked: it may be a whole system's.
    return about if about.unfit or about.homes else _counted(profile, about, cap=cap)


def _counted(profile: Profile, about: Survey, *, cap: int) -> Survey:
    real = about.real
    files = size = hidden = special = hard_links = seen = 0
    secrets: list[str] = []
    left_out: list[str] = []
    for seen, (parts, info) in enumerate(_entries(real), start=1):
        if seen > cap:
            break
        if not stat.S_ISREG(info.st_mode):
            special += 1
        elif omission(parts, read=profile.read, hide=profile.hide) is not None:
            hidden += 1
            left_out += ["/".join(parts)] if len(left_out) < _FEW else []
        elif info.st_nlink > 1 and not profile.allow_hard_links:
            hard_links += 1
        else:
            files += 1
            size += info.st_size
            if len(secrets) < _FEW and (_like_a_secret(parts) or (files <= MAX_HEADS and _is_private(real, parts))):
                secrets.append("/".join(parts))
    return replace(
        about,
        files=files,
        size=size,
        hidden=hidden,
        special=special,
        hard_links=hard_links,
        likely_secrets=tuple(secrets),
        left_out=tuple(left_out),
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


def homes() -> set[Path]:
    """Home directories of people and of root, here and now."""
    return {Path(entry.pw_dir) for entry in pwd.getpwall() if entry.pw_uid == 0 or 1000 <= entry.pw_uid < 60000} | {Path.home()}


def _like_a_secret(parts: tuple[str, ...]) -> bool:
    low = parts[-1].lower()
    if low.endswith(_PUBLIC_ENDS):
        return False
    named = (
        low in _SECRET_FILES
        or low.startswith("id_")
        or low.endswith(_SECRET_ENDS)
        or any(word in low for word in _SECRET_NAMES)
    )
    return named or any(folder.lower() in _SECRET_FOLDERS for folder in parts[:-1])


def _is_private(root: Path, parts: tuple[str, ...]) -> bool:
    """Whether a file begins as private keys do."""
    try:
        handle = os.open(root.joinpath(*parts), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _PRIVATE.search(os.read(handle, _HEAD)) is not None
    except OSError:
        return False
    finally:
        os.close(handle)
