"""One conversation with the CLI in one container: options, prompt, frames, end.

The end, like everything else the container says, is logged and never used: reply, usage and turn count are the gateway's.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import anyio
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    ResultMessage,
)

from runner.agent.drift import drift
from runner.agent.frames import FrameLimits
from runner.agent.gate import Callback, Gate, hooks
from runner.agent.options import Start, brokered_tools
from runner.agent.outcomes import outcome_server
from runner.agent.transport import BoxTransport, ByteStream, Mirror
from runner.errors import AgentProtocolError, SandboxMismatchError
from runner.fence import Fenced
from runner.model import SERVER, Image, Json, JsonObject

#: From connect to the CLI's answer to `initialize`: below the SDK's own 60, which ends in an error of no kind.
START_SECONDS = 55.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What the agent is asked. None as a whole on resume: the transcript already holds it."""

    text: Fenced
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """How the CLI says it ended; the container's word, for the log."""

    subtype: str
    is_error: bool
    said: str
    stderr: str


class Session:
    """Drives the SDK over one container's stream, from connect to the CLI's result."""

    def __init__(
        self, stream: ByteStream, start: Start, *, gate: Gate, mirror: Mirror, limits: FrameLimits | None = None
    ) -> None:
        self._start = start
        self._drift: tuple[str, ...] | None = None  #: None until the CLI has said how it started
        self._transport = BoxTransport(stream, mirror=mirror, watch=self._check_init, limits=limits)
        self._client = ClaudeSDKClient(sdk_options(start, gate), transport=self._transport)
        self._connected = False
        self.on_connected: Callable[[], None] = lambda: None  #: told once the CLI has answered

    @property
    def ready(self) -> bool:
        """Whether the CLI has answered `initialize` and its stream is whole."""
        return self._connected and self._transport.is_ready()

    async def connect(self) -> None:
        """Have the CLI answer `initialize`; `run` does it where nobody has.

        Raises:
            AgentProtocolError: It did not, or broke a rule of the wire; the container is gone.
        """
        with self._worded():
            await self._connect()

    async def settle(self) -> None:
        """Wait until the CLI says that it has all its tools: one that is stopped before has none of ours when it goes on.

        Raises:
            AgentProtocolError: It does not say so; the container is to be removed.
        """
        if not brokered_tools(self._start.profile):
            return
        with self._worded():
            try:
                with anyio.fail_after(START_SECONDS):
                    while not _has_ours(await self._client.get_mcp_status()):  # noqa: ASYNC110 - the CLI tells when asked only
                        await anyio.sleep(0.1)
            except TimeoutError:
                raise self._broken(f"it had not all its tools within {START_SECONDS:g} seconds") from None

    async def close(self) -> None:
        """End a conversation that may never have begun; the container is gone afterwards."""
        try:
            await self._client.disconnect()
        finally:
            await self._transport.close()

    async def run(self, message: Message | None) -> SessionEnd:
        """Talk until the CLI's result line or the end of its output; afterwards the container is gone.

        Args:
            message: What to ask; None when the session is resumed and the CLI goes on by itself.

        Raises:
            AgentProtocolError: The container broke a rule of the wire or died.
            SandboxMismatchError: The CLI runs with other tools, servers, mode, model or version than it was started with.
        """
        try:
            with self._worded():
                if not self._connected:
                    await self._connect()
                end = await self._talk(message)
        finally:
            await self._client.disconnect()
        if self._drift or (self._drift is None and not end.is_error):
            raise self._mismatch()
        return end

    @contextlib.contextmanager
    def _worded(self) -> Iterator[None]:
        """What goes wrong, as an error of ours."""
        try:
            yield
        except AgentProtocolError as error:
            raise self._failure(error) from None
        except ClaudeSDKError as error:
            raise self._failure(self._broken(str(error)[:500])) from None

    async def _connect(self) -> None:
        try:
            with anyio.fail_after(START_SECONDS):
                await self._client.connect()
            self._connected = True
            self.on_connected()
        except TimeoutError:
            raise self._broken(f"it did not answer within {START_SECONDS:g} seconds") from None

    async def _talk(self, message: Message | None) -> SessionEnd:
        if message is not None:
            await self._client.query(_lines(message))
        async with contextlib.aclosing(cast("AsyncGenerator[object]", self._client.receive_messages())) as messages:
            async for said in messages:
                if isinstance(said, ResultMessage):
                    return self._end(said)
        return SessionEnd(subtype="eof", is_error=True, said="", stderr=self._transport.stderr_tail())

    def _end(self, said: ResultMessage) -> SessionEnd:
        words = said.result or "; ".join(said.errors or ())
        return SessionEnd(subtype=said.subtype, is_error=said.is_error, said=words[:2000], stderr=self._transport.stderr_tail())

    def _check_init(self, frame: JsonObject) -> None:
        if frame["type"] != "system" or frame.get("subtype") != "init":
            return
        self._drift = drift(frame, self._start.profile)
        if self._drift:
            raise AgentProtocolError("cannot trust the agent's start-up")

    def _failure(self, error: AgentProtocolError) -> AgentProtocolError | SandboxMismatchError:
        return self._mismatch() if self._drift else self._transport.failure or error

    def _broken(self, why: str) -> AgentProtocolError:
        return AgentProtocolError(f"cannot go on with the agent: {why}", details=self._transport.stderr_tail() or None)

    def _mismatch(self) -> SandboxMismatchError:
        return SandboxMismatchError(
            "cannot trust the agent: its start-up differs from its profile",
            details="; ".join(self._drift or ("it never said how it started",)),
        )


def sdk_options(start: Start, gate: Gate) -> ClaudeAgentOptions:
    """Options as far as a custom transport reads them: gate, server, initialise flags."""
    servers: dict[str, Any] = {SERVER: outcome_server(start.profile, gate)} if brokered_tools(start.profile) else {}
    return ClaudeAgentOptions(
        can_use_tool=Callback(gate),
        hooks=hooks(gate),  # type: ignore[arg-type]
        mcp_servers=servers,
        verbatim_prompts=True,
        # A recorded prompt would override ours on resume (case 109).
        system_prompt={"type": "custom", "prompt": start.system_prompt, "snapshot": False},
        permission_mode="default",
        allowed_tools=[],
    )


def _has_ours(status: object) -> bool:
    """Whether the CLI's answer says that it is connected with the server of brokered tools."""
    servers = status.get("mcpServers") if isinstance(status, dict) else None
    found = servers if isinstance(servers, list) else []
    return any(isinstance(one, dict) and (one.get("name"), one.get("status")) == (SERVER, "connected") for one in found)


def user_message(message: Message) -> JsonObject:
    """The Messages API's form of what the agent is asked."""
    content: list[Json] = [{"type": "text", "text": message.text}]
    content.extend(_picture(image) for image in message.images)
    return {"role": "user", "content": content}


async def _lines(message: Message) -> AsyncIterator[dict[str, Any]]:
    yield {"type": "user", "message": user_message(message), "parent_tool_use_id": None}


def _picture(image: Image) -> JsonObject:
    data = base64.standard_b64encode(image.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}}
