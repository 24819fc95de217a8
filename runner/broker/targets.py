"""Where an effect would land: the target as it stands on the host, looked at without following a link.

Refuses what must never be written: links, special and hard-linked files, directories, other file systems (cases 23, 29,
48, 49).
"""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import dataclass
from pathlib import PurePosixPath

from runner.broker.values import FOLDER, MAX_FILE_BYTES, Content, Impossible
from runner.model import WORKSPACE
from runner.sandbox.beneath import MAX_PARTS, Beneath, Parts

MAX_NAME_BYTES = 255

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A file or directory that is there, or the place where one may be made.

    `data` is None when nothing is there. `standing` counts the leading `parts` that are existing directories. `mode` and
    `owner` are the file's own, or those a new one gets.
    """

    parts: Parts
    standing: int
    data: Content
    mode: int
    owner: tuple[int, int]


def shown(path: PurePosixPath) -> str:
    """A path for one line of text; quoted when a character of it could forge another line."""
    text = str(path)
    return text if text.isprintable() else json.dumps(text)


def parts_of(path: PurePosixPath) -> Parts | Impossible:
    """A resolved inside path as names beneath cwd."""
    if not path.is_relative_to(WORKSPACE) or ".." in path.parts:
        return Impossible(reason=f"{shown(path)} is not inside {WORKSPACE}")
    parts = path.relative_to(WORKSPACE).parts
    if not parts:
        return Impossible(reason=f"{WORKSPACE} itself is a directory")
    if len(parts) > MAX_PARTS:
        return Impossible(reason=f"the path has more than {MAX_PARTS} names")
    if any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in parts):
        return Impossible(reason="a name in the path is longer than 255 bytes")
    return parts


def look(root: Beneath, path: PurePosixPath, *, folder: bool = False) -> Target | Impossible:
    """The target of an effect as it stands now.

    Args:
        root: The agent's directory.
        path: Resolved inside path.
        folder: The effect is about a directory, not about a file.
    """
    parts = parts_of(path)
    if isinstance(parts, Impossible):
        return parts
    try:
        base = root.stat(())
        standing = _standing(root, parts, device=base.st_dev)
        if isinstance(standing, Impossible):
            return standing
        owner = (base.st_uid, base.st_gid)
        found = _stat(root, parts) if standing == len(parts) - 1 else None
        if found is None:
            return _owned(Target(parts=parts, standing=standing, data=None, mode=0o755 if folder else 0o644, owner=owner))
        return (_existing_folder if folder else _existing)(root, parts, found)
    except OSError as error:
        return Impossible(reason=f"{shown(path)} cannot be reached: {error.strerror}")


def _standing(root: Beneath, parts: Parts, *, device: int) -> int | Impossible:
    """How many leading parts are directories of this file system; the last part is the file's and not counted."""
    for count in range(1, len(parts)):
        found = _stat(root, parts[:count])
        if found is None:
            return count - 1
        name = shown(WORKSPACE.joinpath(*parts[:count]))
        if not stat.S_ISDIR(found.st_mode):
            return Impossible(reason=f"{name} is {_kind(found)}, not a directory")
        if found.st_dev != device:
            return Impossible(reason=f"{name} is on another file system")
    return len(parts) - 1


def _existing(root: Beneath, parts: Parts, found: os.stat_result) -> Target | Impossible:
    name = shown(WORKSPACE.joinpath(*parts))
    if not stat.S_ISREG(found.st_mode):
        return Impossible(reason=f"{name} is {_kind(found)}, not a regular file")
    if found.st_nlink > 1:
        return Impossible(reason=f"{name} has {found.st_nlink} hard links: the same bytes also stand elsewhere")
    if not found.st_mode & stat.S_IWUSR:
        return Impossible(reason=f"{name} is read-only")
    if found.st_dev != root.stat(()).st_dev:
        return Impossible(reason=f"{name} is on another file system")
    try:
        data = root.read_bytes(parts, limit=MAX_FILE_BYTES)
    except OSError as error:
        if error.errno == errno.EFBIG:
            return Impossible(reason=f"{name} is larger than {MAX_FILE_BYTES} bytes")
        raise
    mode = stat.S_IMODE(found.st_mode) & 0o777
    return _owned(
        Target(parts=parts, standing=len(parts) - 1, data=data, mode=mode, owner=(found.st_uid, found.st_gid)),
    )


def _existing_folder(root: Beneath, parts: Parts, found: os.stat_result) -> Target | Impossible:
    name = shown(WORKSPACE.joinpath(*parts))
    if not stat.S_ISDIR(found.st_mode):
        return Impossible(reason=f"{name} is {_kind(found)}, not a directory")
    if found.st_dev != root.stat(()).st_dev:
        return Impossible(reason=f"{name} is on another file system")
    mode, owner = stat.S_IMODE(found.st_mode) & 0o777, (found.st_uid, found.st_gid)
    return _owned(Target(parts=parts, standing=len(parts) - 1, data=FOLDER, mode=mode, owner=owner))


def _owned(target: Target) -> Target | Impossible:
    """Only root can give a file to somebody else, so keeping another's ownership must fail later: say so now."""
    if os.geteuid() not in {0, target.owner[0]}:
        name = shown(WORKSPACE.joinpath(*target.parts))
        return Impossible(reason=f"{name} is not writable: it belongs to another user")
    return target


def _stat(root: Beneath, parts: Parts) -> os.stat_result | None:
    try:
        return root.stat(parts)
    except FileNotFoundError:
        return None


def _kind(found: os.stat_result) -> str:
    return next((name for test, name in _KINDS if test(found.st_mode)), "a file")
