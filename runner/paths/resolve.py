"""Where a path leads: component by component beneath the workspace, links followed as the container would follow them.

Every doubt is a refusal: an OSError, a loop, a link that leaves and comes back (cases 1-35). Judged twice, as the CLI collapses
the text and as it is written; the two must lead to the same place, since a link before `..` makes them differ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePosixPath

from runner.model import WORKSPACE, ResolvedPath
from runner.paths.text import MAX_PATH_BYTES, absolute, check_text, normalise
from runner.paths.view import DirectoryView, EntryKind, PathRefusal

#: As many links as the kernel follows before ELOOP.
LINK_BUDGET = 40

_KERNEL = ("proc", "dev", "sys")


class Want(Enum):
    """What a path argument must name. Where nothing may stand, the tool itself reports that nothing is there."""

    EXISTING_FILE = "existing_file"
    NEW_OR_EXISTING_FILE = "new_or_existing_file"  #: parents may be absent too: the nearest existing one is proven
    DIRECTORY = "directory"  #: or nothing
    FILE_OR_DIRECTORY = "file_or_directory"  #: or nothing


_FITS = {
    Want.EXISTING_FILE: (EntryKind.FILE,),
    Want.NEW_OR_EXISTING_FILE: (EntryKind.FILE, EntryKind.ABSENT),
    Want.DIRECTORY: (EntryKind.DIRECTORY, EntryKind.ABSENT),
    Want.FILE_OR_DIRECTORY: (EntryKind.FILE, EntryKind.DIRECTORY, EntryKind.ABSENT),
}

_MISFITS = {
    EntryKind.SPECIAL: PathRefusal(rule="special_file", reason="The path names a socket, a pipe or a device."),
    EntryKind.LINK: PathRefusal(rule="unproven", reason="The path could not be followed."),
    EntryKind.FILE: PathRefusal(rule="not_a_directory", reason="The path names a file where a directory is needed."),
    EntryKind.DIRECTORY: PathRefusal(rule="not_a_file", reason="The path names a directory where a file is needed."),
    EntryKind.ABSENT: PathRefusal(rule="no_such_file", reason="There is no such file in the workspace."),
}
_OUTSIDE = PathRefusal(rule="outside", reason="The path leads outside the workspace.")
_KERNEL_PATH = PathRefusal(rule="kernel_path", reason="The path leads to /proc, /dev or /sys, outside the workspace.")
_THROUGH_A_FILE = PathRefusal(rule="not_a_directory", reason="The path goes through something that is not a directory.")
_LOOP = PathRefusal(rule="link_loop", reason="The path follows too many links.")
_UNPROVEN = PathRefusal(rule="unproven", reason="Where the path leads could not be found out.")
_AMBIGUOUS = PathRefusal(rule="ambiguous_path", reason="The path leads to two different places, depending on who reads it.")
_HARD_LINK = PathRefusal(
    rule="hard_link", reason="The file has more than one name (a hard link), so it may belong outside the workspace."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Landing:
    parts: tuple[str, ...]
    kind: EntryKind


def resolve(text: str, view: DirectoryView, *, want: Want, allow_hard_links: bool = False) -> ResolvedPath | PathRefusal:
    """Where a path argument leads, or why it is not provably inside.

    Args:
        text: The argument as the model wrote it: relative to the workspace or absolute.
        view: The snapshot.
        want: What it must name.
        allow_hard_links: Whether a file with several names may be used (R49, case 29).
    """
    refusal = check_text(text)
    if refusal is not None:
        return refusal
    try:
        landing = _land_both(text, view)
        if isinstance(landing, PathRefusal):
            return landing
        if landing.kind not in _FITS[want]:
            return _MISFITS[landing.kind]
        if landing.kind is EntryKind.FILE and not allow_hard_links and view.hard_links(landing.parts) > 1:
            return _HARD_LINK
    except (OSError, ValueError):  # ValueError: a name the system cannot take, from a link's text (case 11)
        return _UNPROVEN
    return ResolvedPath(asked=text, resolved=WORKSPACE.joinpath(*landing.parts))


def _land_both(text: str, view: DirectoryView) -> _Landing | PathRefusal:
    collapsed, written = _names(normalise(text)), _names(absolute(text))
    landing = _land(collapsed, view)
    if isinstance(landing, PathRefusal) or collapsed == written:
        return landing
    other = _land(written, view)
    if isinstance(other, PathRefusal):
        return other
    return landing if landing == other else _AMBIGUOUS


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _enter(names: Iterable[str]) -> deque[str] | PathRefusal:
    """The names beneath the workspace of an absolute path that starts with the workspace's own name."""
    rest = deque(names)
    top = rest.popleft() if rest else ""
    if top != WORKSPACE.name:
        return _KERNEL_PATH if top in _KERNEL else _OUTSIDE
    return rest


def _land(names: list[str], view: DirectoryView) -> _Landing | PathRefusal:
    pending = _enter(names)
    if isinstance(pending, PathRefusal):
        return pending
    landing = _Landing(parts=(), kind=EntryKind.DIRECTORY)
    budget = LINK_BUDGET
    while pending:
        step = _step(landing, pending.popleft(), view)
        if isinstance(step, PathRefusal):
            return step
        if step.kind is not EntryKind.LINK:
            landing = step
            continue
        budget -= 1
        followed = _follow(view.link_target(step.parts), here=landing.parts, pending=pending) if budget >= 0 else _LOOP
        if isinstance(followed, PathRefusal):
            return followed
        parts, pending = followed
        landing = _Landing(parts=parts, kind=EntryKind.DIRECTORY)
    if len(str(PurePosixPath(WORKSPACE, *landing.parts)).encode()) > MAX_PATH_BYTES:
        return _UNPROVEN
    return landing


def _step(landing: _Landing, name: str, view: DirectoryView) -> _Landing | PathRefusal:
    """One name further. Nothing stands beneath a file; `..` beneath something absent is the text's own parent."""
    if landing.kind not in (EntryKind.DIRECTORY, EntryKind.ABSENT):
        return _THROUGH_A_FILE
    if name != "..":
        parts = (*landing.parts, name)
        return _Landing(parts=parts, kind=view.kind(parts))
    if not landing.parts:
        return _OUTSIDE
    parent = landing.parts[:-1]
    return _Landing(parts=parent, kind=view.kind(parent))


def _follow(target: str, *, here: tuple[str, ...], pending: deque[str]) -> tuple[tuple[str, ...], deque[str]] | PathRefusal:
    """Continue at a link's target, as the container sees it: an absolute one is beneath /workspace or outside (case 35)."""
    names = _names(target)
    if "\0" in target or not target or len(target.encode()) > MAX_PATH_BYTES:
        return _UNPROVEN
    if not target.startswith("/"):
        return here, deque([*names, *pending])
    entered = _enter(names)
    if isinstance(entered, PathRefusal):
        return entered
    return (), deque([*entered, *pending])
