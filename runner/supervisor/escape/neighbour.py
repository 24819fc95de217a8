"""Another run's container beside a script's, and this process: whether they go on while somebody floods.

Times are judged relative to the same beside a script that does nothing, in the same run: no figure depends on how fast a
machine is.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import psutil

from runner.errors import SandboxError
from runner.sandbox.box import Box

#: Seconds between two looks of each kind.
_PAUSE, _TICK = 0.02, 0.005
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What others had of a script; times in seconds."""

    seconds: float
    latency: float  #: another run's median round trip
    stall: float  #: the longest that nothing else of this process got its turn
    memory: int  #: MiB that this process grew by, at most
    handles: int  #: file handles that it grew by, at most


def usual(measures: list[Measure]) -> Measure:
    """Of each figure the median: one bad moment of the machine is no yardstick."""
    return Measure(
        seconds=statistics.median(one.seconds for one in measures),
        latency=statistics.median(one.latency for one in measures),
        stall=statistics.median(one.stall for one in measures),
        memory=statistics.median_high(one.memory for one in measures),
        handles=statistics.median_high(one.handles for one in measures),
    )


class Neighbour:
    """Echoes through a container of its own, round after round."""

    def __init__(self, box: Box) -> None:
        """A container that echoes lines."""
        self._box = box
        self._process = psutil.Process()
        self._late = 0.0
        self._memory = self._handles = 0

    async def beside(self, stop: asyncio.Event) -> Measure:
        """Go on echoing until told to stop."""
        began = time.monotonic()
        memory, handles = self._own()
        self._late, self._memory, self._handles = 0.0, memory, handles
        async with self._watching():
            rounds = [await self._round()]
            while not stop.is_set():
                await asyncio.sleep(_PAUSE)
                rounds.append(await self._round())
        return Measure(
            seconds=time.monotonic() - began,
            latency=statistics.median(rounds),
            stall=self._late,
            memory=(self._memory - memory) // _MIB,
            handles=self._handles - handles,
        )

    @contextlib.asynccontextmanager
    async def _watching(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            last = time.monotonic()
            await asyncio.sleep(_TICK)
            self._late = max(self._late, time.monotonic() - last - _TICK)
            memory, handles = self._own()
            self._memory, self._handles = max(self._memory, memory), max(self._handles, handles)

    async def _round(self) -> float:
        began = time.monotonic()
        await self._box.send(b"x\n")
        heard = b""
        while not heard.endswith(b"\n"):
            chunk = await self._box.receive()
            if chunk is None:
                raise SandboxError("cannot go on: the container beside the script has ended")
            heard += chunk.data
        return time.monotonic() - began

    def _own(self) -> tuple[int, int]:
        return self._process.memory_info().rss, self._process.num_fds()
