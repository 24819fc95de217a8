"""A queued attempt begins as soon as it is committed, not at the queue's next look; and once, whoever comes first."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.model import Attempt
from runner.store import Connection, Store
from runner.supervisor import dispatch as room
from runner.supervisor.dispatch import Dispatch
from tests.contract.supervisor.test_dispatch import Work, an_attempt, enqueue, eventually, rows
from tests.helpers.stored import opened

#: Longer than any test: what begins, begins by a nudge.
NEVER = 3600.0


def with_nudges(path: Path, conduct: Work, scene: Callable[[Store, Dispatch], object], *, agents: int = 4) -> None:
    """Play a scene with a started dispatcher."""

    async def play(store: Store) -> None:
        dispatch = Dispatch(store.engine, host_limit=8, agent_limit=agents)
        await dispatch.open(conduct)
        await dispatch.start()
        try:
            await scene(store, dispatch)  # type: ignore[misc]
        finally:
            await dispatch.close(drain_seconds=0)

    with opened(path) as store:
        asyncio.run(play(store))


def ended(store: Store, attempt: Attempt) -> bool:
    return dict(rows(store)).get(str(attempt)) == "SUCCESS"


def test_a_nudged_attempt_begins_before_the_queue_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """M12: a tenth of a second of polling is as long as the whole of a warm start."""
    monkeypatch.setattr(room, "POLL_SECONDS", NEVER)
    begun: list[Attempt] = []

    async def conduct(attempt: Attempt) -> bool:
        begun.append(attempt)
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        attempt = an_attempt()
        await enqueue(store, dispatch, attempt)
        dispatch.nudge()
        await eventually(lambda: begun == [attempt])

    with_nudges(tmp_path / "db", conduct, scene)


def test_the_workflow_that_comes_after_waits_for_what_was_begun_and_does_not_begin_it_again(tmp_path: Path) -> None:
    """Its row counts against the agent's limit for as long as the attempt is under way (engine.md §2)."""
    counts: Counter[Attempt] = Counter()
    go = asyncio.Event()

    async def conduct(attempt: Attempt) -> bool:
        counts[attempt] += 1
        await go.wait()
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        attempt = an_attempt()
        await enqueue(store, dispatch, attempt)
        dispatch.nudge()
        await eventually(lambda: dict(rows(store))[str(attempt)] == "PENDING")
        await asyncio.sleep(3 * room.POLL_SECONDS)
        assert not ended(store, attempt)
        go.set()
        await eventually(lambda: ended(store, attempt))
        assert counts == {attempt: 1}
        assert dispatch._begun == {}

    with_nudges(tmp_path / "db", conduct, scene)


def test_a_workflow_that_comes_when_all_is_over_does_nothing_more(tmp_path: Path) -> None:
    counts: Counter[Attempt] = Counter()

    async def conduct(attempt: Attempt) -> bool:
        counts[attempt] += 1
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        attempts = [an_attempt() for _ in range(5)]
        for attempt in attempts:
            await enqueue(store, dispatch, attempt)
            dispatch.nudge()
        await eventually(lambda: all(ended(store, attempt) for attempt in attempts))
        assert counts == dict.fromkeys(attempts, 1)
        assert dispatch._begun == {}

    with_nudges(tmp_path / "db", conduct, scene)


def test_a_nudge_before_the_commit_costs_the_attempt_nothing(tmp_path: Path) -> None:
    """Another's change rings while the transaction is open: nobody finds the attempt yet, and its workflow comes later."""
    committed: list[bool] = []
    found: Counter[bool] = Counter()

    async def conduct(attempt: Attempt) -> bool:
        del attempt
        found[bool(committed)] += 1
        return bool(committed)

    async def scene(store: Store, dispatch: Dispatch) -> None:
        attempt = an_attempt()
        loop = asyncio.get_running_loop()

        def work(conn: Connection) -> None:
            dispatch.enqueue(conn, attempt, agent="scribe")
            loop.call_soon_threadsafe(dispatch.nudge)
            while not found[False]:
                pass

        await store.call(work)
        committed.append(True)
        await eventually(lambda: ended(store, attempt))
        assert found == {False: 1, True: 1}
        assert dispatch._begun == {}

    with_nudges(tmp_path / "db", conduct, scene)


def test_what_was_rolled_back_is_forgotten(tmp_path: Path) -> None:
    tried: list[Attempt] = []

    async def conduct(attempt: Attempt) -> bool:
        tried.append(attempt)
        return False

    async def scene(store: Store, dispatch: Dispatch) -> None:
        attempt = an_attempt()

        def work(conn: Connection) -> None:
            dispatch.enqueue(conn, attempt, agent="scribe")
            raise RuntimeError("undo")

        with pytest.raises(RuntimeError, match="undo"):
            await store.call(work)
        dispatch.nudge()
        await eventually(lambda: tried == [attempt] and not dispatch._begun)

    with_nudges(tmp_path / "db", conduct, scene)


def test_a_nudge_gives_no_place_beyond_the_limit_and_passes_nobody_who_waits(tmp_path: Path) -> None:
    """Issue 7, item 5: fair among an agent's runs, in the order they came."""
    order: list[Attempt] = []
    running: set[Attempt] = set()
    most: list[int] = []
    steps = asyncio.Semaphore(0)

    async def conduct(attempt: Attempt) -> bool:
        order.append(attempt)
        running.add(attempt)
        most.append(len(running))
        await steps.acquire()
        running.discard(attempt)
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        attempts = [an_attempt() for _ in range(4)]
        for attempt in attempts:
            await enqueue(store, dispatch, attempt)
            dispatch.nudge()
        for step in range(1, 5):
            await eventually(lambda step=step: len(order) == step)  # type: ignore[misc]
            steps.release()
        await eventually(lambda: all(ended(store, attempt) for attempt in attempts))
        assert (order[0], sorted(order)) == (attempts[0], sorted(attempts))
        assert max(most) == 1

    with_nudges(tmp_path / "db", conduct, scene, agents=1)


def test_a_contacts_attempt_is_never_begun_by_a_nudge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their lanes are the queue's: what is begun past it could be two of one lane."""
    monkeypatch.setattr(room, "POLL_SECONDS", NEVER)
    begun: list[Attempt] = []

    async def conduct(attempt: Attempt) -> bool:
        begun.append(attempt)
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        def work(conn: Connection) -> None:
            dispatch.enqueue(conn, an_attempt(), agent="scribe", lane="ab 0")

        await store.call(work)
        dispatch.nudge()
        ours = an_attempt()
        await enqueue(store, dispatch, ours)
        dispatch.nudge()
        await eventually(lambda: bool(begun))
        assert begun == [ours]

    with_nudges(tmp_path / "db", conduct, scene)
