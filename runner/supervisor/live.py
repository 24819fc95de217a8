"""The segments that have a container in this process right now."""

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
    """Live segments by run; a run has one at the most."""

    def __init__(self) -> None:
        self._segments: dict[RunId, LiveSegment] = {}
        self._empty = asyncio.Event()
        self._empty.set()

    def add(self, segment: LiveSegment) -> None:
        """A segment begins."""
        self._segments[segment.attempt.run] = segment
        self._empty.clear()

    def remove(self, segment: LiveSegment) -> None:
        """A segment has ended; a later attempt of the same run stays."""
        if self._segments.get(segment.attempt.run) is segment:
            del self._segments[segment.attempt.run]
        if not self._segments:
            self._empty.set()

    def get(self, run: RunId) -> LiveSegment | None:
        """The run's segment, if it has a container here."""
        return self._segments.get(run)

    async def emptied(self) -> None:
        """Wait until there is none."""
        await self._empty.wait()

    def all(self) -> tuple[LiveSegment, ...]:
        """Every live segment."""
        return tuple(self._segments.values())
