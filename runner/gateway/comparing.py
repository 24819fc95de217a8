"""Holds each request of one gateway against what is expected and what was said before.

Owns that nothing is compared where nothing is expected, and that a large conversation is compared off the loop.
"""

from __future__ import annotations

from functools import cached_property, partial

from runner.gateway.heavy import beside
from runner.gateway.memory import Given, Memory
from runner.gateway.reminders import leave_out_unknown
from runner.gateway.request import ModelRequest
from runner.gateway.sameness import Expected, difference
from runner.gateway.spoken import Spoken
from runner.gateway.voice import without_excuses


class Comparing:
    """Compares and remembers.

    Args:
        expected: None: only for a door that no agent of a person stands behind.
    """

    def __init__(self, expected: Expected | None) -> None:
        self._expected = expected

    @cached_property
    def _memory(self) -> Memory | None:
        """Made when it is first asked: a conversation that is continued may be long, and is read beside the loop."""
        return None if self._expected is None else Memory(self._expected.conversation)

    async def difference(self, request: ModelRequest) -> tuple[str | None, Spoken]:
        """What of a request is not as it should be, or None; and what its conversation says."""
        return await beside(request.size, partial(self._compared, request))

    def tidy(self, request: ModelRequest) -> None:
        """Take out of a request, in place, what the CLI says in its own voice and nobody knows; see `reminders`."""
        messages = request.body["messages"]
        without_excuses(messages)
        if self._memory is not None:
            leave_out_unknown(messages, model=str(request.body["model"]), sent=self._memory.sent)

    def forwarded(self, told: Spoken) -> None:
        """The model sees this."""
        if self._memory is not None:
            self._memory.forwarded(told)

    def replied(self, given: Given) -> None:
        """The CLI was given this."""
        if self._memory is not None:
            self._memory.replied(given)

    def _compared(self, request: ModelRequest) -> tuple[str | None, Spoken]:
        if self._expected is None or self._memory is None:
            return None, Spoken()
        told = self._memory.spoken_in(request.body["messages"])
        return difference(request.body, self._expected) or self._memory.difference(told), told
