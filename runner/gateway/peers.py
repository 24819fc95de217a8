"""Who may knock at a container's door: processes of that container, by the kernel's word (issue 7 point 3).

Owns reading the other end of a connection before a byte of it is heard. The socket lies in a private folder, so only root, the
operator's own programs and the container reach it; of these only the container is let in. Under gVisor its file server
connects, which stands in the container's control group too.
"""

from __future__ import annotations

import os
import re
import select
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

#: Whether the process at the other end of a connection may be heard.
Peers: TypeAlias = Callable[[socket.socket], bool]

_SO_PEERPIDFD = 77  #: Linux 6.5; socket has no name for it before Python 3.14
_CREDENTIALS = struct.Struct("3i")
#: A container's id as every engine writes it into a control group's path: /docker/ID, docker-ID.scope, libpod-ID.scope.
_CONTAINER = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", re.ASCII)


class Residents:
    """Lets in the processes of one container, and nobody before it is known which."""

    def __init__(self) -> None:
        self._container: str | None = None

    def are_of(self, container: str) -> None:
        """Say whose door this is; once."""
        self._container = self._container or container

    def __call__(self, connection: socket.socket) -> bool:
        """Whether the connected process is one of the container's."""
        return self._container is not None and self._container in containers_of(connection)


def who(connection: socket.socket) -> tuple[int, int]:
    """Pid and uid of the connected process, for the record; zeros where the kernel does not say."""
    try:
        with connected(connection) as peer:
            return peer.pid, peer.uid
    except OSError:
        return 0, 0


def containers_of(connection: socket.socket) -> frozenset[str]:
    """Ids of the containers whose control groups the connected process stands in; none when that is not to be known.

    Version 1 of control groups has a line for each hierarchy, version 2 one; in either a process of the container cannot change
    its own.
    """
    try:
        with connected(connection) as peer:
            groups = Path(f"/proc/{peer.pid}/cgroup").read_text(encoding="utf-8", errors="replace") if peer.pid > 0 else ""
            return containers_in(groups) if peer.lives() else frozenset()
    except OSError:
        return frozenset()


def containers_in(groups: str) -> frozenset[str]:
    """Ids of the containers that a process's `/proc/PID/cgroup` names."""
    return frozenset(_CONTAINER.findall(groups))


class Connected(NamedTuple):
    """The process that connected. `lives` is asked last: what was read of a pid was the peer's own only if it still lives."""

    pid: int
    uid: int
    lives: Callable[[], bool]


@contextmanager
def connected(connection: socket.socket) -> Iterator[Connected]:
    """Who is at the other end, by the kernel's word; a pidfd, where the kernel has one, keeps a reused pid from standing in.

    Raises:
        OSError: The kernel does not say.
    """
    pid, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    pidfd = _pidfd(connection)
    try:
        yield Connected(pid, uid, lambda: pidfd is None or _alive(pidfd))
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
