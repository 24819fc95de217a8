"""Carrying an approved order out on the host, and finding out after a crash whether it happened.

Nothing is trusted from before: the input is parsed again from its stored text, the target is read again beneath a handle, and
only the pre-image that was approved is written over (B6).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from runner.broker.plans import Job, hindrance, job_of
from runner.broker.targets import Target, look, parts_of, shown
from runner.broker.tools import made, written
from runner.broker.values import (
    ABSENT,
    FOLDER,
    MAX_FILE_BYTES,
    Change,
    Content,
    Effect,
    Folder,
    Impossible,
    Order,
    PreImage,
    Result,
    image_of,
)
from runner.broker.words import nothing_done, told
from runner.model import WORKSPACE
from runner.sandbox.beneath import Beneath, Parts
from runner.sandbox.dedicated import dedicated

_FOLDER_MODE = 0o755


def perform(order: Order) -> Effect:
    """Carry an order out once; every refusal is a value (B6, B8).

    Existing files keep mode, owner, access list and `user.` attributes; new files get cwd's owner and 0644, missing folders
    cwd's owner and 0755.
    """
    job = job_of(order)
    if isinstance(job, Impossible):
        return nothing_done("failed", job.reason)
    try:
        with dedicated(order.cwd) as root:
            return _performed(order, job, root)
    except OSError as error:
        return nothing_done("failed", f"{shown(job.path)} could not be written: {error.strerror}")


def capture(order: Order) -> PreImage | Impossible:
    """What an order is about to write over, to be kept so that it can be taken back.

    Impossible: it is not what the order was approved for, so nothing must be done either.
    """
    job = job_of(order)
    if isinstance(job, Impossible):
        return job
    try:
        with dedicated(order.cwd) as root:
            target = look(root, job.path, folder=job.tool.folder)
    except OSError as error:
        return Impossible(reason=f"the agent's directory cannot be opened: {error.strerror}")
    if isinstance(target, Impossible):
        return target
    if not _as_approved(order, job.path, target.data):
        return Impossible(reason=_changed(job.path))
    return PreImage(data=target.data, mode=target.mode, owner=target.owner, standing=target.standing)


def clean(order: Order) -> None:
    """Remove the half-written file that a kill left beside an order's target; nobody may be carrying the order out."""
    job = job_of(order)
    parts = None if isinstance(job, Impossible) or not order.key else parts_of(job.path)
    if parts is None or isinstance(parts, Impossible):
        return
    with suppress(OSError), dedicated(order.cwd) as root:
        left = (*parts[:-1], _temporary(order) or "")
        if stat.S_ISREG(root.stat(left).st_mode):
            root.remove(left)


def examine(order: Order) -> Literal["pre", "post", "other"]:
    """What the disk says after a crash: not happened, happened, or neither (B9)."""
    job = job_of(order)
    if isinstance(job, Impossible) or str(job.path) not in order.pre_images:
        return "other"
    try:
        with dedicated(order.cwd) as root:
            found = _read(root, job.path)
    except OSError:
        return "other"
    if _as_approved(order, job.path, found):
        return "pre"
    return "post" if _is_result(order, job, found) else "other"


def _performed(order: Order, job: Job, root: Beneath) -> Effect:
    ready = _ready(order, job, root)
    if isinstance(ready, Effect):
        return ready
    target, result = ready
    with _folders(root, target) as folder:
        if not _as_approved(order, job.path, _content(folder, target.parts[-1:])):
            return nothing_done("stale", _changed(job.path))
        _put(folder, target, result, temporary=_temporary(order))
    gone = _tidied(root, order, target) if result.data is None else ()
    changed = (Change(path=job.path, data=result.data), *gone)
    return Effect(state="done", outcome=told(job.path, target, result), changed=changed)


class _Ready(NamedTuple):
    """What an order is about to do to its target."""

    target: Target
    result: Result


def _ready(order: Order, job: Job, root: Beneath) -> _Ready | Effect:
    """The order worked out on the files as they are now, or why it is not carried out."""
    target = look(root, job.path, folder=job.tool.folder)
    if isinstance(target, Impossible):
        return nothing_done("stale", f"the target changed since this was proposed: {target.reason}")
    if not _as_approved(order, job.path, target.data):
        return nothing_done("stale", _changed(job.path))
    result = job.tool.transform(job.arguments, target.data)
    if isinstance(result, Impossible):
        return nothing_done("failed", result.reason)
    hindered = hindrance(root, target, result)
    if hindered is not None:
        return nothing_done("stale", f"the target changed since this was proposed: {hindered.reason}")
    if order.post_image is not None and (image_of(result.data) or ABSENT) != order.post_image:
        return nothing_done("failed", "the result would not be the one that was approved")
    return _Ready(target, result)


@contextmanager
def _folders(root: Beneath, target: Target) -> Iterator[Beneath]:
    """A handle of the directory the file goes into; missing ones are made, and taken back when nothing was written.

    The same handle serves the last look and the write, so a folder swapped in between leads nowhere new (case 48).
    """
    fresh: list[Parts] = []
    base = root.stat(())
    try:
        for count in range(target.standing + 1, len(target.parts)):
            root.make_directory(target.parts[:count], mode=_FOLDER_MODE, owner=(base.st_uid, base.st_gid))
            fresh.append(target.parts[:count])
        with root.directory(target.parts[:-1]) as handle, Beneath(os.dup(handle)) as folder:
            yield folder
    finally:
        # Only an empty folder can be removed, so these stay wherever the write went through.
        for parts in reversed(fresh):
            with suppress(OSError):
                root.remove(parts)


def _put(folder: Beneath, target: Target, result: Result, *, temporary: str | None) -> None:
    """Put a result in place, and when the system complains after it is there already, believe the disk (B9)."""
    name = (target.parts[-1],)
    fresh = target.data is None
    mode = result.mode if fresh and result.mode is not None else target.mode
    owner = result.owner if fresh and result.owner is not None else target.owner
    if isinstance(result.data, Folder):
        folder.make_directory(name, mode=mode, owner=owner)
        return
    try:
        if result.data is None:
            folder.remove(name)
        else:
            folder.write_atomic(name, result.data, mode=mode, owner=owner, temporary=temporary, keep=True)
    except OSError:
        if _content(folder, name) != result.data:
            raise


def _tidied(root: Beneath, order: Order, target: Target) -> tuple[Change, ...]:
    """Take away the directories that the effect which is taken back had made on its way, as far as they are empty."""
    gone = []
    first = len(target.parts) if order.restores is None else order.restores.standing + 1
    for count in range(len(target.parts) - 1, first - 1, -1):
        with suppress(OSError):
            root.remove(target.parts[:count])
            gone.append(Change(path=WORKSPACE.joinpath(*target.parts[:count]), data=None))
    return tuple(gone)


def _temporary(order: Order) -> str | None:
    """The name of what is written first; from the order's key, so that it is found again after a kill."""
    return f".{hashlib.sha256(b'runner.temporary.v1' + order.key.encode()).hexdigest()[:16]}.tmp" if order.key else None


def _as_approved(order: Order, path: PurePosixPath, found: Content) -> bool:
    """Whether what stands there is what the order was approved for."""
    return str(path) in order.pre_images and image_of(found) == order.pre_images[str(path)]


def _is_result(order: Order, job: Job, found: Content) -> bool:
    """Whether this is what the order makes; without its post-image only a Write and a directory say so by themselves."""
    if order.post_image is not None:
        return (image_of(found) or ABSENT) == order.post_image
    if job.tool.transform is made:
        return found is FOLDER
    return job.tool.transform is written and found == str(job.arguments["content"]).encode()


def _read(root: Beneath, path: PurePosixPath) -> Content:
    parts = parts_of(path)
    if isinstance(parts, Impossible):
        raise FileNotFoundError(parts.reason)
    return _content(root, parts)


def _content(root: Beneath, parts: Parts) -> Content:
    try:
        if stat.S_ISDIR(root.stat(parts).st_mode):
            return FOLDER
        return root.read_bytes(parts, limit=MAX_FILE_BYTES)
    except FileNotFoundError:
        return None


def _changed(path: PurePosixPath) -> str:
    return f"{shown(path)} changed since this was proposed; read it again and ask anew"
