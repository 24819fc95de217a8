"""The warm pool: containers that wait for their run, so that an agent answers as soon as it is asked (issue 7, M12).

Owns which are kept: of agents that had a run lately, of their published profile, image and choices as they are now, not too
old, and no more than the host has room for. A run that is resumed never gets one; whatever is odd about one drops it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from runner.errors import RunnerError, SandboxError, StoreError
from runner.sandbox.engine import ImageInfo
from runner.sandbox.image import image_info
from runner.store import Connection, choices, pausing, pooling, profiles
from runner.supervisor.parsing import parsed
from runner.supervisor.preparation import Facts, checked
from runner.supervisor.surroundings import Surroundings
from runner.supervisor.warm import Recipe, Warm, adopt, facts_with, fill, note, recipe_of

_log = logging.getLogger(__name__)

#: Seconds between two looks at what is to be kept.
TICK = 2.0
#: Seconds after a run began in which it has the machine for itself.
QUIET = 3.0
#: An agent that had no run for so long is not kept warm.
LATELY = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is kept."""

    each: int = 0  #: containers of one agent; 0: no pool
    all: int = 0
    max_age: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A waiting container that is a run's now, still paused, and that run's facts."""

    facts: Facts
    warm: Warm


@dataclass(slots=True, kw_only=True)
class Pool:
    """Fills, hands out and drops. With `sizes.each` 0 it does nothing."""

    around: Surroundings
    sizes: Sizes = Sizes()
    room: Callable[[], bool] = lambda: True  #: whether the host has memory for one more
    now: Callable[[], float] = time.monotonic
    _waiting: list[Warm] = field(default_factory=list)
    _asked_at: float = float("-inf")
    _closed: bool = False
    _unwritten: list[Callable[[Connection], None]] = field(default_factory=list)  #: of what was dropped

    @property
    def ready(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @property
    def ids(self) -> frozenset[str]:
        """Of the containers that wait."""
        return frozenset(warm.box.container_id for warm in self._waiting)

    def start(self) -> Callable[[], Awaitable[None]]:
        """Begin to keep it filled; the answer empties it."""
        task = asyncio.create_task(self._keep()) if self.sizes.each else None

        async def stop() -> None:
            self._closed = True
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            await self._drop(self._waiting, "the supervisor stops")

        return stop

    async def claim(self, facts: Facts, image: ImageInfo) -> Claimed | None:
        """A container for a fresh run: brought up to date, proven once more and tied to its attempt; None: there is none.

        One that fails at any of it is gone, and the run starts cold.
        """
        recipe, self._asked_at = recipe_of(facts, image), self.now()
        while (warm := self._take(recipe)) is not None:
            try:
                mine = await self.around.store.query(facts_with, facts, warm)
                await warm.bring_up_to_date(self.around.engine, mine)
                if await self.around.store.call(adopt, mine, warm, clock=self.around.clock):
                    return Claimed(facts=mine, warm=warm)
                why = "its run was stopped"
            except RunnerError as error:
                why = error.diagnostics()
            except BaseException:
                await warm.discard()
                raise
            await self._drop([warm], why)
        return None

    async def round(self) -> None:
        """Drop what is not to be kept, and add one container if one is missing and the host is at leisure."""
        await self._write_down()
        wanted = await self._wanted()
        if wanted is None:
            return
        await self._drop([warm for warm in self._waiting if warm.recipe not in wanted], "its profile, choices or image changed")
        await self._drop([warm for warm in self._waiting if not warm.usable], "it did not stay as it was left")
        old = self.now() - self.sizes.max_age
        await self._drop([warm for warm in self._waiting if warm.since < old], "it is too old")
        if not self.room():
            await self._drop(self._waiting[:1], "the host's memory is short")
        elif (missing := self._missing(wanted)) is not None and self._at_leisure():
            await self._add(missing)

    async def _keep(self) -> None:
        while True:
            try:
                await self.round()
            except RunnerError as error:
                _log.warning("cannot keep containers ready: %s", error.diagnostics())
            await asyncio.sleep(TICK)

    async def _add(self, recipe: Recipe) -> None:
        around = self.around
        warm = await fill(
            around.engine,
            recipe,
            folder=around.attempts / f"pool-{around.ids.nonce()[:16]}",
            ids=around.ids,
            owner=around.owner,
            boot=around.boot,
            runtime=around.runtime,
            now=self.now(),
        )
        self._waiting.append(warm)
        await self.around.store.call(note, "pool.fill", warm, now=self.around.clock())

    async def _drop(self, these: list[Warm], why: str) -> None:
        dropped = list(these)
        self._waiting = [warm for warm in self._waiting if warm not in dropped]
        await asyncio.gather(*(warm.discard() for warm in dropped))
        for warm in dropped:
            _log.info("a waiting container of %s is dropped: %s", warm.recipe.profile.name, why)
            self._unwritten.append(partial(note, event="pool.drop", warm=warm, now=self.around.clock(), why=why))
        await self._write_down()

    async def _write_down(self) -> None:
        """Put on record what is not yet. A database that refuses is asked again later: the container is gone all the same."""
        while self._unwritten:
            oldest = self._unwritten.pop(0)
            try:
                await self.around.store.call(oldest)
            except StoreError as error:
                _log.error("cannot write down which container was dropped: %s", error.brief)
                self._unwritten.insert(0, oldest)
                return

    def _take(self, recipe: Recipe) -> Warm | None:
        """The oldest that fits. From here on no other run can get it."""
        found = next((warm for warm in self._waiting if warm.recipe == recipe and warm.usable), None)
        if found is not None:
            self._waiting.remove(found)
        return found

    def _missing(self, wanted: list[Recipe]) -> Recipe | None:
        if len(self._waiting) >= self.sizes.all:
            return None
        have = [warm.recipe for warm in self._waiting]
        return next((recipe for recipe in wanted if have.count(recipe) < self.sizes.each), None)

    def _at_leisure(self) -> bool:
        starting = any(not segment.proven for segment in self.around.live.all())
        return not self._closed and not starting and self.now() - self._asked_at >= QUIET

    async def _wanted(self) -> list[Recipe] | None:
        """What is to be kept, the agent that was used last first; None: it cannot be told now, so nothing changes."""
        made = await self.around.store.query(_kept, since=self.around.clock() - LATELY)
        if not made:
            return []
        try:
            image = checked(await image_info(self.around.engine))
        except SandboxError:
            return None
        return [recipe(image) for recipe in made]


def _kept(conn: Connection, *, since: float) -> list[Callable[[ImageInfo], Recipe]]:
    if pausing.current(conn) is not None:
        return []
    return [_recipe(conn, name) for name in pooling.used(conn, since=since)]


def _recipe(conn: Connection, name: str) -> Callable[[ImageInfo], Recipe]:
    stored = profiles.current(conn, name)
    profile, blocked = parsed(stored), choices.of_agent(conn, name).blocked

    def with_image(image: ImageInfo) -> Recipe:
        return Recipe(profile=profile, blocked=blocked, uid=stored.uid, image=image)

    return with_image
