"""A conductor over an engine in memory whose containers do what a test wants: races no real container loses on demand."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runner.agent import versions
from runner.gateway import make_upstream
from runner.model import Attempt
from runner.sandbox.engine import ImageInfo
from runner.store import RunRow
from runner.supervisor.drain import Drain
from runner.supervisor.segment import Conductor
from runner.supervisor.surroundings import Surroundings
from tests.helpers.fake_engine import FAKE_IMAGE, Behaviour, FakeContainer, FakeEngine
from tests.unit.supervisor.world import World, settled

OWNER = "mine"


async def mute(container: FakeContainer) -> None:
    """A CLI that reads and never answers."""
    while await container.read():
        pass
    await asyncio.Event().wait()


async def gone(_: FakeContainer) -> None:
    """A CLI that ends at once."""


class ImagedEngine(FakeEngine):
    """The engine in memory, with an image."""

    def __init__(self, *, behaviour: Behaviour = mute) -> None:
        super().__init__(behaviour=behaviour)
        self.present: ImageInfo | None = replace(FAKE_IMAGE, cli_version=versions()[1])

    async def image(self, _: str) -> ImageInfo | None:
        """The image, if there is one."""
        await self._step("image")
        return self.present

    @property
    def alive(self) -> int:
        """How many containers there are."""
        return len(self.containers)


@dataclass
class Stage:
    """A world with a conductor."""

    world: World
    engine: ImagedEngine = field(default_factory=ImagedEngine)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Wire it."""
        script = self.world.folder / "script.json"
        script.write_text("[]")
        self.attempts = self.world.folder / "attempts"
        self.attempts.mkdir(mode=0o700)
        self.conductor = Conductor(
            Surroundings(
                store=self.world.store,
                engine=self.engine,  # type: ignore[arg-type]
                upstream=make_upstream(f"scripted:{script}", key=None),
                live=self.world.live,
                changes=self.world.changes,
                contexts=self.world.contexts,
                endings=self.world.endings,
                clock=self.world.clock,
                ids=self.world.ids,
                attempts=self.attempts,
                owner=OWNER,
                runtime=None,
            )
        )
        self.drain = Drain(conductor=self.conductor, live=self.world.live, effects=self.world.effects)

    def conduct(self, row: RunRow) -> asyncio.Task[None]:
        """Take the run's attempt, as the dispatcher would."""
        task = asyncio.create_task(self.conductor.conduct(Attempt(row.id, row.segment, row.attempt)))
        self.tasks.append(task)
        return task

    async def reaches(self, row: RunRow, *states: Any) -> RunRow:
        """Wait until the run is in one of these states."""
        await settled(lambda: self.world.run(row.id).state in states)
        return self.world.run(row.id)

    def left(self) -> tuple[int, list[Path]]:
        """Containers and folders that are left."""
        return self.engine.alive, list(self.attempts.iterdir())
