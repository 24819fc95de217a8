"""The container's end of the gateway: one unix socket, few connections, each with an end (M6).

Owns binding and the life of connections. uvicorn's h11 protocol is driven directly by the event loop: no signal handler, no
polling, and none of the idle or half-open connections that a plain server would keep.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from runner.errors import GatewayError
from runner.gateway.doorway import Doorway
from runner.gateway.peers import Peers
from runner.gateway.timed import TimedProtocol
from runner.gateway.values import GatewayLimits

SOCKET_NAME = "api.sock"
_LONGEST_ADDRESS = 107  #: bytes of `sun_path`

App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

#: The container can provoke warnings at will, and none is worth a line; an error is a fault of ours.
_LOG = logging.getLogger("runner.gateway.wire")
_LOG.setLevel(logging.ERROR)


class _Protocol(TimedProtocol):
    """A connection that is refused unless it may knock."""

    admit: Peers
    coming: set[asyncio.Protocol]

    def welcome(self, transport: asyncio.Transport) -> bool:
        self.coming.discard(self)
        return not self.over.is_set() and self.admit(transport.get_extra_info("socket"))

    def send_400_response(self, msg: str) -> None:
        """End what is malformed: a request under way would find itself answered, which the log has as a fault of ours."""
        if self.asked:
            self.transport.abort()
        else:
            super().send_400_response(msg)


class Listener:
    """A bound, mode 0666 unix socket and the connections it has accepted.

    The socket itself is open to every uid, since the container has one of its own; who reaches it is settled by the 0700
    directory above and by the one container it is mounted into.

    Args:
        directory: Holds `api.sock`; must exist.
        app: Answers each request.
        limits: Caps.
        admit: Asked about each connection; False ends it unheard.
        crowded: Told of each that is ended unheard because there are as many as may be.
    """

    def __init__(self, directory: Path, app: App, *, limits: GatewayLimits, admit: Peers, crowded: Callable[[], None]) -> None:
        self._path = directory / SOCKET_NAME
        self._limits, self._crowded = limits, crowded
        self._state = ServerState()
        self._doorway: Doorway | None = None
        self._config = uvicorn.Config(
            app,
            interface="asgi3",
            http="h11",
            ws="none",
            lifespan="off",
            proxy_headers=False,
            log_config=None,
            access_log=False,
            h11_max_incomplete_event_size=limits.head_bytes,
        )
        self._over = asyncio.Event()
        self._coming: set[asyncio.Protocol] = set()  #: taken, and not yet among the state's connections
        rules = {"admit": staticmethod(admit), "over": self._over, "coming": self._coming, "log": _LOG}
        rules |= {"head_seconds": limits.head_seconds, "whole_seconds": limits.request_seconds}
        self._kind = type("_LimitedProtocol", (_Protocol,), rules)

    async def open(self) -> None:
        """Bind and listen.

        Raises:
            GatewayError: The directory is missing, or a socket is already there.
        """
        self._config.load()
        try:
            listening = _bind(self._path)
        except OSError as error:
            raise GatewayError(f"cannot open the gateway's socket: {error.strerror}", details=str(self._path)) from None
        self._doorway = Doorway(listening, self._connection, room=self._room, crowded=self._crowded)

    def shut(self) -> None:
        """Take no further connection and remove the socket; what is under way goes on."""
        if self._doorway is not None:
            self._doorway.close()
            self._doorway = None
            self._path.unlink(missing_ok=True)

    async def close(self) -> None:
        """Shut, end every connection and cancel what answers them."""
        self.shut()
        self._over.set()
        for connection in list(self._state.connections):
            connection.transport.abort()
        tasks = list(self._state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _room(self) -> bool:
        return len(self._state.connections) + len(self._coming) < self._limits.connections

    def _connection(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self._kind(self._config, self._state, {}, asyncio.get_running_loop())
        self._coming.add(made)
        return made


def _bind(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    handle = None
    try:
        address = os.fsencode(path)
        if len(address) > _LONGEST_ADDRESS:
            handle = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
            address = os.fsencode(f"/proc/self/fd/{handle}/{path.name}")
        listening.bind(address)
        path.chmod(0o666)
    except OSError:
        listening.close()
        raise
    finally:
        if handle is not None:
            os.close(handle)
    return listening
