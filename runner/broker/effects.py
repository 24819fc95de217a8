"""Carrying an approved order out on the host, and finding out after a crash whether it happened.

Nothing is trusted from before: the input is parsed again from its stored text, the target is read again beneath a handle, and
only the pre-image that was approved is written over (B6).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Literal

from runner.broker.plans import Job, understood
from runner.broker.targets import Target, look, parts_of, shown
from runner.broker.tools import Result, written
from runner.broker.values import MAX_FILE_BYTES, MAX_OUTCOME_BYTES, Change, Effect, Impossible, Order
from runner.digest import digest_bytes, parse_call
from runner.model import Digest
from runner.sandbox.beneath import Beneath, Parts

_FOLDER_MODE = 0o755


def perform(order: Order) -> Effect:
    """Carry an order out once; every refusal is a value (B6, B8).

    Existing files keep mode and owner; new files get cwd's owner and 0644, missing folders cwd's owner and 0755.
    """
    job = _parsed(order)
    if isinstance(job, Impossible):
        return _effect("failed", job.reason)
    try:
        with Beneath.open(order.cwd) as root:
            return _performed(order, job, root)
    except OSError as error:
        return _effect("failed", f"{shown(job.path)} could not be written: {error.strerror}")


def examine(order: Order) -> Literal["pre", "post", "other"]:
    """What the disk says after a crash: not happened, happened, or neither (B9)."""
    job = _parsed(order)
    if isinstance(job, Impossible) or str(job.path) not in order.pre_images:
        return "other"
    expected = order.pre_images[str(job.path)]
    try:
        with Beneath.open(order.cwd) as root:
            data = _read(root, job.path)
    except OSError:
        return "other"
    if data is None:
        return "pre" if expected is None else "other"
    if _digest(data) == expected:
        return "pre"
    return "post" if _is_result(order, job, data) else "other"


def _performed(order: Order, job: Job, root: Beneath) -> Effect:
    target = look(root, job.path)
    if isinstance(target, Impossible):
        return _effect("stale", f"the target changed since this was proposed: {target.reason}")
    key = str(job.path)
    if key not in order.pre_images or _digest(target.data) != order.pre_images[key]:
        return _effect("stale", f"{shown(job.path)} changed since this was proposed; read it again and ask anew")
    result = job.tool.transform(job.arguments, target.data)
    if isinstance(result, Impossible):
        return _effect("failed", result.reason)
    if order.post_image is not None and digest_bytes(result.data) != order.post_image:
        return _effect("failed", "the result would not be the one that was approved")
    with _folders(root, target) as folder:
        if _digest(_read_name(folder, target.parts[-1])) != order.pre_images[key]:
            return _effect("stale", f"{shown(job.path)} changed since this was proposed; read it again and ask anew")
        _put(folder, target, result.data)
    return Effect(state="done", outcome=_told(job.path, target, result), changed=(Change(path=job.path, data=result.data),))


@contextmanager
def _folders(root: Beneath, target: Target) -> Iterator[Beneath]:
    """A handle of the directory the file goes into; missing ones are made, and taken back when nothing was written.

    The same handle serves the last look and the write, so a folder swapped in between leads nowhere new (case 48).
    """
    made: list[Parts] = []
    base = root.stat(())
    try:
        for count in range(target.standing + 1, len(target.parts)):
            root.make_directory(target.parts[:count], mode=_FOLDER_MODE, owner=(base.st_uid, base.st_gid))
            made.append(target.parts[:count])
        with root.directory(target.parts[:-1]) as handle, Beneath(os.dup(handle)) as folder:
            yield folder
    finally:
        # Only an empty folder can be removed, so these stay wherever the write went through.
        for parts in reversed(made):
            with suppress(OSError):
                root.remove(parts)


def _put(folder: Beneath, target: Target, data: bytes) -> None:
    """Write, and when the system complains after the file is already in place, believe the disk (B9)."""
    name = (target.parts[-1],)
    try:
        folder.write_atomic(name, data, mode=target.mode, owner=target.owner)
    except OSError:
        if _read_name(folder, target.parts[-1]) != data:
            raise


def _parsed(order: Order) -> Job | Impossible:
    call = parse_call(order.tool, order.raw)
    if call.input is None:
        return Impossible(reason=f"the stored input is malformed: {call.fault}")
    return understood(order.tool, call.input, order.paths)


def _is_result(order: Order, job: Job, data: bytes) -> bool:
    """Whether these bytes are what the order makes; without its post-image only a Write says so by itself."""
    if order.post_image is not None:
        return digest_bytes(data) == order.post_image
    return job.tool.transform is written and data == str(job.arguments["content"]).encode()


def _read(root: Beneath, path: PurePosixPath) -> bytes | None:
    parts = parts_of(path)
    if isinstance(parts, Impossible):
        raise FileNotFoundError(parts.reason)
    try:
        return root.read_bytes(parts, limit=MAX_FILE_BYTES)
    except FileNotFoundError:
        return None


def _read_name(folder: Beneath, name: str) -> bytes | None:
    try:
        return folder.read_bytes((name,), limit=MAX_FILE_BYTES)
    except FileNotFoundError:
        return None


def _digest(data: bytes | None) -> Digest | None:
    return None if data is None else digest_bytes(data)


def _told(path: PurePosixPath, target: Target, result: Result) -> str:
    """The outcome as the model reads it."""
    name = shown(path)
    if result.replacements:
        places = "1 place" if result.replacements == 1 else f"{result.replacements} places"
        return _cut(f"Edited {name}: {places} replaced; the file is now {len(result.data)} bytes.")
    made = "Created" if target.data is None else "Replaced"
    return _cut(f"{made} {name}: {len(result.data)} bytes written.")


def _effect(state: Literal["failed", "stale"], reason: str) -> Effect:
    return Effect(state=state, outcome=_cut(f"Nothing was changed: {reason}."))


def _cut(text: str) -> str:
    data = text.encode(errors="replace")
    return text if len(data) <= MAX_OUTCOME_BYTES else data[: MAX_OUTCOME_BYTES - 3].decode(errors="ignore") + "..."
