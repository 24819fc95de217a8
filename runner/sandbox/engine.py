"""The Docker Engine, and the only importer of its client.

Owns that every call ends: the client has a time-out, the awaiting side another, and threads of their own, so that an engine
that hangs holds up nobody else. Owns what the engine's failures mean. Decides nothing about a container.
"""

from __future__ import annotations

import asyncio
import functools
import os
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeVar, cast

import docker
import docker.errors
import requests.exceptions
from docker import APIClient as Client
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from runner.errors import SandboxError, SandboxUnavailableError
from runner.sandbox.confined import Confined
from runner.sandbox.host import EngineInfo, parse_info
from runner.sandbox.looking import look
from runner.sandbox.outside import Outside
from runner.sandbox.sentry import Sentry

__all__ = ["Attached", "Client", "Engine", "EngineInfo", "ImageInfo"]

DEFAULT_HOST = "unix:///var/run/docker.sock"
#: Containers and images of ours carry their facts as labels under these names.
CONTENT_LABEL, CLI_LABEL, BASE_LABEL = "runner.content", "runner.cli", "runner.base"
DEFINITIONS_LABEL = "runner.definitions"

_THREADS = 16
#: How much longer than the client the awaiting side waits, so that the client's own error is the usual one.
_GRACE = 5.0
_HEADERS = 16 * 1024
_READ_AHEAD = 256 * 1024
_HINT = "start the engine (`systemctl start docker`, or `dockerd` as root), or say where it is with DOCKER_HOST"
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageInfo:
    """A sandbox image. `content_digest` says what went into it; `built_seconds` is None when it was there already."""

    id: str
    tag: str
    content_digest: str
    size: int
    cli_version: str
    base: str
    definitions: str = ""  #: JSON: how this CLI describes its own tools to a model, once that is on record
    built_seconds: float | None = None


class Attached(NamedTuple):
    """A container's stdio, as the engine frames it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class Engine:
    """A local engine; every method raises SandboxUnavailableError when it does not answer, SandboxError when it refuses."""

    def __init__(self, *, host: str | None = None, deadline: float = 30.0) -> None:
        self._host = host or os.environ.get("DOCKER_HOST") or DEFAULT_HOST
        self._deadline = deadline
        self._closed = False
        self._local = threading.local()
        self._clients: list[Client] = []
        self._threads = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="engine")

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of every connection; calls under way end by their own time-out."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for client in self._clients:
            client.close()

    async def call(self, what: str, work: Callable[[Client], _Result], *, deadline: float | None = None) -> _Result:
        """Run blocking `work` with a client, within a deadline.

        Args:
            what: The verb for a message: "create the container".
            work: What to do; it may be left running when the deadline passes.
            deadline: Seconds, when the usual one is too short.
        """
        if self._closed:
            raise SandboxUnavailableError(f"cannot {what}: the connection to the engine is closed")
        limit = self._deadline if deadline is None else deadline
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(limit + _GRACE):
                return await loop.run_in_executor(self._threads, functools.partial(self._work, work, limit))
        except (TimeoutError, requests.exceptions.Timeout) as error:
            raise SandboxUnavailableError(
                f"cannot {what}: the engine did not answer within {limit:g} seconds",
                resolution="look at the engine's log; restart it if need be",
            ) from error
        except docker.errors.APIError as error:
            raise SandboxError(f"cannot {what}: the engine refused", details=str(error.explanation or error)[:2000]) from error
        except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
            raise SandboxUnavailableError(
                f"cannot {what}: no engine answers at {self._host}", details=str(error)[:2000], resolution=_HINT
            ) from error

    async def info(self) -> EngineInfo:
        """What the engine says of itself and its host."""
        facts, version = await self._read("ask the engine", lambda client: (client.info(), client.version()))
        return parse_info(facts, version)

    async def image(self, reference: str) -> ImageInfo | None:
        """An image by name or id; None when there is none."""
        found = await self._read(
            "look at the image", lambda client: _absent_as_none(lambda: cast("Any", client).inspect_image(reference))
        )
        if found is None:
            return None
        labels = (found.get("Config") or {}).get("Labels") or {}
        return ImageInfo(
            id=str(found["Id"]),
            tag=reference,
            content_digest=str(labels.get(CONTENT_LABEL, "")),
            size=int(found.get("Size", 0)),
            cli_version=str(labels.get(CLI_LABEL, "")),
            base=str(labels.get(BASE_LABEL, "")),
            definitions=str(labels.get(DEFINITIONS_LABEL, "")),
        )

    async def create(self, body: Mapping[str, Any]) -> str:
        """Create a container; never repeated, since a lost answer may hide one that was made.

        Returns:
            Its id.
        """
        made = await self.call(
            "create the container", lambda client: cast("Any", client).create_container_from_config(dict(body))
        )
        return str(made["Id"])

    async def start(self, container: str) -> None:
        """Start a container."""
        await self.call("start the container", lambda client: client.start(container))

    async def pause(self, container: str) -> None:
        """Stop every process of a container where it is."""
        await self.call("pause the container", lambda client: client.pause(container))

    async def unpause(self, container: str) -> None:
        """Let them go on."""
        await self.call("unpause the container", lambda client: client.unpause(container))

    async def inspect(self, container: str) -> dict[str, Any] | None:
        """The engine's description of a container; None when there is none."""
        return await self._read(
            "look at the container", lambda client: _absent_as_none(lambda: client.inspect_container(container))
        )

    async def look(self, pid: int, spec: Confined) -> Outside | Sentry:
        """A container's first process as this host sees it; see `looking`."""
        return await asyncio.to_thread(look, pid, spec)

    async def attach(self, container: str) -> Attached:
        """Stdin, stdout and stderr of a container, over a connection of its own that has no time-out (case 102).

        The request is written by hand: the client's reader may swallow the first bytes (case 99), and asyncio's streams
        bound what is read ahead.
        """
        path = await self._socket()
        version = await self.call("ask the engine", lambda client: str(client.api_version))
        try:
            async with asyncio.timeout(self._deadline):
                reader, writer = await asyncio.open_unix_connection(str(path), limit=_READ_AHEAD)
                try:
                    await _upgrade(reader, writer, target=f"/v{version}/containers/{container}/attach")
                except BaseException:
                    writer.close()
                    raise
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise SandboxUnavailableError(
                "cannot attach to the container: the engine did not answer", details=str(error), resolution=_HINT
            ) from error
        return Attached(reader, writer)

    async def kill(self, container: str) -> None:
        """Kill a container; one that does not run is dead enough."""
        await self.call("kill the container", lambda client: _ignore_gone(lambda: client.kill(container)))

    async def remove(self, container: str) -> None:
        """Kill and remove a container with its volumes; one that is gone already is removed."""
        await self.call(
            "remove the container", lambda client: _ignore_gone(lambda: client.remove_container(container, force=True, v=True))
        )

    async def find(self, labels: Mapping[str, str | None]) -> tuple[str, ...]:
        """Ids of all containers, running or not, that carry these labels; a None value fits any."""
        wanted = [name if value is None else f"{name}={value}" for name, value in labels.items()]
        rows = await self._read("list the containers", lambda client: client.containers(all=True, filters={"label": wanted}))
        return tuple(str(row["Id"]) for row in rows)

    async def _read(self, what: str, work: Callable[[Client], _Result]) -> _Result:
        """A question that may be asked again."""
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(SandboxUnavailableError),
            stop=stop_after_attempt(2),
            wait=wait_exponential(max=1),
            reraise=True,
        ):
            with attempt:
                return await self.call(what, work)
        raise AssertionError("tenacity neither returned nor raised")

    async def _socket(self) -> Path:
        scheme, _, path = self._host.partition("://")
        if scheme != "unix" or not path.startswith("/"):
            raise SandboxUnavailableError(
                f"cannot attach to the container: {self._host} is no local engine",
                resolution="set DOCKER_HOST to unix:///path/of/the.sock",
            )
        return Path(path)

    def _work(self, work: Callable[[Client], _Result], limit: float) -> _Result:
        client = cast("Client | None", getattr(self._local, "client", None))
        if client is None:
            _knock(self._host)
            client = _TidyClient(base_url=self._host, version="auto", timeout=int(max(1, limit)))
            self._local.client = client
            self._clients.append(client)
        client.timeout = int(max(1, limit))
        return work(client)


class _TidyClient(Client):
    """A client that leaves no connection open when it cannot be made: its constructor already talks to the engine."""

    def __init__(self, *, base_url: str, version: str, timeout: int) -> None:
        try:
            super().__init__(base_url=base_url, version=version, timeout=timeout)
        except BaseException as error:
            self.close()
            # An engine that refuses or stays silent here does so as at any other question; the client calls either no engine.
            if isinstance(error.__cause__, (docker.errors.APIError, requests.exceptions.Timeout)):
                raise error.__cause__ from None
            raise


def _knock(host: str) -> None:
    """See that somebody listens on a local socket; the client's own attempt would leak its socket on a refusal."""
    scheme, _, path = host.partition("://")
    if scheme == "unix":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(5)
            door.connect(path)


async def _upgrade(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, target: str) -> None:
    query = "stream=1&stdin=1&stdout=1&stderr=1"
    head = f"POST {target}?{query} HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n"
    writer.write(head.encode("ascii"))
    await writer.drain()
    answer = await reader.readuntil(b"\r\n\r\n")
    status = answer[:_HEADERS].split(b"\r\n", 1)[0]
    if not status.startswith(b"HTTP/1.1 101"):
        raise SandboxError(
            "cannot attach to the container: the engine refused", details=status[:200].decode("ascii", "replace")
        )


def _absent_as_none(ask: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    try:
        return ask()
    except docker.errors.NotFound:
        return None


def _ignore_gone(work: Callable[[], object]) -> None:
    """404: no such container; 409: not running, or its removal is under way."""
    try:
        work()
    except docker.errors.APIError as error:
        if error.status_code not in {404, 409}:
            raise
