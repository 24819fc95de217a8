"""A container's stdio in memory, and a CLI on it that says what a test lets it say."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runner.agent import brokered_tools, container_tools, versions
from runner.errors import SandboxError
from runner.model import Json, JsonObject, Profile
from runner.policy.catalogue import model_name
from tests.helpers.builders import a_profile

#: What the pinned CLI answers to `initialize`, as far as the SDK reads it.
INITIALIZED: JsonObject = {"commands": [], "hook_on_failure_supported": True, "hooks_applied": True}
_BUILTIN = ("cc-plugin-agents-md", "cc-plugin-privacy", "cc-plugin-plugin-authoring")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of one output."""

    stream: str
    data: bytes


class MemoryStream:
    """The agent's `ByteStream` without a container. `sent` is what the host wrote, line by line, parsed."""

    def __init__(self) -> None:
        self.sent: list[JsonObject] = []
        self.destroyed = 0
        self.input_ended = False
        self.code: int | None = 0
        self.fails: SandboxError | None = None  #: raised by the next receive
        self.deaf: SandboxError | None = None  #: raised by every send
        self._pieces: deque[Piece] = deque()
        self._ended = False
        self._bell = asyncio.Event()

    def say(self, *frames: JsonObject) -> None:
        """Put frames on stdout, each on its line."""
        self.put(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))

    def put(self, data: bytes, *, stream: str = "out") -> None:
        """Put bytes on one of the outputs."""
        self._pieces.append(Piece(stream, data))
        self._bell.set()

    def end(self, code: int | None = 0) -> None:
        """The process ends."""
        self.code, self._ended = code, True
        self._bell.set()

    def break_off(self, error: SandboxError) -> None:
        """Reading fails once what is there has been read."""
        self.fails = error
        self._bell.set()

    @property
    def unread(self) -> int:
        """Bytes nobody has received."""
        return sum(len(piece.data) for piece in self._pieces)

    async def send(self, data: bytes) -> None:
        """Take one line; what is no JSON line is a fault of the host (case 94)."""
        if self.deaf is not None:
            raise self.deaf
        if self.destroyed:
            raise SandboxError("cannot write to the container: it is gone")
        assert data.endswith(b"\n")
        assert data.count(b"\n") == 1
        self.sent.append(json.loads(data))
        await self.heard(self.sent[-1])

    async def heard(self, line: JsonObject) -> None:
        """What a CLI on this stream does with a line."""

    async def receive(self) -> Piece | None:
        """The next bytes."""
        while not self._pieces:
            if self.fails is not None:
                raise self.fails
            if self._ended or self.destroyed:
                return None
            self._bell.clear()
            await self._bell.wait()
        return self._pieces.popleft()

    async def end_input(self) -> None:
        """Note it."""
        self.input_ended = True

    async def exit_code(self, timeout: float) -> int | None:  # noqa: ASYNC109 -- the seam's signature
        """As set."""
        return self.code

    async def destroy(self) -> None:
        """Note it, and end the outputs."""
        self.destroyed += 1
        self._bell.set()


class FakeCli(MemoryStream):
    """A CLI that does the handshake and then whatever `behaviour` does, once it has been asked something.

    Args:
        behaviour: Run with this object after the init line.
        profile: What its init line is about.
        initialized: Its answer to `initialize`; None never answers.
        init: Changes to the init line; None says none.
    """

    def __init__(
        self,
        behaviour: Callable[[FakeCli], Awaitable[None]] | None = None,
        *,
        profile: Profile | None = None,
        initialized: JsonObject | None = INITIALIZED,
        init: Mapping[str, Json] | None = {},
    ) -> None:
        super().__init__()
        self._behaviour, self._initialized, self._init = behaviour, initialized, init
        self._profile = profile or a_profile()
        self._ids = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[JsonObject]] = {}
        self.task: asyncio.Task[None] | None = None

    @property
    def initialize(self) -> Any:
        """The host's `initialize` request."""
        return next(line["request"] for line in self.sent if line["type"] == "control_request")

    @property
    def answers(self) -> list[Any]:
        """Every `control_response` the host sent."""
        return [line["response"] for line in self.sent if line["type"] == "control_response"]

    async def heard(self, line: JsonObject) -> None:
        """Shake hands, begin, or take an answer."""
        if line["type"] == "control_request" and self._initialized is not None:
            answer: JsonObject = {"subtype": "success", "request_id": line["request_id"], "response": self._initialized}
            self.say({"type": "control_response", "response": answer})
        elif line["type"] == "user":
            if self._init is not None:
                self.say(an_init(self._profile, **self._init))
            if self._behaviour is not None:
                self.task = asyncio.create_task(self._behave())
                self.task.add_done_callback(lambda task: None if task.cancelled() or not task.exception() else self.end(99))
        elif line["type"] == "control_response":
            response: Any = line["response"]
            waiting = self._waiting.pop(response["request_id"], None)
            if waiting is not None and not waiting.done():
                waiting.set_result(response)

    def open(self, request: JsonObject, *, identity: str | None = None) -> tuple[str, asyncio.Future[JsonObject]]:
        """Send a request; its id, and where its answer will be."""
        name = identity or f"q{next(self._ids)}"
        future = self._waiting[name] = asyncio.get_running_loop().create_future()
        self.say({"type": "control_request", "request_id": name, "request": request})
        return name, future

    async def ask(self, request: JsonObject) -> Any:
        """Send a request and wait for its answer."""
        return await self.open(request)[1]

    async def hook(self, name: Json, arguments: Json, **more: Json) -> Any:
        """Ask the hook; the whole answer."""
        return await self.ask(a_hook(name, arguments, **more))

    async def may(self, name: Json, arguments: Json, **more: Json) -> Any:
        """Ask the callback; the whole answer."""
        return await self.ask({"subtype": "can_use_tool", "tool_name": name, "input": arguments, "tool_use_id": "t", **more})

    async def call(self, name: str, arguments: Json, *, identity: int = 1) -> Any:
        """Call a tool of the server; the JSON-RPC answer."""
        answer = await self.ask(a_tool_call(name, arguments, identity=identity))
        return answer["response"]["mcp_response"]

    def finish(self, **changes: Json) -> None:
        """The result line."""
        self.say(a_result(**changes))

    async def _behave(self) -> None:
        assert self._behaviour is not None
        await self._behaviour(self)


def a_hook(name: Json, arguments: Json, **more: Json) -> JsonObject:
    """A hook request as the CLI words it."""
    asked: JsonObject = {
        "session_id": "s",
        "cwd": "/workspace",
        "hook_event_name": "PreToolUse",
        "tool_name": name,
        "tool_input": arguments,
        "tool_use_id": "toolu_1",
        **more,
    }
    return {"subtype": "hook_callback", "callback_id": "hook_0", "input": asked, "tool_use_id": "toolu_1"}


def a_tool_call(name: str, arguments: Json, *, identity: int = 1) -> JsonObject:
    """A tool message as the CLI words it."""
    params: JsonObject = {"name": name, "arguments": arguments}
    message: JsonObject = {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}
    return {"subtype": "mcp_message", "server_name": "runner", "message": message}


def an_init(profile: Profile, **changes: Json) -> JsonObject:
    """The line with which the pinned CLI says how it started."""
    brokered = brokered_tools(profile)
    names: list[Json] = [*container_tools(profile), *(model_name(tool) for tool in brokered)]
    server: JsonObject = {"name": "runner", "status": "connected", "source": "sdk"}
    init: JsonObject = {
        "type": "system",
        "subtype": "init",
        "cwd": "/workspace",
        "session_id": "s",
        "tools": names,
        "mcp_servers": [server] if brokered else [],
        "model": profile.model,
        "permissionMode": "default",
        "slash_commands": [],
        "apiKeySource": "ANTHROPIC_API_KEY",
        "claude_code_version": versions()[1],
        "output_style": "default",
        "agents": ["claude", "Explore"],
        "skills": [],
        "plugins": [{"name": name, "path": "builtin", "source": f"{name}@builtin"} for name in _BUILTIN],
    }
    return init | changes


def a_result(**changes: Json) -> JsonObject:
    """The CLI's last line, with the figures it sends."""
    result: JsonObject = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "done",
        "duration_ms": 1,
        "duration_api_ms": 1,
        "num_turns": 1,
        "session_id": "s",
    }
    return result | changes
