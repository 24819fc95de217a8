"""A gateway with its neighbours replaced: a desk that records, an upstream in memory, a client on the socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from runner.errors import RunnerError
from runner.gateway import (
    SOCKET_NAME,
    Expected,
    Gateway,
    GatewayLimits,
    Handover,
    ModelTurn,
    Purse,
    Reference,
    ToolResult,
    ToolUse,
    TurnDesk,
    Upstream,
)
from runner.model import Json, JsonObject

MODEL = "claude-test"
OFFERED = frozenset({"Read", "Glob", "mcp__runner__Write"})
HEADERS = {"host": "gateway", "content-type": "application/json", "x-api-key": "from-the-container"}


def a_request(*messages: JsonObject, **more: Json) -> JsonObject:
    """A small request the gateway forwards."""
    talk: list[Json] = list(messages) or [{"role": "user", "content": "go"}]
    return {"model": MODEL, "max_tokens": 100, "messages": talk, "stream": True, **more}


def as_given(tool: ToolUse) -> Handover:
    """Hand a call over unchanged."""
    return Handover(name=tool.name, raw=tool.raw)


@dataclass
class Desk:
    """Records what it is asked; raises what it is given."""

    hand: Callable[[ToolUse], Handover] = as_given
    refuse_open: RunnerError | None = None
    refuse_turn: BaseException | None = None
    refuse_results: RunnerError | None = None
    opened: int = 0
    counted: int = 0
    turns: list[ModelTurn] = field(default_factory=list)
    results: list[tuple[ToolResult, ...]] = field(default_factory=list)
    #: When set, a turn waits for it before it is answered.
    gate: asyncio.Event | None = None
    waiting: asyncio.Event = field(default_factory=asyncio.Event)

    async def open_request(self) -> None:
        if self.refuse_open:
            raise self.refuse_open
        self.opened += 1

    async def open_count(self) -> None:
        if self.refuse_open:
            raise self.refuse_open
        self.counted += 1

    async def take_turn(self, turn: ModelTurn) -> tuple[Handover, ...]:
        self.waiting.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.refuse_turn:
            raise self.refuse_turn
        self.turns.append(turn)
        return tuple(self.hand(tool) for tool in turn.tool_uses)

    async def check_results(self, results: tuple[ToolResult, ...]) -> None:
        if self.refuse_results:
            raise self.refuse_results
        self.results.append(results)


@dataclass
class MemoryUpstream:
    """Plays the same events for every request; an exception among them is raised, an asyncio.Event awaited."""

    events: Sequence[JsonObject | BaseException | asyncio.Event]
    requests: list[JsonObject] = field(default_factory=list)
    betas: list[tuple[str, ...]] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    closed: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def send(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> AsyncIterator[AsyncIterator[JsonObject]]:
        self.requests.append(request)
        self.betas.append(betas)
        self.asked.set()
        try:
            yield self._play()
        finally:
            self.closed += 1
            self.ended.set()

    async def count_tokens(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> int:
        self.requests.append(request)
        return 42

    async def aclose(self) -> None:
        """Nothing is held."""

    async def _play(self) -> AsyncIterator[JsonObject]:
        for event in self.events:
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, asyncio.Event):
                await event.wait()
            else:
                yield event


@asynccontextmanager
async def a_gateway(
    directory: Path,
    upstream: Upstream,
    desk: TurnDesk | None = None,
    limits: GatewayLimits | None = None,
    purse: Purse | None = None,
    expected: Expected | None = None,
) -> AsyncIterator[Gateway]:
    """A started gateway, stopped at the end."""
    gateway = Gateway(
        directory=directory,
        desk=desk or Desk(),
        reference=Reference(model=MODEL, offered=OFFERED, expected=expected),
        upstream=upstream,
        limits=limits,
        purse=purse,
    )
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What came back over the socket."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Json:
        """The body as JSON."""
        value: Json = json.loads(self.body)
        return value

    def events(self) -> list[JsonObject]:
        """The body as a stream of events."""
        chunks = [chunk for chunk in self.body.decode().split("\n\n") if chunk]
        return [json.loads(chunk.split("\ndata: ", 1)[1]) for chunk in chunks]


def request_bytes(body: bytes, *, target: str = "/v1/messages?beta=true", **headers: str) -> bytes:
    """A request as the CLI writes it."""
    fields = {**HEADERS, "content-length": str(len(body)), **{k.replace("_", "-"): v for k, v in headers.items()}}
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def raw(directory: Path, data: bytes) -> bytes:
    """Send bytes; everything that comes back until the other end closes."""
    reader, writer = await asyncio.open_unix_connection(str(directory / SOCKET_NAME))
    try:
        writer.write(data)
        return await asyncio.wait_for(reader.read(), 20)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def ask(directory: Path, body: JsonObject | bytes, *, target: str = "/v1/messages?beta=true", **headers: str) -> Answered:
    """Send one request and read its answer to the end."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return answered(await raw(directory, request_bytes(data, target=target, **headers)))


def answered(data: bytes) -> Answered:
    """An answer taken apart; chunked bodies are joined."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body = _joined(body)
    return Answered(status=int(first.split(" ")[1]), headers=headers, body=body)


def _joined(body: bytes) -> bytes:
    made = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size or b"0", 16)
        if not length:
            break
        made, body = made + rest[:length], rest[length + 2 :]
    return made
