"""A gate that answers as a test tells it and notes everything it is asked; and a conversation with a CLI in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.agent import Answer, Gate, Message, Outcome, Session, SessionEnd, Start
from runner.agent.frames import FrameLimits
from runner.fence import Fenced
from runner.model import Json, Profile
from tests.helpers.agent_stream import FakeCli, MemoryStream
from tests.helpers.builders import a_profile

SESSION = "11111111-2222-4333-8444-555555555555"
YES = Answer(allowed=True)
GO = Message(text=Fenced("go"))


@dataclass
class RecordingGate:
    """Gives each answer it is set to: an exception is raised, an `asyncio.Event` waited for before a yes."""

    hook: Any = YES
    callback: Any = YES
    handler: Any = field(default_factory=lambda: Outcome(text="as recorded", is_error=False))
    asked: list[tuple[str, str, dict[str, Json]]] = field(default_factory=list)
    cancelled: int = 0
    waiting: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, name: str, arguments: Mapping[str, Json]) -> Any:
        return await self._answer("ask", self.hook, name, arguments)

    async def confirm(self, name: str, arguments: Mapping[str, Json]) -> Any:
        return await self._answer("confirm", self.callback, name, arguments)

    async def outcome(self, name: str, arguments: Mapping[str, Json]) -> Any:
        return await self._answer("outcome", self.handler, name, arguments)

    async def _answer(self, door: str, answer: Any, name: str, arguments: Mapping[str, Json]) -> Any:
        self.asked.append((door, name, dict(arguments)))
        if isinstance(answer, BaseException):
            raise answer
        if not isinstance(answer, asyncio.Event):
            return answer
        self.waiting.set()
        try:
            await answer.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return YES


@dataclass
class Kept:
    """A mirror that keeps lines."""

    lines: list[str] = field(default_factory=list)
    fails: Exception | None = None

    async def __call__(self, lines: Sequence[str]) -> None:
        if self.fails is not None:
            raise self.fails
        self.lines.extend(lines)


def a_start(profile: Profile | None = None, **changes: Any) -> Start:
    """A fresh start."""
    return Start(**{"profile": profile or a_profile(), "session_id": SESSION, "system_prompt": "You are tested.", **changes})


async def conversation(
    cli: MemoryStream,
    gate: Gate | None = None,
    *,
    profile: Profile | None = None,
    mirror: Kept | None = None,
    limits: FrameLimits | None = None,
    message: Message | None = GO,
) -> SessionEnd:
    """One session with `cli`; whatever it did of its own is over afterwards, and what broke in it is raised."""
    start = a_start(profile)
    session = Session(cli, start, gate=gate or RecordingGate(), mirror=mirror or Kept(), limits=limits)
    try:
        return await session.run(message)
    finally:
        task = cli.task if isinstance(cli, FakeCli) else None
        if task is not None:
            task.cancel()
            (broken,) = await asyncio.gather(task, return_exceptions=True)
            if isinstance(broken, Exception):
                raise broken
