"""Nobody waits without an end for a PostgreSQL server, or for another who uses it: a lease has to be renewed meanwhile (M8)."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing

import pytest
from sqlalchemy import text

from runner.errors import StoreError
from runner.sandbox.launch import BOOT_LABEL, STATE_LABEL
from runner.setting_tables import Host
from runner.store import Store, leases
from runner.store.leases import Lease
from runner.store.postgres import Waits
from runner.supervisor.tenancy import BEATS, Tenancy
from tests.helpers.fake_engine import FakeEngine
from tests.helpers.postgres import Cluster
from tests.helpers.stored import NOW, opened

SHORT = Waits(lock=0.3, idle=0.3)
IN_FORCE = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")


@pytest.fixture
def url(postgres: Cluster) -> str:
    return postgres.emptied()


@pytest.fixture
def short(url: str) -> Iterator[Store]:
    store = Store(url, waits=SHORT)
    store.open()
    with closing(store):
        yield store


def shown(store: Store) -> dict[str, str]:
    with store.engine.connect() as conn:
        conn.rollback()
        return {name: str(conn.execute(text(f"SHOW {name}")).scalar()) for name in IN_FORCE}


def test_every_connection_has_an_end_to_its_waits_and_the_url_may_say_another(url: str) -> None:
    """M8: DBOS is handed the same engine."""
    with opened(url) as store:
        assert shown(store) == {name: f"{int(seconds)}s" for name, seconds in Waits().server.items()}
    with opened(f"{url}&options=-c%20statement_timeout%3D7min") as store:
        assert shown(store)["statement_timeout"] == "7min"
        assert shown(store)["lock_timeout"] == "20s"


def test_a_beat_that_waits_as_long_as_it_may_is_followed_by_another_before_the_lease_is_over() -> None:
    """M8: the sums behind the waits and the default lease."""
    waits, lease = Waits(), Host().lease
    assert lease / BEATS + waits.connect + waits.lock < lease
    assert lease / BEATS + waits.pool < lease
    assert waits.lock <= waits.statement < lease
    assert waits.idle < lease, "a stopped writer must be out before another may take over"


def test_a_writer_that_does_not_let_go_keeps_nobody_waiting_for_ever(short: Store, url: str) -> None:
    """M8: the lock of all writers; L7: an error, and no empty answer."""
    with opened(url) as other, other.begin(), pytest.raises(StoreError, match="lock timeout"), short.begin():
        pass
    with short.begin() as conn:
        assert leases.current(conn) is None


def test_a_writer_that_stands_still_in_a_transaction_is_put_out_and_another_takes_over(short: Store, url: str) -> None:
    """M8: a process that was stopped in the middle of a write, which holds the lock of all writers."""
    with opened(url) as other:

        def stand_still() -> None:
            with short.begin() as conn:
                leases.take(conn, Lease("mine", "1", NOW + 60), now=NOW)
                holds.set()
                taken.wait(60)

        holds, taken = threading.Event(), threading.Event()
        failure: list[StoreError] = []

        def first() -> None:
            try:
                stand_still()
            except StoreError as error:
                failure.append(error)

        thread = threading.Thread(target=first)
        thread.start()
        holds.wait(60)
        with other.begin() as conn:
            assert leases.take(conn, Lease("other", "2", NOW + 60), now=NOW) is not None
        taken.set()
        thread.join()
    assert len(failure) == 1
    with short.reading() as conn:
        assert leases.current(conn) == Lease("other", "2", NOW + 60)


def test_a_server_that_takes_a_connection_and_says_nothing_is_not_waited_for() -> None:
    """M8: a machine that hangs still takes connections."""
    with closing(socket.create_server(("127.0.0.1", 0))) as deaf:
        port = deaf.getsockname()[1]
        store = Store(f"postgresql+psycopg://runner@127.0.0.1:{port}/none", waits=Waits(connect=2))
        with pytest.raises(StoreError, match="timeout"):
            store.open()


def test_a_supervisor_whose_database_is_locked_for_longer_than_its_lease_removes_its_containers(url: str) -> None:
    """M8: with a real server, a real lock, and a client that waits."""
    engine, told = FakeEngine(), list[str]()
    asyncio.run(engine.create({"Labels": {STATE_LABEL: "mine", BOOT_LABEL: "1"}}))

    @asynccontextmanager
    async def beside() -> AsyncIterator[FakeEngine]:
        yield engine

    with opened(url) as store, opened(url) as other:
        tenant = Tenancy(
            store=store,
            engine=beside,
            owner="mine",
            boot="1",
            seconds=0.6,
            clock=time.time,
            over=lambda: told.append("over"),
            park=lambda: told.append("park"),
        )

        async def life() -> None:
            stop = await tenant.begin()
            with other.begin():
                while engine.containers:  # noqa: ASYNC110 -- a thread rings no bell
                    await asyncio.sleep(0.02)
                assert (tenant.fenced, set(told)) == (True, {"park"})
            while tenant.fenced:  # noqa: ASYNC110 -- a thread rings no bell
                await asyncio.sleep(0.02)
            await stop()

        asyncio.run(asyncio.wait_for(life(), 60))
