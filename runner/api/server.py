"""HTTP over unix sockets that we bind ourselves: uvicorn's own `uds=` opens them to everybody and hides the peer.

Owns the socket's file and the server's life inside the supervisor's loop. Several may live there; none touches signals.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
from collections.abc import Collection, Generator
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from runner.api.access import People
from runner.api.admission import Admission
from runner.api.application import make_application
from runner.api.peer import PeerProtocol
from runner.errors import SupervisorUnavailableError
from runner.settings import CONTROL_SOCKET, private_directory

if TYPE_CHECKING:
    from runner.api.service import Service

_BACKLOG = 128
_CONNECTIONS = 256
#: Seconds a request may go on after stop; a waiting client asks again elsewhere.
_GRACE = 1


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the supervisor has its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class ControlServer:
    """The control socket of one supervisor.

    Args:
        service: Answers the requests.
        directory: Where the socket is; made private if it is missing.
        approvers: Uids that may read and decide besides this process's own.
        admission: What is asked before something is released.
    """

    def __init__(self, service: Service, *, directory: Path, approvers: Collection[int], admission: Admission) -> None:
        self._service = service
        self._directory = directory
        self._admission = admission
        self._people = People(operator=os.geteuid(), approvers=frozenset(approvers))
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._bound: tuple[int, int] | None = None  # device and inode of our socket's file

    @property
    def path(self) -> Path:
        """The socket's file."""
        return self._directory / CONTROL_SOCKET

    async def start(self) -> None:
        """Bind and serve; returns once requests are answered.

        Raises:
            SettingsError: The directory is not ours alone.
            SupervisorUnavailableError: Another supervisor answers there, or something that is no socket is in the way.
        """
        private_directory(self._directory)
        bound = bind_private(self.path)
        found = self.path.lstat()
        self._bound = (found.st_dev, found.st_ino)
        self._server = _Server(_config(make_application(self._service, people=self._people, admission=self._admission)))
        self._task = asyncio.create_task(self._server.serve(sockets=[bound]))
        while not self._server.started:
            if self._task.done():
                self._task.result()
                raise SupervisorUnavailableError("cannot serve the control socket: the server ended at once")
            await asyncio.sleep(0.005)

    async def stop(self) -> None:
        """Stop serving and remove the socket's file, if it is still ours. A second call does nothing."""
        if self._server is None or self._task is None:
            return
        self._server.should_exit = True
        await self._task
        self._server = self._task = None
        with contextlib.suppress(FileNotFoundError):
            found = self.path.lstat()
            if (found.st_dev, found.st_ino) == self._bound:
                self.path.unlink()


def bind_private(path: Path) -> socket.socket:
    """A listening unix socket of mode 0600 in a directory that is ours alone, however long its path.

    Raises:
        SupervisorUnavailableError: Somebody answers there already, or what is there is no socket of ours.
    """
    handle = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        address = f"/proc/self/fd/{handle}/{path.name}"  # a path of more than 107 bytes cannot be bound
        _remove_stale(path, handle=handle, address=address)
        before = os.umask(0o177)
        try:
            listener.bind(address)
        finally:
            os.umask(before)
        listener.listen(_BACKLOG)
        listener.settimeout(0)
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(handle)
    return listener


def _remove_stale(path: Path, *, handle: int, address: str) -> None:
    """Remove the socket of a supervisor that is gone; anything else there is left and refused (case 36)."""
    try:
        found = os.lstat(path.name, dir_fd=handle)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        raise SupervisorUnavailableError(
            f"cannot serve {path}: what is there is no socket of ours", resolution=f"look at {path} and remove it"
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        with contextlib.suppress(ConnectionRefusedError, FileNotFoundError):
            probe.connect(address)
            raise SupervisorUnavailableError(
                f"cannot serve {path}: another supervisor answers there", resolution="runner status shows it; stop it first"
            )
    os.unlink(path.name, dir_fd=handle)


def _config(app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=PeerProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE,
    )
