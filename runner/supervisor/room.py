"""Whether this machine has room for one more agent: what is really free, not what was promised (issue 7, resource policy)."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil

_log = logging.getLogger(__name__)

MIB = 1024 * 1024
#: What one more agent takes at first; measured, with some to spare.
AGENT = 192 * MIB
#: Seconds until a container that was just let in is seen in what is free.
SETTLE = 5.0


def _memory() -> int:
    return int(psutil.virtual_memory().available)


def _load() -> float:
    return psutil.getloadavg()[0] / (psutil.cpu_count() or 1)


@dataclass(slots=True, kw_only=True)
class Room:
    """Looks at memory and load when it is asked."""

    reserve: int  #: bytes that stay free
    max_load: float  #: of a minute, for each CPU
    memory: Callable[[], int] = _memory
    load: Callable[[], float] = _load
    now: Callable[[], float] = time.monotonic
    _let_in: deque[float] = field(default_factory=deque)
    _said: str | None = None

    def short(self, *, others: bool = True) -> str | None:
        """What there is too little of for one more, in words; None: it fits.

        Args:
            others: Whether agents run already: without any, load is somebody else's and no reason to wait.
        """
        now = self.now()
        while self._let_in and now - self._let_in[0] > SETTLE:
            self._let_in.popleft()
        free = self.memory() - AGENT * len(self._let_in)
        if free < self.reserve + AGENT:
            return f"memory is short: {max(free, 0) // MIB} MiB free, {(self.reserve + AGENT) // MIB} wanted"
        load = self.load()
        if others and load > self.max_load:
            return f"the machine is busy: load {load:.1f} for each CPU, at most {self.max_load:g} wanted"
        return None

    def let_in(self, *, others: bool) -> bool:
        """Ask for one more, and count it when it fits. What runs wait for is logged once."""
        said = self.short(others=others)
        if said is not None and self._said is None:
            _log.warning("runs wait: %s", said)
        self._said = said
        if said is None:
            self._let_in.append(self.now())
        return said is None
