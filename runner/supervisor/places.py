"""Who gets the next container: the owner first, contacts from what is left of the host and of each agent (issue 8).

Owns the counting of attempts that run here. Waiting costs a coroutine; the run stays queued meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class _Waiter:
    agent: str
    owner: bool
    called: asyncio.Event = field(default_factory=asyncio.Event)


class Places:
    """Places for attempts.

    Args:
        host: Of everybody, at once.
        agent: Of one agent.
        kept: Of both, how many only the owner's runs may take.
    """

    def __init__(self, *, host: int, agent: int, kept: int = 1) -> None:
        self._host, self._agent, self._kept = host, agent, kept
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

    def _call(self) -> None:
        """Give free places away: to the owner's runs, then to contacts', each in the order they came."""
        for waiter in sorted(self._waiting, key=lambda waiter: not waiter.owner):
            if self._fits(waiter):
                self._waiting.remove(waiter)
                self._taken[waiter.agent] += 1
                self._contacts[waiter.agent] += 0 if waiter.owner else 1
                waiter.called.set()

    def _fits(self, waiter: _Waiter) -> bool:
        if self._taken.total() >= self._host or self._taken[waiter.agent] >= self._agent:
            return False
        return waiter.owner or (
            self._contacts.total() < self._host - self._kept and self._contacts[waiter.agent] < self._agent - self._kept
        )
