"""A connection of uvicorn's h11 protocol that is heard only if it is welcome, says nothing in a log, and has an end.

What the container's socket and the network's door have in common. Each makes a class of its own from this one.
"""

from __future__ import annotations

import asyncio
import logging
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol


class TimedProtocol(H11Protocol):
    """Set on the class: `log`, for faults of ours; seconds to the end of the first head, and of the whole; `over`: all is."""

    log: logging.Logger
    head_seconds: float
    whole_seconds: float
    over: asyncio.Event
    timers: tuple[asyncio.TimerHandle, ...] = ()

    def welcome(self, transport: asyncio.Transport) -> bool:
        """Whether it is heard; asked once."""
        del transport
        return True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, if it is welcome. One that was taken just before the end comes here after it: nobody else would end it."""
        super().connection_made(transport)
        self.logger = self.log
        self.access_log = False
        if not self.welcome(transport) or self.over.is_set():
            transport.abort()
            return
        self.timers = (
            self.loop.call_later(self.head_seconds, self._end_unless_asked),
            self.loop.call_later(self.whole_seconds, transport.abort),
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        for timer in self.timers:
            timer.cancel()
        super().connection_lost(exc)

    @property
    def asked(self) -> bool:
        """Whether a head has come."""
        return cast("object", self.cycle) is not None  # None until then, whatever its annotation says

    def _end_unless_asked(self) -> None:
        if not self.asked:
            self.transport.abort()
