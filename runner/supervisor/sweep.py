"""Removes what is left over for as long as there is something: an engine that was down at the start is asked again (case 97).

Owns two kinds of leftovers: of former boots, by label; and of this one, what no attempt and no waiting place has had for long.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from runner.errors import RunnerError, SandboxError
from runner.sandbox import reaping
from runner.store import Connection, segments
from runner.supervisor.pool import Pool
from runner.supervisor.surroundings import Surroundings

_log = logging.getLogger(__name__)

#: Seconds between two looks: until one was answered and while there is a container that nobody has, and after that.
SOON, EVERY = 5.0, 20.0
#: Seconds after which a container of ours that nobody has is left over: longer than any start may take; less once it ended.
STRANGE, SETTLED = 300.0, 4.0


@dataclass(slots=True, kw_only=True)
class Sweep:
    """Looks again and again."""

    around: Surroundings
    pool: Pool
    former: tuple[Path, ...] = ()  #: folders of former boots, which nothing mounts once their containers are gone
    now: Callable[[], float] = time.monotonic
    _strange: dict[str, float] = field(default_factory=dict)

    def start(self) -> Callable[[], Awaitable[None]]:
        """Begin; the answer stops it."""
        task = asyncio.create_task(self._run())

        async def stop() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        return stop

    async def look(self) -> frozenset[str]:
        """Remove what is left over now; what is gone.

        Raises:
            RunnerError: Engine or database do not answer.
        """
        engine, owner, boot = self.around.engine, self.around.owner, self.around.boot
        left = await reaping.left(engine, owner=owner, boot=boot)
        gone = await reaping.remove(engine, left | await self._forgotten(), owner=owner)
        if gone:
            _log.warning("removed %d container(s) that were left over", len(gone))
        if left <= gone:
            for folder in self.former:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            self.former = ()
        return gone

    async def _forgotten(self) -> frozenset[str]:
        """Containers of this boot that have been nobody's for long: one whose removal failed, as while the engine was away."""
        made = await reaping.ours(self.around.engine, owner=self.around.owner, boot=self.around.boot)
        had = await self.around.store.query(_had) | self.pool.ids
        now = self.now()
        self._strange = {one: self._strange.get(one, now) for one in made - had}
        settled = frozenset(one for one, since in self._strange.items() if now - since >= SETTLED)
        ended = await self.around.store.query(segments.ended_containers, settled) if settled else settled
        long = frozenset(one for one, since in self._strange.items() if now - since >= STRANGE)
        return ended | long | await reaping.stopped(self.around.engine, settled - ended)

    async def _run(self) -> None:
        answered = False
        while True:
            await asyncio.sleep(EVERY if answered and not self._strange else SOON)
            try:
                await self.look()
                answered = True
            except SandboxError as error:
                _log.warning("cannot look for leftover containers: %s", error.brief)
                answered = False
            except RunnerError as error:
                _log.error("cannot look for leftover containers: %s", error.diagnostics())


def _had(conn: Connection) -> frozenset[str]:
    return frozenset(one.container_id for one in segments.open_attempts(conn) if one.container_id is not None)
