"""How many agents start at once: starting is CPU alone, and twenty that start side by side all take twenty times as long."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

#: Starts at once for each CPU: one may wait for the engine while the other computes.
EACH = 2
#: Seconds after which one that has not answered holds up nobody any more.
LONGEST = 15.0


class Starts:
    """Lets in who starts, in the order they came.

    Args:
        most: At once; None: by this machine's CPUs.
    """

    def __init__(self, most: int | None = None) -> None:
        self._free = asyncio.Semaphore(most or EACH * (os.cpu_count() or 1))

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Callable[[], None]]:
        """Wait for one's turn; it ends when the caller says so by what is given, or at the end."""
        await self._free.acquire()
        ended = False

        def end() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._free.release()

        late = asyncio.get_running_loop().call_later(LONGEST, end)
        try:
            yield end
        finally:
            late.cancel()
            end()
