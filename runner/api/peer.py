"""Who is at the other end of the control socket, by the kernel's word (W1, W4).

Owns reading the peer's identity when a connection is made, before a byte of it is read. A request can say nothing about itself.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

from runner.gateway import connected, containers_in

if TYPE_CHECKING:
    import asyncio

    from starlette.types import ASGIApp, Receive, Scope, Send

PEER = "runner.peer"  #: the scope's key

_PTS, _TTY = 136, 4  #: major numbers of terminals


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A connected process. `ours` is false when it may be in a container: another pid namespace, or a container's cgroup."""

    uid: int
    pid: int
    ours: bool
    tty: str | None = field(default=None, compare=False)  #: the terminal it belongs to


def peer_of(connection: socket.socket) -> Peer:
    """The process that connected; a pidfd, where the kernel has one, keeps a reused pid from standing in for it.

    Raises:
        OSError: The kernel does not say.
    """
    with connected(connection) as peer:
        pid, uid = peer.pid, peer.uid
        ours = pid > 0 and (_same_namespace(pid) or (uid == 0 and os.geteuid() != 0)) and not _contained(pid)
        tty = _terminal(pid) if ours else None
        return Peer(uid=uid, pid=pid, ours=ours and peer.lives(), tty=tty)


def _same_namespace(pid: int) -> bool:
    """Only root's links are unreadable to us, and root is the operator wherever it stands."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/ns/pid").readlink() == Path("/proc/self/ns/pid").readlink()
    return False


def _contained(pid: int) -> bool:
    """Whether it is in a container that we are not in: one that shares the host's pid namespace shows in its cgroups."""
    try:
        theirs = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8", errors="replace")
        own = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return bool(containers_in(theirs) - containers_in(own))


def _terminal(pid: int) -> str | None:
    """Its controlling terminal, as the kernel has it."""
    try:
        number = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[4])
    except (OSError, ValueError, IndexError):
        return None
    major, minor = number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00
    if not number:
        return None
    return f"pts/{minor}" if major == _PTS else f"tty{minor}" if major == _TTY else f"{major}:{minor}"


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
