"""A supervisor that cannot say that it lives acts no more; one that finds another in its place is over (M8)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runner.errors import StoreError, SupervisorUnavailableError
from runner.sandbox.launch import BOOT_LABEL, STATE_LABEL
from runner.store import Store, leases
from runner.supervisor.tenancy import BEATS, Tenancy
from tests.helpers.fake_engine import FakeEngine
from tests.helpers.stored import NOW, opened

SECONDS = 60.0


@dataclass
class House:
    """A tenancy over a real database and an engine in memory, with time that is moved by hand."""

    store: Store
    engine: FakeEngine = field(default_factory=FakeEngine)
    now: float = NOW
    told: list[str] = field(default_factory=list)

    def tenant(self, owner: str = "mine", boot: str = "1") -> Tenancy:
        """One that may have it."""

        @asynccontextmanager
        async def engine() -> AsyncIterator[FakeEngine]:
            yield self.engine

        return Tenancy(
            store=self.store,
            engine=engine,
            owner=owner,
            boot=boot,
            seconds=SECONDS,
            clock=lambda: self.now,
            running=lambda: self.now,
            over=lambda: self.told.append("over"),
            park=lambda: self.told.append("park"),
        )

    def containers(self, *boots: str) -> None:
        """Containers of these boots of ours."""
        for boot in boots:
            asyncio.run(self.engine.create({"Labels": {STATE_LABEL: "mine", BOOT_LABEL: boot}}))

    @property
    def left(self) -> list[str]:
        """Boots whose containers are left."""
        return [one.body["Labels"][BOOT_LABEL] for one in self.engine.containers.values()]


class Refusing:
    """A database that takes nothing."""

    def begin(self) -> Any:
        """Refuse."""
        raise StoreError("cannot use the database: disk is full")


def test_a_second_supervisor_is_refused_while_the_first_one_lives(tmp_path: Path) -> None:
    """M8: two on one database would carry out the same approvals."""
    with opened(tmp_path / "runner.db") as store:
        house = House(store)
        house.tenant().take()
        with pytest.raises(SupervisorUnavailableError, match="another state directory"):
            house.tenant("other", "2").take()
        house.tenant("mine", "3").take()
        house.now += SECONDS + 1
        house.tenant("other", "2").take()


class Hanging:
    """A database that answers nobody until it is let go."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.let_go = threading.Event()

    @contextmanager
    def begin(self) -> Iterator[None]:
        """Keep the caller."""
        self.asked.set()
        self.let_go.wait(60)
        raise StoreError("cannot use the database: it was away")
        yield


class Broken:
    """A database whose failure nobody foresaw."""

    def __init__(self) -> None:
        self.asked = 0

    def begin(self) -> Any:
        """Fail."""
        self.asked += 1
        raise OSError("too many open files")


class NoEngine:
    """An engine whose client fails as nobody foresaw."""

    async def find(self, _labels: object) -> tuple[str, ...]:
        """Fail."""
        raise LookupError("a client's own fault")


def test_one_that_cannot_renew_its_lease_parks_and_removes_its_own_containers_and_goes_on_when_it_can(
    tmp_path: Path,
) -> None:
    """M8: a host that cannot renew its lease kills its own containers, and no others; what starts meanwhile goes as well."""
    with opened(tmp_path / "runner.db") as store:
        house = House(store)
        tenant = house.tenant()
        tenant.take()
        house.containers("1", "other")
        tenant.store = Refusing()  # type: ignore[assignment]
        house.now += SECONDS - 1
        tenant.beat()
        tenant.watch()
        assert (house.told, house.left, tenant.fenced) == ([], ["1", "other"], False)
        house.now += 2
        tenant.beat()
        tenant.watch()
        assert (house.told, house.left, tenant.fenced) == (["park"], ["other"], True)
        house.containers("1")
        tenant.watch()
        assert house.left == ["other"]
        tenant.store = store
        tenant.beat()
        assert not tenant.fenced
        house.containers("1")
        tenant.watch()
        assert house.left == ["other", "1"]


def test_a_lease_that_waited_for_the_database_counts_from_before_it_asked(tmp_path: Path) -> None:
    """M8: what others read in the row ends no later than what this one believes of itself."""
    with opened(tmp_path / "runner.db") as store:
        house = House(store)
        tenant = house.tenant()

        @contextmanager
        def slow() -> Iterator[Any]:
            house.now += SECONDS + 1
            with store.begin() as conn:
                yield conn

        tenant.store = type("Slow", (), {"begin": staticmethod(slow)})()
        tenant.take()
        tenant.watch()
        assert tenant.fenced
        tenant.beat()
        assert tenant.fenced, "a renewal that came too late is none"


@pytest.mark.parametrize("trouble", [Hanging, Broken])
def test_whatever_the_beat_is_doing_a_lease_that_runs_out_is_fenced_and_its_threads_go_on(
    tmp_path: Path, trouble: Callable[[], Any]
) -> None:
    """M8: a database that hangs, and a failure that nobody foresaw: neither keeps a supervisor's containers alive."""
    away = trouble()
    with opened(tmp_path / "runner.db") as store:
        house = House(store)
        house.containers("1", "other")
        tenant = house.tenant()
        tenant.seconds, tenant.running = 0.5, time.monotonic

        async def life() -> None:
            stop = await tenant.begin()
            tenant.store = away
            while house.left != ["other"]:  # noqa: ASYNC110 -- a thread rings no bell
                await asyncio.sleep(0.02)
            assert (tenant.fenced, set(house.told)) == (True, {"park"})
            tenant.store = store
            if isinstance(away, Hanging):
                away.let_go.set()
            while tenant.fenced:  # noqa: ASYNC110 -- a thread rings no bell
                await asyncio.sleep(0.02)
            await stop()

        asyncio.run(asyncio.wait_for(life(), 60))


def test_one_that_has_lost_its_lease_is_over_even_when_its_containers_cannot_be_removed(tmp_path: Path) -> None:
    """M8: what it left is found by its label; it must not act on."""
    with opened(tmp_path / "runner.db") as store:
        house = House(store, engine=NoEngine())  # type: ignore[arg-type]
        tenant = house.tenant()
        tenant.take()
        house.now += SECONDS + 1
        house.tenant("other", "2").take()
        with pytest.raises(LookupError):
            tenant.beat()
        assert house.told == ["over"]


def test_a_loop_that_is_gone_does_not_keep_the_containers(tmp_path: Path) -> None:
    """M8: parking is for a loop that still turns."""
    with opened(tmp_path / "runner.db") as store:
        house = House(store)
        tenant = house.tenant()
        tenant.take()
        house.containers("1")

        def closed() -> None:
            raise RuntimeError("Event loop is closed")

        tenant.park = closed
        house.now += SECONDS + 1
        with pytest.raises(RuntimeError):
            tenant.watch()
        assert house.left == []


def test_one_that_finds_another_in_its_place_removes_its_containers_and_is_over(tmp_path: Path) -> None:
    """M8: stopped for longer than its lease and continued, it must not act beside the one that took over."""
    with opened(tmp_path / "runner.db") as store:
        house = House(store)
        tenant = house.tenant()
        tenant.take()
        house.containers("1")
        house.now += SECONDS + 1
        house.tenant("other", "2").take()
        tenant.beat()
        assert (house.told, house.left) == (["over"], [])


def test_a_stopped_supervisor_gives_its_lease_back(tmp_path: Path) -> None:
    """M8: nobody waits for one that has ended in order; while it ran, a thread of its own kept it."""
    with opened(tmp_path / "runner.db") as store:
        house = House(store)
        tenant = house.tenant()
        tenant.seconds = BEATS * 0.05
        house.now += 1

        async def life() -> None:
            stop = await tenant.begin()
            with store.reading() as conn:
                first = leases.current(conn)
            house.now += 5
            await asyncio.sleep(0.3)
            with store.reading() as conn:
                later = leases.current(conn)
            assert first is not None
            assert later is not None
            assert later.until > first.until
            await stop()

        asyncio.run(life())
        house.tenant("other", "2").take()
