"""Stopping without losing anything: segments park or end, effects under way are recorded."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass

from runner.supervisor.effects import Effects
from runner.supervisor.live import Live
from runner.supervisor.segment import Conductor

_log = logging.getLogger(__name__)

#: Seconds that segments have to destroy their containers.
DRAIN_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Parks every live segment and waits for it, and for effects."""

    conductor: Conductor
    live: Live
    effects: Effects

    async def finish(self) -> None:
        """Ask every segment to park and wait; what is left after `DRAIN_SECONDS` is recovered at the next start."""
        self.conductor.close()
        self.live.park()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.live.emptied(), DRAIN_SECONDS)
        for segment in self.live.all():
            _log.warning("attempt %s did not end in time; it is recovered at the next start", segment.attempt)
        await self.effects.settled()
