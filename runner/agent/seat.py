"""The place of a gate and a mirror that are not there yet: of a container that was started before its run was known.

Until somebody sits down every question is refused, and noted: a container that asks before it was asked is not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runner.agent.gate import Answer, Gate, Outcome
from runner.agent.transport import Mirror
from runner.errors import AgentProtocolError
from runner.model import Json

_NOBODY = "refused: nobody has asked for anything yet"


class Seat:
    """Implements `Gate` and holds a `Mirror`; both are another's, once there is one."""

    def __init__(self) -> None:
        self._gate: Gate | None = None
        self._mirror: Mirror | None = None
        self.disturbed = False  #: something was asked, or written, while nobody sat here

    def take(self, gate: Gate, mirror: Mirror) -> None:
        """Sit down, once.

        Raises:
            AgentProtocolError: Somebody sits here, or was called for before.
        """
        if self._gate is not None or self.disturbed:
            raise AgentProtocolError("cannot use a container twice, nor one that spoke before it was asked")
        self._gate, self._mirror = gate, mirror

    async def ask(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """The hook."""
        return Answer(allowed=False, reason=self._refused()) if self._gate is None else await self._gate.ask(name, arguments)

    async def confirm(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """The callback."""
        return (
            Answer(allowed=False, reason=self._refused()) if self._gate is None else await self._gate.confirm(name, arguments)
        )

    async def outcome(self, name: str, arguments: Mapping[str, Json]) -> Outcome:
        """The tool handler."""
        return Outcome(text=self._refused(), is_error=True) if self._gate is None else await self._gate.outcome(name, arguments)

    async def mirror(self, entries: Sequence[str]) -> None:
        """The transcript.

        Raises:
            AgentProtocolError: There is no conversation of which this could be one.
        """
        if self._mirror is None:
            self.disturbed = True
            raise AgentProtocolError("cannot store a transcript: there is no conversation yet")
        await self._mirror(entries)

    def _refused(self) -> str:
        self.disturbed = True
        return _NOBODY
