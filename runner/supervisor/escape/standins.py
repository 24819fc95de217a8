"""Who stands at the doors that a script can knock at: neither performs anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager

from runner.agent import Answer, Outcome
from runner.gateway import UpstreamError
from runner.model import Json, JsonObject
from runner.sandbox.box import Box, Chunk

#: A conversation that was over before the script was asked anything: it tried nothing.
UNASKED = "cut before it was asked"


class Counted:
    """A container's stdio; `sent` counts what was said to it, the start of the conversation first."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self.sent = 0

    async def send(self, data: bytes) -> None:
        """See Box."""
        self.sent += 1
        await self._box.send(data)

    async def receive(self) -> Chunk | None:
        """See Box."""
        return await self._box.receive()

    async def end_input(self) -> None:
        """See Box."""
        await self._box.end_input()

    async def exit_code(self, timeout: float) -> int | None:  # noqa: ASYNC109 - the door is so specified
        """See Box."""
        return await self._box.exit_code(timeout)

    async def destroy(self) -> None:
        """See Box."""
        await self._box.destroy()


class DenyingGate:
    """Says no to everything and performs nothing; counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, name: str, arguments: Mapping[str, Json]) -> Answer:  # noqa: ARG002 - the door's signature
        """The hook."""
        self.asked += 1
        return Answer(allowed=False, reason="the escape suite allows nothing")

    async def confirm(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """The callback."""
        return await self.ask(name, arguments)

    async def outcome(self, name: str, arguments: Mapping[str, Json]) -> Outcome:  # noqa: ARG002 - the door's signature
        """The tool handler."""
        self.asked += 1
        return Outcome(text="not carried out", is_error=True)


class UnhurriedUpstream:
    """A model that counts tokens slowly, so that what is held meanwhile shows; `asked` counts what it was asked besides."""

    SECONDS = 1.0

    def __init__(self) -> None:
        self.asked = 0

    def send(
        self, request: JsonObject, *, betas: tuple[str, ...] = ()
    ) -> AbstractAsyncContextManager[AsyncIterator[JsonObject]]:
        """Counted: nothing of a script may be forwarded."""
        del request, betas
        self.asked += 1
        raise UpstreamError("the escape suite has no model")

    async def count_tokens(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> int:
        """Costs nothing, and takes its time."""
        del betas
        await asyncio.sleep(self.SECONDS)
        return len(request)

    async def aclose(self) -> None:
        """Nothing is held."""


class CountingDesk:
    """A gateway's desk that expects no request to come as far as to it."""

    def __init__(self) -> None:
        self.opened = 0

    async def open_request(self) -> None:
        """Counted: nothing of a script may be forwarded."""
        self.opened += 1

    async def open_count(self) -> None:
        """A count costs nothing; what it does to others is measured."""

    async def take_turn(self, turn: object) -> tuple[()]:  # noqa: ARG002 - the door's signature
        """Nothing is handed over."""
        return ()

    async def check_results(self, results: object) -> None:
        """Nothing was asked."""
