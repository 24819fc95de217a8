"""The attempts under way in this process right now."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from runner.model import Attempt, RunId


@dataclass(slots=True, kw_only=True)
class LiveSegment:
    """One attempt's handle for the rest of the supervisor."""

    attempt: Attempt
    snapshot: Path
    proven: bool = False  #: the container's first process has reported and fits
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    park: asyncio.Event = field(default_factory=asyncio.Event)


class Live:
    """Attempts under way in this process. A run has one; a second one can only be about to find that it is stale."""

    def __init__(self) -> None:
        self._segments: list[LiveSegment] = []
        self._empty = asyncio.Event()
        self._empty.set()

    def add(self, segment: LiveSegment) -> None:
        """An attempt begins."""
        self._segments.append(segment)
        self._empty.clear()

    def remove(self, segment: LiveSegment) -> None:
        """An attempt has ended: its container is gone and its end on record."""
        self._segments = [other for other in self._segments if other is not segment]
        if not self._segments:
            self._empty.set()

    def get(self, run: RunId) -> LiveSegment | None:
        """The run's newest attempt under way here."""
        return max((one for one in self._segments if one.attempt.run == run), key=_age, default=None)

    def park(self) -> None:
        """Ask every attempt to park: it goes on later, in another container."""
        for segment in self._segments:
            segment.park.set()

    async def emptied(self) -> None:
        """Wait until there is none."""
        await self._empty.wait()

    def all(self) -> tuple[LiveSegment, ...]:
        """Every attempt under way."""
        return tuple(self._segments)


def _age(segment: LiveSegment) -> Attempt:
    return segment.attempt
