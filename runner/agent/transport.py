"""The SDK's Transport over a container's byte stream.

Owns framing, order and bounds of everything that crosses; diverts the transcript mirror to the store before the SDK sees
the next frame. The stock transport is never used: it would hand the host's environment to the CLI.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Protocol, cast

from claude_agent_sdk import ProcessError, Transport

from runner.agent.frames import FrameLimits, FrameReader
from runner.errors import AgentProtocolError
from runner.model import Json, JsonObject

#: Lines of the CLI's stderr kept for a failure's reason.
_STDERR_LINES = 40
_EXIT_WAIT = 5.0


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
    """Frames between the SDK and one container."""

    def __init__(self, stream: ByteStream, *, mirror: Mirror, watch: Watch, limits: FrameLimits | None = None) -> None:
        self._stream = stream
        self._mirror = mirror
        self._watch = watch
        self._reader = FrameReader(now=time.monotonic, limits=limits or FrameLimits())
        self._write_lock = asyncio.Lock()
        self._open = False
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self.failure: AgentProtocolError | None = None  #: why reading stopped, when the container broke a rule

    async def connect(self) -> None:
        """The container is already started and proven; nothing is left to do but to open the gate."""
        self._open = True

    async def write(self, data: str) -> None:
        """Send one line.

        Raises:
            ProcessError: The transport is closed.
        """
        async with self._write_lock:
            if not self._open:
                raise ProcessError("cannot write to the agent: its stream is closed", exit_code=None)
            await self._stream.send(data.encode())
        self._note_answer(data)

    def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Frames for the SDK, in order; ends with the container's output.

        Raises:
            AgentProtocolError: A cap is passed or a frame is malformed; the container has been killed.
            ProcessError: The CLI ended with a failure.
        """
        return self._read()

    async def close(self) -> None:
        """Kill and remove the container. Bounded by the sandbox's own deadlines, as the SDK's contract asks."""
        self._open = False
        await self._stream.destroy()

    def is_ready(self) -> bool:
        """Whether lines can be written."""
        return self._open

    async def end_input(self) -> None:
        """Close the CLI's stdin."""
        with contextlib.suppress(OSError):
            await self._stream.end_input()

    def stderr_tail(self) -> str:
        """The last lines of the CLI's stderr: outside text, for `render` only."""
        return "\n".join(self._stderr)

    async def _read(self) -> AsyncIterator[dict[str, Any]]:
        try:
            while (chunk := await self._stream.receive()) is not None:
                if chunk.stream != "out":
                    self._stderr.extend(line[:500] for line in chunk.data.decode("utf-8", "replace").splitlines())
                    continue
                for frame in self._reader.feed(chunk.data):
                    if frame["type"] == "transcript_mirror":
                        await self._store(frame)
                        continue
                    self._watch(frame)
                    yield frame
        except AgentProtocolError as error:
            self.failure = error
            self._open = False
            await self._stream.destroy()
            raise
        code = await self._stream.exit_code(_EXIT_WAIT)
        self._open = False
        if code != 0:
            raise ProcessError("the agent's process ended", exit_code=code, stderr=None)

    async def _store(self, frame: JsonObject) -> None:
        entries = frame.get("entries")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise AgentProtocolError("cannot store the agent's transcript: an entry is not an object")
        await self._mirror([json.dumps(entry) for entry in cast("list[dict[str, Json]]", entries)])

    def _note_answer(self, line: str) -> None:
        if '"control_response"' not in line[:200]:
            return
        response = json.loads(line).get("response", {})
        self._reader.answered(str(response.get("request_id")))
