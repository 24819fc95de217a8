"""Who is at the other end of the control socket, by the kernel's word (W1).

Owns reading the peer's identity when a connection is made, before a byte of it is read. A request can say nothing about itself.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

    from starlette.types import ASGIApp, Receive, Scope, Send

PEER = "runner.peer"  #: the scope's key
_SO_PEERPIDFD = 77  #: Linux 6.5; socket has no name for it before Python 3.14


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A connected process. `ours` is false when it may be in another pid namespace: a container's."""

    uid: int
    pid: int
    ours: bool


def peer_of(connection: socket.socket) -> Peer:
    """The process that connected; a pidfd, where the kernel has one, keeps a reused pid from standing in for it.

    Raises:
        OSError: The kernel does not say.
    """
    size = struct.calcsize("3i")
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    pidfd = _pidfd(connection)
    try:
        ours = pid > 0 and (_same_namespace(pid) or (uid == 0 and os.geteuid() != 0))
        return Peer(uid=uid, pid=pid, ours=ours and (pidfd is None or _alive(pidfd)))
    finally:
        if pidfd is not None:
            os.close(pidfd)


def _pidfd(connection: socket.socket) -> int | None:
    with suppress(OSError):
        return connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    return None


def _alive(pidfd: int) -> bool:
    """A pidfd turns readable when its process ends."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return not poll.poll(0)


def _same_namespace(pid: int) -> bool:
    """Only root's links are unreadable to us, and root is the operator wherever it stands."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/ns/pid").readlink() == Path("/proc/self/ns/pid").readlink()
    return False


class PeerProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, with the peer put into every request's scope."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Read the credentials of the process that connected.

        Args:
            transport: The accepted connection.
        """
        super().connection_made(transport)
        try:
            peer = peer_of(transport.get_extra_info("socket"))
        except OSError:
            transport.abort()
            return
        self.app = _with_peer(self.app, peer)


def _with_peer(app: ASGIApp, peer: Peer) -> ASGIApp:
    async def called(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, PEER: peer}, receive, send)

    return called
