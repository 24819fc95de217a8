"""Another run's container beside a script's, and this process: whether they go on while somebody floods.

Everything is told relative to how it was in the same run without the flood: no figure depends on how fast a machine is.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass

import psutil

from runner.errors import SandboxError
from runner.sandbox.box import Box

_PAUSE = 0.02
_QUIET_ROUNDS = 25
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What a script cost the others. `slower`: another run's median round trip, as a multiple of a quiet one's."""

    seconds: float
    slower: float
    stall: float  #: longest time that nothing else got its turn here, as a share of `seconds`
    memory: int  #: MiB that this process grew by, at most
    handles: int  #: file handles that it grew by, at most


class Neighbour:
    """Echoes through a container of its own, round after round."""

    def __init__(self, box: Box) -> None:
        """A container that echoes lines."""
        self._box = box
        self._quiet = 0.0
        self._process = psutil.Process()

    async def settle(self) -> None:
        """Take the measure of a quiet host."""
        rounds = [await self._round() for _ in range(_QUIET_ROUNDS)]
        self._quiet = max(statistics.median(rounds), 1e-4)

    async def beside(self, stop: asyncio.Event) -> Measure:
        """Go on echoing until told to stop."""
        began = last = time.monotonic()
        memory, handles = self._own()
        rounds, late, most, held = [], 0.0, 0, 0
        while not stop.is_set():
            rounds.append(await self._round())
            await asyncio.sleep(_PAUSE)
            now = time.monotonic()
            late, last = max(late, now - last - _PAUSE), now
            grown, more = self._own()
            most, held = max(most, grown - memory), max(held, more - handles)
        seconds = max(time.monotonic() - began, 1e-3)
        slower = statistics.median(rounds) / self._quiet if rounds else 1.0
        return Measure(seconds=seconds, slower=slower, stall=late / seconds, memory=most // _MIB, handles=held)

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
