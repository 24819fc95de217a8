"""A running container as its owner holds it: bytes in, chunks out, and an end that always comes.

Owns the engine's stream framing (8-byte headers, case 101) and the removal. Knows nothing of what the bytes mean.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from runner.errors import SandboxError
from runner.model import Digest, JsonObject
from runner.sandbox.engine import Attached
from runner.sandbox.spec import SandboxSpec

#: The largest piece `receive` hands over, whatever the engine's frame.
MAX_CHUNK = 64 * 1024
#: Bytes that may wait for a container that does not read.
MAX_UNSENT = 1024 * 1024
SEND_SECONDS = 30.0
DESTROY_SECONDS = 60.0

_HEADER = 8
_STREAMS: dict[int, Literal["out", "err"]] = {1: "out", 2: "err"}
_POLL = 0.05
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Some bytes of one of the container's two outputs."""

    stream: Literal["out", "err"]
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """That a container was found to be what its spec asks, from three sides."""

    spec: Digest
    unseen: tuple[str, ...]  #: what only root could have looked at from outside


class Disposer(Protocol):
    """What ending a container needs of the engine."""

    async def inspect(self, container: str) -> dict[str, Any] | None:
        """See Engine."""
        ...

    async def kill(self, container: str) -> None:
        """See Engine."""
        ...

    async def remove(self, container: str) -> None:
        """See Engine."""
        ...


class Box:
    """One container, for one segment attempt (invariant 6).

    `spec` is what it was asked to be, `report` what its start-up probe said, `proof` what was found to be in force.
    """

    def __init__(self, engine: Disposer, container_id: str, stream: Attached) -> None:
        """Made by `launch` only."""
        self.container_id = container_id
        self.spec: SandboxSpec | None = None
        self.report: JsonObject = {}
        self.proof: Proof | None = None
        self.out_of_memory = False  #: the kernel killed something in there for want of memory, as far as the engine said
        self._engine, self._stream = engine, stream
        self._frame: tuple[Literal["out", "err"], int] = ("out", 0)
        self._ahead: list[Chunk] = []
        self._sending = asyncio.Lock()
        self._ending: asyncio.Task[None] | None = None
        stream.writer.transport.set_write_buffer_limits(high=MAX_UNSENT)

    async def send(self, data: bytes) -> None:
        """Write to the container's stdin; whole, in order, or not at all.

        Raises:
            SandboxError: The container does not read, or is gone.
        """
        async with self._sending:
            if self._stream.writer.is_closing():
                raise SandboxError("cannot write to the container: it is gone")
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    # Before as well as after: what is written is in the buffer for good, so it must not grow past its bound.
                    await self._stream.writer.drain()
                    self._stream.writer.write(data)
                    await self._stream.writer.drain()
            except TimeoutError as error:
                raise SandboxError(f"cannot write to the container: it read nothing for {SEND_SECONDS:g} seconds") from error
            except (OSError, RuntimeError) as error:
                raise SandboxError("cannot write to the container: it is gone", details=str(error)) from error

    async def receive(self) -> Chunk | None:
        """The next bytes of either output, at most 64 KiB; None at the end. May be cancelled without loss.

        Raises:
            SandboxError: The engine's framing is broken, or the stream is cut inside a frame.
        """
        if self._ahead:
            return self._ahead.pop(0)
        reader = self._stream.reader
        try:
            while self._frame[1] == 0:
                header = await reader.readexactly(_HEADER)
                name = _STREAMS.get(header[0])
                if name is None or header[1:4] != b"\0\0\0":
                    raise SandboxError("cannot read from the container: the engine's framing is broken", details=header.hex())
                self._frame = (name, int.from_bytes(header[4:], "big"))
            name, left = self._frame
            data = await reader.read(min(left, MAX_CHUNK))
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise SandboxError("cannot read from the container: its stream was cut") from error
            return None
        except OSError:
            return None
        if not data:
            raise SandboxError("cannot read from the container: its stream was cut")
        self._frame = (name, left - len(data))
        return Chunk(stream=name, data=data)

    async def first_line(self, *, limit: int) -> bytes:
        """The first line of stdout, its end left off; what follows it, and the last of stderr, is received next.

        Raises:
            SandboxError: The container ended, or the line is longer than `limit`. What it said on stderr is in the details.
        """
        line, noise = b"", b""
        while b"\n" not in line:
            chunk = await self.receive()
            if chunk is None:
                raise _unreported("it ended", noise + line)
            if chunk.stream == "out":
                line += chunk.data
            else:
                noise = (noise + chunk.data)[-2000:]
            if len(line) > limit and b"\n" not in line[:limit]:
                raise _unreported("its first line is too long", noise + line)
        line, rest = line.split(b"\n", 1)
        # The two outputs race: what is on stderr may be the agent's own already.
        self._ahead = [chunk for chunk in (Chunk(stream="err", data=noise), Chunk(stream="out", data=rest)) if chunk.data]
        return line

    async def end_input(self) -> None:
        """Close the container's stdin; its output goes on (case 100)."""
        with contextlib.suppress(OSError, RuntimeError):
            if self._stream.writer.can_write_eof():
                self._stream.writer.write_eof()

    async def exit_code(self, timeout: float) -> int | None:  # noqa: ASYNC109 - the door is so specified
        """The exit code once the container has ended; None while it has not after `timeout` seconds, or when it is gone."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while (facts := await self._engine.inspect(self.container_id)) is not None:
                    state = facts.get("State") or {}
                    self.out_of_memory = state.get("OOMKilled") is True
                    if not state.get("Running") and state.get("Status") != "created":
                        return int(state.get("ExitCode", -1))
                    await asyncio.sleep(_POLL)
        return None

    async def destroy(self) -> None:
        """Remove the container. Idempotent and bounded; never fails, though what it could not do is logged."""
        if self._ending is None:
            # Not `close`: it would first wait for a container that does not read.
            self._stream.writer.transport.abort()
            self._ending = asyncio.create_task(dispose(self._engine, self.container_id))
        await finish(self._ending)


def _unreported(what: str, said: bytes) -> SandboxError:
    return SandboxError(f"cannot start the container: {what} before it reported", details=ascii(said[-500:]))


async def dispose(engine: Disposer, container: str) -> None:
    """Remove a container and look that it is gone, within a bound. What fails is logged: the next start's reaping gets it."""
    try:
        async with asyncio.timeout(DESTROY_SECONDS):
            try:
                await engine.remove(container)
            except SandboxError:
                await engine.kill(container)
                await engine.remove(container)
            await _gone(engine, container)
    except (SandboxError, TimeoutError) as error:
        _log.error("container %s could not be removed: %s", container, error)


async def _gone(engine: Disposer, container: str) -> None:
    while True:
        if await engine.inspect(container) is None:
            return
        await asyncio.sleep(_POLL)


async def finish(work: Awaitable[object]) -> None:
    """Wait for clean-up to its end, even when the waiting task is cancelled meanwhile; the cancellation is then passed on."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
    if cancelled is not None:
        raise cancelled
