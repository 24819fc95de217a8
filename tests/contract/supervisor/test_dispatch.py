"""The dispatcher against the real DBOS on a real file: what it promises, and what DBOS does that it must not pass on."""

from __future__ import annotations

import asyncio
import base64
import pickle
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from dbos._serialization import DefaultSerializer

from runner.errors import StoreError
from runner.model import Attempt, RunId
from runner.store import Connection, Store
from runner.supervisor import dispatch as room
from runner.supervisor.dispatch import QUEUE, Dispatch
from tests.helpers.stored import fresh, opened, url

PATIENCE = 60.0
Work = Callable[[Attempt], Awaitable[bool]]


def an_attempt(segment: int = 0, number: int = 0) -> Attempt:
    return Attempt(RunId(fresh("r")), segment, number)


async def enqueue(store: Store, dispatch: Dispatch, *attempts: Attempt, agent: str = "scribe") -> None:
    def work(conn: Connection) -> None:
        for attempt in attempts:
            dispatch.enqueue(conn, attempt, agent=agent)

    await store.call(work)


async def eventually(look: Callable[[], bool]) -> None:
    """Wait for what another thread or DBOS itself brings about, which no event tells."""
    end = time.monotonic() + PATIENCE
    for _ in iter(look, True):
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


def rows(store: Store) -> list[tuple[str, str]]:
    with store.reading() as conn:
        return [tuple(row) for row in conn.exec_driver_sql("SELECT workflow_uuid, status FROM workflow_status ORDER BY 1")]


def with_dispatch(path: Path, conduct: Work, scene: Callable[[Store, Dispatch], Awaitable[None]], **limits: int) -> None:
    """Play a scene with an open, not yet started dispatcher."""

    async def play(store: Store) -> None:
        dispatch = Dispatch(store.engine, **{"host_limit": 8, "agent_limit": 4} | limits)
        await dispatch.open(conduct)
        try:
            await scene(store, dispatch)
        finally:
            await dispatch.close(drain_seconds=0)

    with opened(path) as store:
        asyncio.run(play(store))


def test_an_attempt_is_conducted_on_the_running_loop(tmp_path: Path) -> None:
    """Engine.md: otherwise the supervisor's futures and sockets are not usable."""
    found: list[tuple[Attempt, bool]] = []
    loops: list[asyncio.AbstractEventLoop] = []

    async def conduct(attempt: Attempt) -> bool:
        found.append(
            (attempt, asyncio.get_running_loop() is loops[0] and threading.current_thread() is threading.main_thread())
        )
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        loops.append(asyncio.get_running_loop())
        attempt = an_attempt(2, 1)
        await enqueue(store, dispatch, attempt)
        await dispatch.start()
        await eventually(lambda: bool(found))
        assert found == [(attempt, True)]

    with_dispatch(tmp_path / "db", conduct, scene)


def test_the_same_attempt_queued_twice_runs_once(tmp_path: Path) -> None:
    counts: Counter[Attempt] = Counter()

    async def conduct(attempt: Attempt) -> bool:
        counts[attempt] += 1
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        twice, later = an_attempt(), an_attempt()
        await enqueue(store, dispatch, twice)
        await enqueue(store, dispatch, twice)
        await dispatch.start()
        await eventually(lambda: counts[twice] > 0)
        await enqueue(store, dispatch, twice, later)
        await eventually(lambda: counts[later] > 0)
        assert counts == {twice: 1, later: 1}

    with_dispatch(tmp_path / "db", conduct, scene)


def test_a_transaction_that_is_undone_queues_nothing(tmp_path: Path) -> None:
    """One transaction with our own rows (engine.md §2)."""

    async def conduct(attempt: Attempt) -> bool:
        raise AssertionError(attempt)

    async def scene(store: Store, dispatch: Dispatch) -> None:
        def queue_and_fail(conn: Connection) -> None:
            dispatch.enqueue(conn, an_attempt(), agent="scribe")
            raise RuntimeError("undo")

        with pytest.raises(RuntimeError, match="undo"):
            await store.call(queue_and_fail)
        assert rows(store) == []

    with_dispatch(tmp_path / "db", conduct, scene)


def test_no_agent_gets_more_places_than_its_limit_and_none_waits_for_another(tmp_path: Path) -> None:
    """Engine.md §2: limits per profile and host."""
    running: Counter[str] = Counter()
    most: Counter[str] = Counter()
    whose: dict[Attempt, str] = {}
    ended: list[Attempt] = []
    go = asyncio.Event()

    async def conduct(attempt: Attempt) -> bool:
        agent = whose[attempt]
        running[agent] += 1
        most[agent] = max(most[agent], running[agent])
        await go.wait()
        running[agent] -= 1
        ended.append(attempt)
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        for agent in ("a", "b"):
            attempts = [an_attempt() for _ in range(4)]
            whose.update(dict.fromkeys(attempts, agent))
            await enqueue(store, dispatch, *attempts, agent=agent)
        await dispatch.start()
        await eventually(lambda: running == {"a": 2, "b": 2})
        await asyncio.sleep(5 * room.POLL_SECONDS)
        go.set()
        await eventually(lambda: len(ended) == 8)
        assert most == {"a": 2, "b": 2}

    with_dispatch(tmp_path / "db", conduct, scene, agent_limit=2)


def test_the_host_limit_holds_over_all_agents(tmp_path: Path) -> None:
    running: set[Attempt] = set()
    most: list[int] = []
    go = asyncio.Event()

    async def conduct(attempt: Attempt) -> bool:
        running.add(attempt)
        most.append(len(running))
        await go.wait()
        running.discard(attempt)
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        for number in range(5):
            await enqueue(store, dispatch, an_attempt(), agent=f"agent-{number}")
        await dispatch.start()
        await eventually(lambda: len(running) == 3)
        await asyncio.sleep(5 * room.POLL_SECONDS)
        go.set()
        await eventually(lambda: len(most) == 5)
        assert max(most) == 3

    with_dispatch(tmp_path / "db", conduct, scene, host_limit=3)


def test_a_row_marked_as_pickled_fails_closed(tmp_path: Path) -> None:
    """Engine.md: the row names its codec, and such a row ran code."""
    conducted: list[Attempt] = []
    marker = tmp_path / "ran"
    attack = f"cbuiltins\nopen\n(S'{marker}'\nS'w'\ntR.".encode()
    pickle.loads(attack).close()
    marker.unlink()

    async def conduct(attempt: Attempt) -> bool:
        conducted.append(attempt)
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        poisoned, honest = an_attempt(), an_attempt()
        await enqueue(store, dispatch, poisoned)
        with store.begin() as conn:
            changed = conn.exec_driver_sql(
                "UPDATE workflow_input SET inputs = ? WHERE workflow_uuid = ?",
                (base64.b64encode(attack).decode(), str(poisoned)),
            )
            assert changed.rowcount == 1
            conn.exec_driver_sql(
                "UPDATE workflow_status SET serialization = 'py_pickle' WHERE workflow_uuid = ?", (str(poisoned),)
            )
        await dispatch.start()
        await eventually(lambda: dict(rows(store))[str(poisoned)] != "ENQUEUED")
        await enqueue(store, dispatch, honest)
        await eventually(lambda: honest in conducted)
        assert conducted == [honest]
        assert not marker.exists()

    with_dispatch(tmp_path / "db", conduct, scene)


def test_the_pickle_codec_does_not_exist_here() -> None:
    room._refuse_pickle()
    with pytest.raises(StoreError, match="pickled"):
        DefaultSerializer().deserialize("gASVAgAAAAAAAABLAS4=")
    with pytest.raises(StoreError, match="pickled"):
        DefaultSerializer().serialize({})


def test_nothing_is_queued_by_a_dispatcher_that_is_not_open(tmp_path: Path) -> None:
    with opened(tmp_path / "db") as store:
        dispatch = Dispatch(store.engine, host_limit=1, agent_limit=1)
        with pytest.raises(StoreError, match="not open"), store.begin() as conn:
            dispatch.enqueue(conn, an_attempt(), agent="scribe")


def test_closing_leaves_the_loop_usable(tmp_path: Path) -> None:
    """DBOS makes its own pool the loop's default and shuts it down."""

    async def conduct(attempt: Attempt) -> bool:
        del attempt
        return True

    async def play(store: Store) -> int:
        for _ in range(2):
            dispatch = Dispatch(store.engine, host_limit=8, agent_limit=4)
            await dispatch.open(conduct)
            await dispatch.start()
            await dispatch.close(drain_seconds=0)
        return await asyncio.to_thread(lambda: 7)

    with opened(tmp_path / "db") as store:
        assert asyncio.run(play(store)) == 7


KILLED = """
import asyncio, os, sys
from pathlib import Path
from runner.model import Attempt, RunId
from runner.supervisor.dispatch import Dispatch
from tests.helpers.stored import opened

async def play(store):
    taken = []
    dispatch = Dispatch(store.engine, host_limit=8, agent_limit=2)
    async def conduct(attempt):
        taken.append(attempt)
        await asyncio.sleep(3600)
    await dispatch.open(conduct)
    def work(conn):
        for run in sys.argv[2:]:
            dispatch.enqueue(conn, Attempt(RunId(run), 0, 0), agent="scribe")
    await store.call(work)
    await dispatch.start()
    while len(taken) < 2:
        await asyncio.sleep(0.02)
    os._exit(9)

with opened(Path(sys.argv[1])) as store:
    asyncio.run(play(store))
"""


def killed_while_conducting(path: Path, *runs: str) -> None:
    """A supervisor that died with two attempts of an agent under way and the rest queued."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), *runs], check=False, capture_output=True, text=True)
    assert done.returncode == 9, done.stderr


def test_a_killed_supervisors_work_does_not_take_up_its_agents_places(tmp_path: Path) -> None:
    """DBOS counts a dead host's workflows against the partition's limit: the agent would be stuck for ever."""
    path = tmp_path / "db"
    runs = [fresh("r") for _ in range(3)]
    killed_while_conducting(path, *runs)
    conducted: list[RunId] = []

    async def conduct(attempt: Attempt) -> bool:
        conducted.append(attempt.run)
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        await dispatch.start()
        await eventually(lambda: bool(conducted))
        assert len(conducted) == 1
        assert set(conducted) < set(runs)

    with_dispatch(path, conduct, scene, agent_limit=2)


def test_what_was_queued_before_a_restart_waits_for_the_start(tmp_path: Path) -> None:
    """DBOS remembers the queue and polls it from its launch on, which is before recovery has looked at the runs."""
    path = tmp_path / "db"
    killed_while_conducting(path, *[fresh("r") for _ in range(3)])
    conducted: list[Attempt] = []

    async def conduct(attempt: Attempt) -> bool:
        conducted.append(attempt)
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        await eventually(lambda: "PENDING" in {state for _, state in rows(store)})
        assert conducted == []
        await dispatch.start()
        await eventually(lambda: len(conducted) == 1)

    with_dispatch(path, conduct, scene)


def test_rows_of_ended_attempts_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Engine.md §4: finished rows accumulate; prune."""
    monkeypatch.setattr(room, "PRUNE_EVERY", 3)
    count = 0

    async def conduct(attempt: Attempt) -> bool:
        nonlocal count
        count += 1
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        await dispatch.start()
        for number in range(7):
            await enqueue(store, dispatch, an_attempt())
            await eventually(lambda number=number: count > number)
            await eventually(lambda: {state for _, state in rows(store)} <= {"SUCCESS"})
        assert len(rows(store)) <= 3

    with_dispatch(tmp_path / "db", conduct, scene)
    with_dispatch(tmp_path / "db", conduct, lambda store, _: _nothing_left(store))


async def _nothing_left(store: Store) -> None:
    assert rows(store) == []


def test_the_queue_is_the_one_that_engine_md_describes() -> None:
    assert (QUEUE, room.WORKFLOW, room.APPLICATION_VERSION) == ("segments", "segment", "1")
    assert url(Path("/x")) == "sqlite:////x"
