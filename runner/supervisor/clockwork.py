"""What happens by the clock alone: deadlines of approvals, and runs that wait for the engine to come back."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from runner.errors import RunnerError, SandboxError
from runner.sandbox.engine import Engine
from runner.sandbox.image import image_info
from runner.store import Store, runs
from runner.supervisor.effects import Effects
from runner.supervisor.preparation import checked
from runner.supervisor.progress import Clock, Enqueue, advance

_log = logging.getLogger(__name__)

TICK = 1.0
#: Ticks between two looks at whether the engine is back.
LOOK_EVERY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Clockwork:
    """Ticks once a second."""

    store: Store
    engine: Engine
    effects: Effects
    clock: Clock
    enqueue: Enqueue
    also: tuple[Callable[[], Awaitable[None]], ...] = ()  #: what else is done at each tick

    def start(self) -> Callable[[], Awaitable[None]]:
        """Begin to tick; the answer stops it."""
        task = asyncio.create_task(self._run())
        task.add_done_callback(_tell)

        async def stop() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        return stop

    async def tick(self) -> None:
        """Expire what is due; a run whose profile says so ends with it (L2)."""
        await self.effects.expire()
        for due in self.also:
            await due()

    async def wake(self) -> None:
        """Resume parked runs that nobody has to be waited for, once engine and image are there."""
        idle = await self.store.query(runs.idle)
        if not idle:
            return
        try:
            checked(await image_info(self.engine))
        except SandboxError:
            return
        for run in idle:
            await self.store.call(advance, run, now=self.clock(), enqueue=self.enqueue)

    async def _run(self) -> None:
        for count in itertools.count():
            try:
                await self.tick()
                await self.effects.take_up()
                await self.store.tidy()
                if count % LOOK_EVERY == 0:
                    await self.wake()
            except RunnerError as error:
                _log.error("cannot do what is due: %s", error.diagnostics())
            await asyncio.sleep(TICK)


def _tell(task: asyncio.Task[None]) -> None:
    """A clock that stands still must not do so silently; decisions check deadlines themselves (B5)."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.critical("the clock stopped: no deadline ends a call by itself any more", exc_info=error)
