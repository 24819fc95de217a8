"""Whose pictures are decoded when: the owner's wait for no contact's, each contact's one at a time, and so many an hour.

Decoding is the dearest thing that a sender can have done before anything of theirs is kept, so it is bounded by itself: a
capture whose pictures do not decode never arrives, and would count nowhere else (issue 8).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from runner.captures.refusals import refused
from runner.model import Sender, SenderKind
from runner.supervisor.progress import Clock

#: Pictures decoded at the same time, of the owner's captures and of all others'; more wait.
AT_ONCE = 2
_HOUR = 3600.0


class Turns:
    """Places to decode at."""

    def __init__(self) -> None:
        self._owner, self._others = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(AT_ONCE)
        self._each: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, sender: Sender) -> AsyncIterator[None]:
        """Wait for a place; whoever has many pictures stands in the queue of all with one of them."""
        if sender.kind is SenderKind.OWNER:
            async with self._owner:
                yield
            return
        lock = self._each.setdefault(sender.fingerprint or "", asyncio.Lock())
        async with lock, self._others:
            yield


class Attempts:
    """Captures of each sender whose pictures are being decoded, or were not to be decoded, within the last hour.

    Args:
        clock: Epoch seconds.
        most: So many of one sender; one more is refused.
    """

    def __init__(self, clock: Clock, *, most: int) -> None:
        self._clock, self._most = clock, most
        self._lately: dict[str, deque[float]] = {}

    def check(self, fingerprint: str) -> None:
        """See whether one more may be tried.

        Raises:
            DeliveryError: `rate`.
        """
        now, lately = self._clock(), self._lately.get(fingerprint, deque())
        while lately and lately[0] <= now - _HOUR:
            lately.popleft()
        if len(lately) >= self._most:
            wait = max(1, round(lately[0] + _HOUR - now))
            raise refused("rate", more=f"at most {self._most} an hour whose pictures cannot be decoded", retry_after=wait)

    def begin(self, fingerprint: str) -> float:
        """Count one; what `arrived` takes back.

        Raises:
            DeliveryError: `rate`.
        """
        self.check(fingerprint)
        began = self._clock()
        self._lately.setdefault(fingerprint, deque()).append(began)
        return began

    def arrived(self, fingerprint: str, began: float) -> None:
        """It was decoded and taken, and counts among the captures of the hour instead."""
        lately = self._lately.get(fingerprint, deque())
        if began in lately:
            lately.remove(began)
