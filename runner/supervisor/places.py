"""Who gets the next container: the owner first, contacts from what is left of the host and of each agent (issue 8).

Owns the counting of attempts that run here. Waiting costs a coroutine; the run stays queued meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from runner.model import JsonObject

#: Seconds between two looks at whether the machine has room.
AGAIN_SECONDS = 1.0


class LetIn(Protocol):
    """Whether the machine has room for one more; a yes is counted."""

    def __call__(self, *, others: bool) -> bool:
        """Ask."""
        ...


@dataclass(slots=True, kw_only=True)
class _Waiter:
    agent: str
    owner: bool
    called: asyncio.Event = field(default_factory=asyncio.Event)


def waiting_view(queued: int, *, paused: bool, hindrance: str | None) -> JsonObject | None:
    """How many attempts wait for a container, and what for; None when none does.

    Args:
        queued: Runs that are queued, whether the queue has come to them or not.
        paused: Whether the supervisor begins none.
        hindrance: As `Places` says it.
    """
    return {"attempts": queued, "for": "resume" if paused else hindrance or "turn"} if queued else None


class Places:
    """Places for attempts.

    Args:
        host: Of everybody, at once.
        agent: Of one agent.
        kept: Of both, how many only the owner's runs may take.
        room: Asked last, and counts a yes: whether the machine has room for one more, given that `others` run or not.
    """

    def __init__(self, *, host: int, agent: int, kept: int = 1, room: LetIn | None = None) -> None:
        self._host, self._agent, self._kept = host, agent, kept
        self._room = room
        self._again: asyncio.TimerHandle | None = None
        self._taken: Counter[str] = Counter()
        self._contacts: Counter[str] = Counter()
        self._waiting: list[_Waiter] = []

    @asynccontextmanager
    async def one(self, agent: str, *, owner: bool) -> AsyncIterator[None]:
        """Wait for a place, and give it back."""
        waiter = _Waiter(agent=agent, owner=owner)
        self._waiting.append(waiter)
        self._call()
        try:
            await waiter.called.wait()
            yield
        finally:
            if waiter.called.is_set():
                self._taken[agent] -= 1
                self._contacts[agent] -= 0 if owner else 1
            else:
                self._waiting.remove(waiter)
            self._call()

    def hindrance(self) -> str | None:
        """What whoever is next waits for, `place` or `room`; None: nothing that is known here.

        Others may wait for a place in the queue, which lets no more come than there are.
        """
        following = min(self._waiting, key=lambda waiter: not waiter.owner, default=None)
        if following is not None:
            return "room" if self._fits(following) else "place"
        full = self._taken.total() >= self._host or any(taken >= self._agent for taken in self._taken.values())
        return "place" if full else None

    def vacant(self, agent: str) -> bool:
        """Whether a run of the owner's would get a place at once, past nobody."""
        return not self._waiting and self._fits(_Waiter(agent=agent, owner=True))

    def _call(self) -> None:
        """Give free places away: to the owner's runs, then to contacts', each in the order they came."""
        for waiter in sorted(self._waiting, key=lambda waiter: not waiter.owner):
            if self._fits(waiter) and self._has_room():
                self._waiting.remove(waiter)
                self._taken[waiter.agent] += 1
                self._contacts[waiter.agent] += 0 if waiter.owner else 1
                waiter.called.set()

    def _has_room(self) -> bool:
        """Whether the machine has room; where it has not, it is asked again, since nothing rings when it has."""
        if self._room is None or self._room(others=self._taken.total() > 0):
            return True
        if self._again is None:
            self._again = asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._look_again)
        return False

    def _look_again(self) -> None:
        self._again = None
        self._call()

    def _fits(self, waiter: _Waiter) -> bool:
        if self._taken.total() >= self._host or self._taken[waiter.agent] >= self._agent:
            return False
        return waiter.owner or (
            self._contacts.total() < self._host - self._kept and self._contacts[waiter.agent] < self._agent - self._kept
        )
