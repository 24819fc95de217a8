"""Where a container's connections are taken: no more than there is room for, and none while there is none (M6).

Owns the listening socket. The event loop's own server takes whatever comes as fast as it comes, which a flood that is
ended at once still turns into a busy supervisor.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

#: Connections that are taken before anything else of the loop has its turn.
_AT_ONCE = 16
#: Seconds that nobody is taken after one came for whom there was no room.
_PAUSE = 0.05


class Doorway:
    """Takes connections at a bound socket until it is closed.

    Args:
        listening: Bound, not blocking; closed with this.
        connection: Makes the protocol of each connection, as soon as it is taken.
        room: Asked before each.
        crowded: Told of each for whom there was no room; it is ended unheard.
    """

    def __init__(
        self,
        listening: socket.socket,
        connection: Callable[[], asyncio.Protocol],
        *,
        room: Callable[[], bool],
        crowded: Callable[[], None],
    ) -> None:
        self._listening, self._connection = listening, connection
        self._room, self._crowded = room, crowded
        self._loop = asyncio.get_running_loop()
        self._taking: set[asyncio.Task[object]] = set()
        self._pausing: asyncio.TimerHandle | None = None
        self._closed = False
        listening.listen(_AT_ONCE)
        self._begin()

    def close(self) -> None:
        """Take no further connection; those taken go on."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._listening)
        if self._pausing is not None:
            self._pausing.cancel()
        self._listening.close()

    def _begin(self) -> None:
        self._loop.add_reader(self._listening, self._take)

    def _take(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                taken, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no handle is left for it: it waits where it is
                self._pause()
                return
            if not self._room():
                taken.close()
                self._crowded()
                self._pause()
                return
            self._give_protocol(taken)

    def _give_protocol(self, taken: socket.socket) -> None:
        protocol = self._connection()
        taken.setblocking(False)  # noqa: FBT003 -- its name
        task = self._loop.create_task(self._loop.connect_accepted_socket(lambda: protocol, taken))
        self._taking.add(task)
        task.add_done_callback(self._taking.discard)

    def _pause(self) -> None:
        if not self._closed:
            self._loop.remove_reader(self._listening)
            self._pausing = self._loop.call_later(_PAUSE, self._begin)
