"""What `paths` needs to know of a directory, and what it answers when it cannot prove a path."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class EntryKind(Enum):
    """What a name in a directory is, the name itself and not where it leads."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    SPECIAL = "special"  #: socket, pipe, device
    ABSENT = "absent"


class DirectoryView(Protocol):
    """Entries beneath one root, which is /workspace to the container.

    `parts` are names beneath that root. Every method looks at the entry itself and follows no link; it raises OSError on any
    trouble, which refuses the path.
    """

    def kind(self, parts: tuple[str, ...]) -> EntryKind:
        """What stands there; ABSENT when nothing does."""
        ...

    def link_target(self, parts: tuple[str, ...]) -> str:
        """The text of a link."""
        ...

    def hard_links(self, parts: tuple[str, ...]) -> int:
        """How many names a file has."""
        ...

    def size(self, parts: tuple[str, ...]) -> int:
        """A file's size in bytes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRefusal:
    """Why a path is not provably inside; `reason` is a sentence and never repeats the path."""

    rule: str
    reason: str
