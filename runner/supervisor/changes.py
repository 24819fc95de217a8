"""A bell that rings when rows changed, so that waiting clients and segments look again. It carries no state of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class Changes:
    """Wakes everyone who waits; who wakes reads the rows again, so a missed or extra ring is harmless."""

    def __init__(self) -> None:
        self._bell = asyncio.Event()
        self._heard: list[Callable[[], None]] = []

    def ring(self) -> None:
        """Something changed."""
        self._bell.set()
        self._bell = asyncio.Event()
        for call in self._heard:
            call()

    def tell(self, call: Callable[[], None]) -> None:
        """Call this at every ring; it must be quick and never raise."""
        self._heard.append(call)

    async def until(self, look: Callable[[], Awaitable[T | None]], *, seconds: float | None, every: float = 5.0) -> T | None:
        """Call `look` after each ring, and every so often without one, until it gives something or time is up.

        Args:
            look: Reads rows; None means not yet.
            seconds: How long at most; None waits for ever.
            every: Seconds after which it looks without a ring: another process may have written.
        """
        loop = asyncio.get_running_loop()
        end = None if seconds is None else loop.time() + seconds
        while True:
            bell = self._bell
            found = await look()
            if found is not None:
                return found
            wait = every if end is None else min(every, end - loop.time())
            if wait <= 0:
                return None
            # Not wait_for: before Python 3.12 it swallows a cancellation that comes together with the ring.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await bell.wait()
