"""The SDK's Transport over a container's byte stream.

Owns order and bounds of everything that crosses; diverts the transcript mirror to the store before the SDK sees the next
frame. The stock transport is never used: it would hand the host's environment to the CLI.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Protocol

import anyio
from claude_agent_sdk import ProcessError, Transport

from runner.agent.frames import FrameLimits, FrameReader, parse_line
from runner.agent.naming import Names
from runner.agent.shapes import for_sdk
from runner.errors import AgentProtocolError, SandboxError
from runner.model import Json, JsonObject

#: The SDK closes inside a shield of its own; the sandbox gives up on a removal well before this.
CLOSE_SECONDS = 90.0
_EXIT_WAIT = 5.0
#: The end of the CLI's stderr that is kept for a failure's reason.
_STDERR_BYTES = 16 * 1024
#: Below this a line is parsed faster than a thread is reached.
_SMALL_LINE = 64 * 1024


class Chunk(Protocol):
    """Some bytes of one of the two output streams."""

    @property
    def stream(self) -> str:
        """Which: "out" or "err"."""

    @property
    def data(self) -> bytes:
        """The bytes, never empty."""


class ByteStream(Protocol):
    """A container's stdio, as the sandbox gives it."""

    async def send(self, data: bytes) -> None:
        """Write all of `data`, within the sandbox's own deadline."""

    async def receive(self) -> Chunk | None:
        """The next bytes, None at the end."""

    async def end_input(self) -> None:
        """Half-close: no more input."""

    async def exit_code(self, timeout: float) -> int | None:  # noqa: ASYNC109 -- the engine's wait takes it
        """How the process ended, None when it has not."""

    async def destroy(self) -> None:
        """Kill and remove; bounded, never raises."""


Mirror = Callable[[Sequence[str]], Awaitable[None]]
Watch = Callable[[JsonObject], None]


class BoxTransport(Transport):
    """Frames between the SDK and one container.

    Args:
        stream: The container's stdio.
        mirror: Stores transcript lines.
        watch: Is shown every other frame first; what it raises ends the conversation.
        limits: Caps.
        now: Monotonic seconds.
    """

    def __init__(
        self,
        stream: ByteStream,
        *,
        mirror: Mirror,
        watch: Watch,
        limits: FrameLimits | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._mirror = mirror
        self._watch = watch
        self._reader = FrameReader(now=now, limits=limits or FrameLimits())
        self._names = Names()
        self._write_lock = asyncio.Lock()
        self._open = False
        self._broken = False  #: reading or writing has come to its end; the SDK has yet to hear of it and to close
        self._closed = asyncio.Event()
        self._stderr = b""
        self.failure: AgentProtocolError | None = None  #: why it broke, when it was the container's doing

    async def connect(self) -> None:
        """The container is already started and proven; nothing is left to do but to open the gate."""
        self._open = True

    async def write(self, data: str) -> None:
        """Send one line.

        Raises:
            ProcessError: The transport is closed, or the container does not take it and has been killed.
        """
        answer = '"control_response"' in data[:100]  # a prompt may be long, and is no answer
        async with self._write_lock:
            if self._open:
                await (self._answer(data) if answer else self._send(data))
        if not self._open:
            if answer and self._broken:
                # The SDK calls its handlers off when it closes. Until then each answer that fails would be a fault in the log:
                # hundreds of them at a container's word.
                await self._closed.wait()
            raise ProcessError("cannot write to the agent: its stream is closed", exit_code=None)

    def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Frames for the SDK, in order; ends with the container's output.

        Raises:
            AgentProtocolError: A cap is passed or a frame is malformed; the container has been killed.
            ProcessError: The CLI ended with a failure.
        """
        return self._read()

    async def close(self) -> None:
        """Kill and remove the container, within a bound: the SDK's own shield has none."""
        self._open = False
        self._closed.set()
        await self._destroy()

    def is_ready(self) -> bool:
        """Whether lines can be written."""
        return self._open

    async def end_input(self) -> None:
        """Close the CLI's stdin, if it is still there."""
        await self._stream.end_input()

    def stderr_tail(self) -> str:
        """The end of the CLI's stderr: outside text, for `render` only."""
        return self._stderr.decode("utf-8", "replace")

    async def _read(self) -> AsyncIterator[dict[str, Any]]:
        try:
            while (chunk := await self._stream.receive()) is not None:
                await asyncio.sleep(0)  # other runs' turn: with a container that pours, reading never waits by itself
                if chunk.stream != "out":
                    self._reader.count(len(chunk.data), whole=False)
                    self._stderr = (self._stderr + chunk.data)[-_STDERR_BYTES:]
                    continue
                for line in self._reader.lines(chunk.data):
                    frame = await self._taken(line)
                    if frame is not None:
                        yield frame
                        await asyncio.sleep(0)
        except (AgentProtocolError, SandboxError) as error:
            raise await self._break(error) from None
        finally:
            self._open, self._broken = False, True
        if self.failure is not None:
            raise self.failure
        code = await self._stream.exit_code(_EXIT_WAIT)
        if code != 0:
            raise ProcessError("the agent's process ended", exit_code=code, stderr=None)

    async def _taken(self, line: bytes) -> JsonObject | None:
        """One line's frame, stored or looked at; what of it the SDK is given."""
        limits = self._reader.limits
        small = len(line) < _SMALL_LINE
        parsed = parse_line(line, limits) if small else await asyncio.to_thread(parse_line, line, limits)
        frame = self._reader.take(parsed)
        if frame is None:
            return None
        if frame["type"] == "transcript_mirror":
            await self._store(frame, small=small)
            return None
        self._watch(frame)
        shown = for_sdk(frame)
        return None if shown is None else self._names.for_sdk(shown)

    async def _store(self, frame: JsonObject, *, small: bool) -> None:
        entries = frame.get("entries")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise AgentProtocolError("cannot store the agent's transcript: an entry is not an object")
        await self._mirror(_dumped(entries) if small else await asyncio.to_thread(_dumped, entries))

    async def _answer(self, line: str) -> None:
        named = self._names.for_cli(line)
        if named is None:
            return
        await self._send(named[0])
        if self._open:
            self._reader.answered(named[1])

    async def _send(self, line: str) -> None:
        try:
            await self._stream.send(line.encode())
        except SandboxError as error:
            await self._break(error)

    async def _break(self, error: AgentProtocolError | SandboxError) -> AgentProtocolError:
        """Kill the container, since nothing more is read from it or written to it; the first cause."""
        self._open, self._broken = False, True
        self.failure = self.failure or _protocol_error(error)
        await self._destroy()
        return self.failure

    async def _destroy(self) -> None:
        with anyio.move_on_after(CLOSE_SECONDS):
            await self._stream.destroy()


def _dumped(entries: Sequence[Json]) -> list[str]:
    return [json.dumps(entry) for entry in entries]


def _protocol_error(error: AgentProtocolError | SandboxError) -> AgentProtocolError:
    if isinstance(error, AgentProtocolError):
        return error
    return AgentProtocolError("cannot go on with the agent: its stream broke off", details=error.diagnostics())
