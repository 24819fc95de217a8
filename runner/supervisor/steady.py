"""The supervisor's clock: epoch seconds that never go back and never stand still, whatever is done to the host's clock (L2).

Deadlines are kept by it. A host's clock that is set back gives no call more time; one that is set forward ends calls early,
which is a no. Time that the machine slept counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from runner.approvals import CLOCK_SLACK
from runner.store import Connection, audit


def since_boot() -> float:
    """Seconds since the machine started, sleep included; nobody can set them."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class SteadyClock:
    """Goes on as the seconds since boot do, or as the host's clock does where that is ahead.

    Args:
        wall: The host's clock.
        running: Seconds that only grow.
        known: The time of the newest thing on record. A clock that is behind it by less than a day was set back while no
            supervisor ran; one that is further behind is believed, and what it was asked then has ended.
    """

    def __init__(
        self, *, wall: Callable[[], float] = time.time, running: Callable[[], float] = since_boot, known: float = 0.0
    ) -> None:
        self._wall = wall
        self._running = running
        self._lock = threading.Lock()
        self._since, now = running(), wall()
        self._now = known if now < known <= now + CLOCK_SLACK else now

    def __call__(self) -> float:
        """The time now; asked from any thread."""
        with self._lock:
            since = self._running()
            self._now = max(self._now + since - self._since, self._wall())
            self._since = since
            return self._now


def known_time(conn: Connection) -> float:
    """When the newest thing on record happened; 0 when there is none."""
    newest = audit.after(conn, audit.length(conn) - 1, 1)
    return newest[0].time if newest else 0.0
