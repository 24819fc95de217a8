"""An in-memory directory tree as the container would see it."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass, field

from runner.paths import EntryKind


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True)
class Special:
    """A socket, pipe or device."""


@dataclass(frozen=True)
class Broken:
    """An entry that cannot be looked at."""

    code: int = errno.EACCES


@dataclass(frozen=True)
class File:
    """A file with a size and a number of names."""

    size: int = 5
    links: int = 1


@dataclass(frozen=True)
class TreeView:
    """A `DirectoryView` over a mapping from path text to entry; parent directories need no entry of their own.

    `TreeView({"in.txt": File(), "ok": Link("sub"), "sub/a.txt": File()})`. A bare directory is `{"empty": {}}`.
    """

    entries: Mapping[str, object] = field(default_factory=dict)
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def kind(self, parts: tuple[str, ...]) -> EntryKind:
        """What stands at `parts`."""
        self.calls.append(parts)
        entry = self._entry(parts)
        if isinstance(entry, Broken):
            raise OSError(entry.code, "planted")
        kinds = {File: EntryKind.FILE, Link: EntryKind.LINK, Special: EntryKind.SPECIAL, dict: EntryKind.DIRECTORY}
        return kinds[type(entry)] if entry is not None else EntryKind.ABSENT

    def link_target(self, parts: tuple[str, ...]) -> str:
        """A link's text."""
        entry = self._entry(parts)
        if not isinstance(entry, Link):
            raise OSError(errno.EINVAL, "not a link")
        return entry.target

    def hard_links(self, parts: tuple[str, ...]) -> int:
        """How many names a file has."""
        return self._file(parts).links

    def size(self, parts: tuple[str, ...]) -> int:
        """A file's size."""
        return self._file(parts).size

    def _file(self, parts: tuple[str, ...]) -> File:
        entry = self._entry(parts)
        if not isinstance(entry, File):
            raise OSError(errno.EINVAL, "not a file")
        return entry

    def _entry(self, parts: tuple[str, ...]) -> object:
        if not parts:
            return {}
        if any(len(name.encode()) > 255 for name in parts):
            raise OSError(errno.ENAMETOOLONG, "name too long")
        text = "/".join(parts)
        if text in self.entries:
            return self.entries[text]
        return {} if any(name.startswith(text + "/") for name in self.entries) else None
