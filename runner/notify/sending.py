"""One try to hand a message to a channel, with a deadline that the channel cannot move.

Each try has a thread of its own that nobody waits for longer than that: whatever a channel does, it holds up no effect, no
decision, no other channel and no shutdown.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Protocol

from runner.notify.words import Message


class Undelivered(Exception):  # noqa: N818 -- an answer of a channel, not an error of ours
    """Why a channel did not take a message; without anything of its URL."""


class Channel(Protocol):
    """Where notices go. `send` blocks."""

    @property
    def name(self) -> str:
        """As rows and people know it."""
        ...

    def send(self, message: Message) -> None:
        """Hand a message over.

        Raises:
            Undelivered: It was not taken.
        """
        ...


class Courier:
    """Sends to one channel, one message at a time."""

    def __init__(self, channel: Channel, *, deadline: float) -> None:
        self.name = channel.name
        self._channel = channel
        self._deadline = deadline
        self._thread: threading.Thread | None = None

    async def send(self, message: Message) -> str | None:
        """Try once; None when it was taken, else why not."""
        if self._thread is not None and self._thread.is_alive():
            return "it has not answered an earlier one yet"
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str | None] = loop.create_future()

        def work() -> None:
            said = self._try(message)
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, answer, said)

        self._thread = threading.Thread(target=work, name=f"notify-{self.name}", daemon=True)
        self._thread.start()
        try:
            async with asyncio.timeout(self._deadline):
                return await answer
        except TimeoutError:
            return f"it did not answer within {self._deadline:g} s"

    def _try(self, message: Message) -> str | None:
        try:
            self._channel.send(message)
        except Undelivered as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 -- whatever breaks in a channel is that channel's failure and nobody else's
            return type(error).__name__
        return None


def _settle(answer: asyncio.Future[str | None], said: str | None) -> None:
    if not answer.done():
        answer.set_result(said)
