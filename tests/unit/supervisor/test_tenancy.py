"""A supervisor that cannot say that it lives acts no more; one that finds another in its place is over (M8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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


def test_one_that_cannot_renew_its_lease_parks_and_removes_its_own_containers_once_and_goes_on_when_it_can(
    tmp_path: Path,
) -> None:
    """M8: a host that cannot renew its lease kills its own containers, and no others."""
    with opened(tmp_path / "runner.db") as store:
        house = House(store)
        tenant = house.tenant()
        tenant.take()
        house.containers("1", "other")
        tenant.store = Refusing()  # type: ignore[assignment]
        house.now += SECONDS - 1
        tenant.beat()
        assert (house.told, house.left, tenant.fenced) == ([], ["1", "other"], False)
        house.now += 2
        tenant.beat()
        tenant.beat()
        assert (house.told, house.left, tenant.fenced) == (["park"], ["other"], True)
        tenant.store = store
        tenant.beat()
        assert not tenant.fenced


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
