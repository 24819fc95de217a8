"""Contacts' lanes on the real DBOS: one at a time each, in no order, and never in the owner's way (issue 8, scale)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from runner.model import OWNER, Attempt, Sender, SenderKind
from runner.store import Connection, Store
from runner.supervisor.dispatch import Dispatch
from runner.supervisor.lane import Lanes
from tests.contract.supervisor.test_dispatch import eventually, with_dispatch
from tests.helpers.stored import a_run


def contact(number: int) -> Sender:
    return Sender(kind=SenderKind.CONTACT, petname=f"contact {number}", fingerprint=f"aaaa-bbbb-cccc-ddd{number}")


class Held:
    """Conducts attempts and holds them until they are let go."""

    def __init__(self) -> None:
        self.senders: dict[str, str] = {}
        self.running: list[str] = []
        self.ended: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.most = 0
        self.twice = 0

    async def conduct(self, attempt: Attempt) -> bool:
        who = self.senders[attempt.run]
        self.running.append(who)
        self.most = max(self.most, len(self.running))
        self.twice = max(self.twice, max(self.running.count(name) for name in self.running if name != "owner") if who else 0)
        await self.gates.setdefault("all", asyncio.Event()).wait()
        self.running.remove(who)
        self.ended.append(who)
        return True

    async def queue(self, store: Store, dispatch: Dispatch, sender: Sender, count: int, *, agent: str = "scribe") -> None:
        lanes = Lanes(dispatch)

        def work(conn: Connection) -> None:
            for _ in range(count):
                run = a_run(conn, sender=sender, agent=agent)
                self.senders[run.id] = sender.petname or "owner"
                lanes.enqueue(conn, Attempt(run.id, 0, 0), agent=agent)

        await store.call(work)


def test_a_burst_of_one_contact_takes_two_places_and_the_owner_s_run_begins_at_once(tmp_path: Path) -> None:
    held = Held()

    async def scene(store: Store, dispatch: Dispatch) -> None:
        await held.queue(store, dispatch, contact(1), 12)
        await dispatch.start()
        await eventually(lambda: len(held.running) == 2)
        await held.queue(store, dispatch, contact(2), 3)
        await eventually(lambda: "contact 2" in held.running)
        await held.queue(store, dispatch, OWNER, 1)
        await eventually(lambda: "owner" in held.running)
        held.gates["all"].set()
        await eventually(lambda: len(held.ended) == 16)
        assert held.twice <= 2

    with_dispatch(tmp_path / "db", held.conduct, scene)


def test_many_contacts_fill_what_is_theirs_and_all_are_finished(tmp_path: Path) -> None:
    """None lost; a place of the host stays free for the owner."""
    held = Held()

    async def scene(store: Store, dispatch: Dispatch) -> None:
        for number in range(6):
            await held.queue(store, dispatch, contact(number), 5, agent=f"agent{number % 3}")
        await dispatch.start()
        await eventually(lambda: len(held.running) == 3)
        await asyncio.sleep(0.3)
        assert len(held.running) == 3
        held.gates["all"].set()
        await eventually(lambda: len(held.ended) == 30)
        assert held.most == 3

    with_dispatch(tmp_path / "db", held.conduct, scene, host_limit=4, agent_limit=2)
