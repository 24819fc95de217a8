"""What the gateway and its neighbours exchange: a model's turn, what the CLI is handed, limits, the seams.

Owns meaning only. Every text in these values was written by a model or a container: data, bounded by whoever built it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from runner.gateway.sameness import Expected
from runner.model import JsonObject, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A call as the model wrote it; `raw` is the exact JSON text of its input, as concatenated from the stream."""

    id: str
    name: str  #: as the model sees it: `Read`, `mcp__runner__Write`, or any word it made up
    raw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """One whole reply of the model. `usage` counts this one request."""

    model: str
    texts: tuple[str, ...]
    tool_uses: tuple[ToolUse, ...]
    stop_reason: str | None
    usage: Usage
    thoughts: tuple[str, ...] = ()  #: digests of its thinking

    @property
    def words(self) -> str:
        """All that it says."""
        return "\n".join(self.texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """What the CLI is given in place of a tool use: normally the same, `undeclared__Bash` for an undeclared one.

    `id`: another than the model's, where that one came before; None: the model's own.
    """

    name: str
    raw: str
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """A `tool_result` as the container sent it: its first text only, "" where it has none.

    `parts`: digests of all that it holds, see `spoken.Item`; none where nothing is compared.
    """

    tool_use_id: str
    text: str
    is_error: bool
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What a request must agree with: the profile's model, the tool names it may offer, as the model sees them, and its words.

    `expected` None: the words are not compared; only for a door that no agent of a person stands behind.
    """

    model: str
    offered: frozenset[str]
    expected: Expected | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayLimits:
    """What one container may cost its supervisor at this door (M6)."""

    connections: int = 8
    head_bytes: int = 32 * 1024
    head_seconds: float = 10.0  #: from connect to the end of the request's head
    body_bytes: int = 32 * 1024 * 1024
    body_items: int = 1_000_000  #: quotes, commas and brackets: what makes parsing slow
    body_parts: int = 50_000  #: objects and lists: what makes memory large, and its clearing slow
    body_seconds: float = 30.0
    media: int = 100  #: pictures and documents of one request; more the CLI leaves out by itself (measured)
    image_bytes: int = 5 * 1024 * 1024  #: of one, decoded; the provider takes no larger
    document_bytes: int = 4 * 1024 * 1024  #: likewise; a larger file is not read (sdk.md §5)
    request_seconds: float = 1500.0  #: a connection's whole life
    burst: int = 60  #: connections, each good for one request, that may come at once
    per_second: float = 5.0  #: how fast that allowance refills
    refusals: int = 1000  #: refused requests after which the door is shut for good
    reply_bytes: int = 8 * 1024 * 1024
    reply_blocks: int = 256
    max_tokens: int = 128_000
    ping_seconds: float = 5.0  #: silence towards the CLI, while a reply is held, before it is told to wait on
    stop_seconds: float = 5.0


class TurnDesk(Protocol):
    """Who decides about the model's turns; it stands in `agent` or above."""

    async def open_request(self) -> None:
        """Called before a request is forwarded.

        Raises:
            GatewayError: The request must not go out: stale attempt, spent budget, pause.
        """

    async def open_count(self) -> None:
        """Called before the provider is asked how many tokens a text of the container's has.

        Raises:
            GatewayError: It must not be asked.
        """

    async def take_turn(self, turn: ModelTurn) -> tuple[Handover, ...]:
        """Called at the end of every reply, before the CLI sees any of its tool uses; one handover each, in order.

        Raises:
            GatewayError: The run must not go on; nothing of the turn's calls reaches the CLI.
        """

    async def check_results(self, results: tuple[ToolResult, ...]) -> None:
        """Called with every tool result of a request; those of turns before the last one are known to it, or to nobody.

        Raises:
            GatewayError: One is not what was recorded; the run ends.
        """


class Upstream(Protocol):
    """Where the model is. One per agent; several runs may use it at once."""

    def send(
        self, request: JsonObject, *, betas: tuple[str, ...] = ()
    ) -> AbstractAsyncContextManager[AsyncIterator[JsonObject]]:
        """Ask for a reply; entering means the upstream has begun to answer, iterating gives its events as they come.

        Raises:
            UpstreamError: On entering after bounded retries, or while iterating when the stream breaks.
        """

    async def count_tokens(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> int:
        """How many input tokens a request has.

        Raises:
            UpstreamError: The upstream does not say.
        """

    async def aclose(self) -> None:
        """Give back connections; the upstream is not used afterwards."""


#: Agent name → the upstream its runs use.
UpstreamFactory: TypeAlias = Callable[[str], Upstream]
