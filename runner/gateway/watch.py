"""Who is told what a gateway noticed of its container, so that it goes on record."""

from __future__ import annotations

from typing import Protocol


class Watch(Protocol):
    """Stands above; is told at once, and never waited for."""

    def stranger(self, pid: int, uid: int) -> None:
        """A process that is not the container's knocked; it was not heard. Zeros where the kernel does not say who."""

    def lie(self, what: str) -> None:
        """The container tells its model what is not so; the door is shut."""


class Nobody:
    """For a door that no agent of a person stands behind."""

    def stranger(self, pid: int, uid: int) -> None:
        """Nothing to note."""

    def lie(self, what: str) -> None:
        """Nothing to note."""
