"""How often something may happen: a burst, refilled at a steady pace."""

from __future__ import annotations

import time
from collections.abc import Callable


class Allowance:
    """A token bucket.

    Args:
        burst: How many may come at once.
        per_second: How fast that refills.
        clock: Monotonic seconds.
    """

    def __init__(self, burst: int, per_second: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._per_second, self._clock = float(burst), per_second, clock
        self._left, self._seen = float(burst), clock()

    def take(self) -> bool:
        """Use one up; False when none is left."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._seen) * self._per_second)
        self._seen = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
