"""Who gets the next container: the owner first; contacts from what is left (issue 8, scale)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from runner.render.door import waiting_words
from runner.supervisor.places import Places, waiting_view


class Runs:
    """Attempts that hold a place until they are told to end."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.running: list[str] = []
        self.most: dict[str, int] = {}
        self.tasks: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}

    async def begin(self, name: str, agent: str, *, owner: bool) -> None:
        end = asyncio.Event()

        async def run() -> None:
            async with self.places.one(agent, owner=owner):
                self.running.append(name)
                await end.wait()
                self.running.remove(name)

        self.tasks[name] = (asyncio.create_task(run()), end)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def end(self, name: str) -> None:
        task, end = self.tasks.pop(name)
        end.set()
        await task
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def lived(story: Callable[[Runs], Awaitable[None]], **limits: int) -> None:
    async def live() -> None:
        runs = Runs(Places(**({"host": 8, "agent": 4} | limits)))
        await story(runs)
        for name in list(runs.tasks):
            task, _ = runs.tasks.pop(name)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        async with runs.places.one("x", owner=True):
            assert runs.places._taken.total() == 1, "every place was given back"

    asyncio.run(live())


def test_contacts_never_take_the_last_place_of_an_agent_or_of_the_host() -> None:
    async def story(runs: Runs) -> None:
        for number in range(30):
            await runs.begin(f"c{number}", f"agent{number % 3}", owner=False)
        assert len(runs.running) == 7
        await runs.begin("mine", "agent0", owner=True)
        assert runs.running[-1] == "mine"

    lived(story)


def test_one_agent_has_a_place_for_its_owner_however_many_contacts_wait() -> None:
    async def story(runs: Runs) -> None:
        for number in range(10):
            await runs.begin(f"c{number}", "scribe", owner=False)
        assert runs.running == ["c0", "c1", "c2"]
        await runs.begin("mine", "scribe", owner=True)
        await runs.begin("mine too", "scribe", owner=True)
        assert runs.running == ["c0", "c1", "c2", "mine"]
        await runs.end("c1")
        assert runs.running == ["c0", "c2", "mine", "mine too"]
        await runs.end("mine")
        assert runs.running == ["c0", "c2", "mine too", "c3"]

    lived(story)


def test_without_contacts_the_owner_has_all_of_it() -> None:
    async def story(runs: Runs) -> None:
        for number in range(12):
            await runs.begin(f"o{number}", f"agent{number % 2}", owner=True)
        assert len(runs.running) == 8

    lived(story)


def test_contacts_come_in_the_order_in_which_they_came() -> None:
    async def story(runs: Runs) -> None:
        for number in range(6):
            await runs.begin(f"c{number}", "scribe", owner=False)
        for number in range(3):
            await runs.end(f"c{number}")
        assert runs.running == ["c3", "c4", "c5"]

    lived(story)


def test_whoever_gives_up_waiting_leaves_nothing_behind() -> None:
    async def story(runs: Runs) -> None:
        await runs.begin("a", "scribe", owner=True)
        await runs.begin("b", "scribe", owner=True)
        task, _ = runs.tasks.pop("b")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await runs.end("a")
        await runs.begin("c", "scribe", owner=True)
        assert runs.running == ["c"]

    lived(story, host=1, agent=1)


def test_what_the_next_one_waits_for_is_a_place_or_room() -> None:
    """`status` says so: of those that wait, whoever is next counts."""

    async def main() -> list[str | None]:
        said: list[str | None] = []
        free = True
        places = Places(host=1, agent=1, kept=0, room=lambda *, others: free)
        said.append(places.hindrance())
        async with places.one("a", owner=True):
            said.append(places.hindrance())  # of those whom the queue keeps back
            waiting = asyncio.create_task(_through(places))
            await asyncio.sleep(0)
            said.append(places.hindrance())
            free = False
        said.append(places.hindrance())
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return [*said, places.hindrance()]

    assert asyncio.run(main()) == [None, "place", "place", "room", None]


async def _through(places: Places) -> None:
    async with places.one("b", owner=True):
        pass


@pytest.mark.parametrize(
    ("queued", "paused", "hindrance", "shown"),
    [
        (0, False, None, "none"),
        (1, False, None, "1 attempt: their turn is about to come"),
        (2, False, "place", "2 attempts: every place for them is taken (RUNNER_HOST)"),
        (2, False, "room", "2 attempts: the machine has no room for one more (runner doctor says of what)"),
        (3, True, "place", "3 attempts: the supervisor is paused (runner resume)"),
    ],
)
def test_status_says_how_many_attempts_wait_and_what_for(
    queued: int, *, paused: bool, hindrance: str | None, shown: str
) -> None:
    assert waiting_words({"waiting": waiting_view(queued, paused=paused, hindrance=hindrance)}) == shown
