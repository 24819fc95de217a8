"""The walk of a snapshot: every name beneath the agent's directory is copied, or left out with its reason.

Owns what counts against the caps. Follows no link, enters no other mount, opens nothing but directories and regular files.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass

from runner.errors import SnapshotError
from runner.paths import Selection
from runner.sandbox.beneath import Beneath, Parts
from runner.sandbox.copying import MOUNTED, Copied, copy_file, mount_of
from runner.sandbox.links import dangling

MAX_DEPTH = 64
#: Names left out that a report spells out; the rest is only counted.
MAX_REPORTED = 200
MAX_TARGET = 4096
#: Names looked at per file that may be copied; a directory of a billion sockets must not hold a run up.
_LOOKED_PER_FILE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A name that is not in the snapshot, though `read` would have it, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotReport:
    """What was copied. `left_out` holds the first of them, `left_out_count` says how many there were."""

    files: int
    bytes: int
    left_out: tuple[LeftOut, ...] = ()
    left_out_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What may be made, and whether of files that have another name."""

    max_bytes: int
    max_files: int
    allow_hard_links: bool


class Copier:
    """One copy under way."""

    def __init__(self, *, source: Beneath, destination: Beneath, selection: Selection, caps: Caps) -> None:
        self._source, self._destination = source, destination
        self._selection, self._caps = selection, caps
        self._device = source.stat(()).st_dev
        with source.directory(()) as handle:
            self._mount = mount_of(handle)
        self._made: set[Parts] = {()}
        self._links: dict[Parts, str] = {}
        self._files = self._bytes = self._looked = self._left_count = 0
        self._left: list[LeftOut] = []

    def run(self) -> SnapshotReport:
        """Walk, copy, then keep the links that lead to something that was copied."""
        todo: list[Parts] = [()]
        while todo:
            todo.extend(reversed(self._visit(todo.pop())))
        self._keep_links()
        return SnapshotReport(files=self._files, bytes=self._bytes, left_out=tuple(self._left), left_out_count=self._left_count)

    def _visit(self, parts: Parts) -> list[Parts]:
        """Copy a directory's files; returns the directories in it."""
        below: list[Parts] = []
        with ExitStack() as stack:
            try:
                handle = stack.enter_context(self._source.directory(parts))
                mounted = mount_of(handle) != self._mount
                names = [] if mounted else self._listed(handle)
            except OSError as error:
                self._leave(parts, f"cannot be opened: {error.strerror}")
                return below
            if mounted:
                self._leave(parts, MOUNTED)
                return below
            if parts and self._selection.reads(parts, directory=True):
                self._make_directory(parts)
            for name in names:
                if self._entry(handle, (*parts, name)):
                    below.append((*parts, name))
        return below

    def _listed(self, handle: int) -> list[str]:
        names: list[str] = []
        with os.scandir(handle) as entries:
            for entry in entries:
                self._looked += 1
                if self._looked > _LOOKED_PER_FILE * self._caps.max_files:
                    raise _too_large(f"more than {_LOOKED_PER_FILE * self._caps.max_files} names")
                names.append(entry.name)
        return sorted(names)

    def _entry(self, handle: int, parts: Parts) -> bool:
        """Copy one name; True for a directory to go into."""
        if not _is_text(parts[-1]):
            self._leave(parts, "the name is not valid UTF-8")
            return False
        try:
            facts = os.stat(parts[-1], dir_fd=handle, follow_symlinks=False)
        except OSError as error:
            self._leave(parts, f"vanished: {error.strerror}")
            return False
        directory, link = stat.S_ISDIR(facts.st_mode), stat.S_ISLNK(facts.st_mode)
        if self._selection.hides(parts, directory=directory) or (link and self._selection.hides(parts, directory=True)):
            self._leave(parts, "hidden")
        elif directory:
            return self._may_enter(parts, facts)
        elif self._selection.reads(parts):
            self._leaf(handle, parts, mode=facts.st_mode)
        return False

    def _may_enter(self, parts: Parts, facts: os.stat_result) -> bool:
        if facts.st_dev != self._device:
            self._leave(parts, MOUNTED)
            return False
        if len(parts) > MAX_DEPTH:
            self._leave(parts, f"deeper than {MAX_DEPTH} directories")
            return False
        return True

    def _leaf(self, handle: int, parts: Parts, *, mode: int) -> None:
        if stat.S_ISLNK(mode):
            self._link(handle, parts)
        elif stat.S_ISREG(mode):
            self._file(handle, parts)
        else:
            self._leave(parts, _kind(mode))

    def _link(self, handle: int, parts: Parts) -> None:
        try:
            target = os.readlink(parts[-1], dir_fd=handle)
        except OSError as error:
            self._leave(parts, f"vanished: {error.strerror}")
            return
        if len(target) > MAX_TARGET or not _is_text(target):
            self._leave(parts, "link target is too long or not valid UTF-8")
            return
        self._links[parts] = target
        self._count()

    def _file(self, handle: int, parts: Parts) -> None:
        self._make_parents(parts)
        with self._destination.parent(parts) as (directory, _):
            copied = copy_file(
                handle,
                directory,
                parts[-1],
                room=self._caps.max_bytes - self._bytes,
                device=self._device,
                mount=self._mount,
                hard_links=self._caps.allow_hard_links,
            )
        match copied:
            case Copied(bytes=count):
                self._bytes += count
                self._files += 1
                self._made.add(parts)
                self._count()
            case None:
                raise _too_large(f"more than {self._caps.max_bytes} bytes")
            case str(reason):
                self._leave(parts, reason)

    def _make_parents(self, parts: Parts) -> None:
        for depth in range(1, len(parts)):
            self._make_directory(parts[:depth])

    def _make_directory(self, parts: Parts) -> None:
        if parts in self._made:
            return
        self._make_parents(parts)
        with self._destination.parent(parts) as (directory, name):
            os.mkdir(name, 0o755, dir_fd=directory)
            os.chmod(name, 0o755, dir_fd=directory)  # noqa: S103 - the container's uid owns nothing and must read it
        self._made.add(parts)
        self._count()

    def _keep_links(self) -> None:
        faults = dangling(self._links, self._made)
        for parts, target in self._links.items():
            if (reason := faults.get(parts)) is not None:
                self._leave(parts, reason)
                continue
            self._make_parents(parts)
            with self._destination.parent(parts) as (directory, name):
                os.symlink(target, name, dir_fd=directory)
            self._files += 1

    def _count(self) -> None:
        """Hold the inodes made so far against their cap; the root is no one's."""
        if len(self._made) - 1 + len(self._links) > self._caps.max_files:
            raise _too_large(f"more than {self._caps.max_files} files, links and directories")

    def _leave(self, parts: Parts, reason: str) -> None:
        self._left_count += 1
        if len(self._left) < MAX_REPORTED:
            name = "/".join(parts).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            self._left.append(LeftOut(path=name, reason=reason))


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(mode: int) -> str:
    kinds = {stat.S_IFSOCK: "socket", stat.S_IFIFO: "named pipe", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}
    return kinds.get(stat.S_IFMT(mode), "not a regular file")


def _too_large(what: str) -> SnapshotError:
    return SnapshotError(
        f"cannot take the snapshot: the directory holds {what}",
        resolution="narrow `read`, add to `hide`, or raise `snapshot` in the profile",
    )
