"""An agent is let in when the machine has room for it: what is really free, and how busy it is (issue 7)."""

from __future__ import annotations

import asyncio

import pytest

from runner.supervisor import places as room_of_places
from runner.supervisor.places import Places
from runner.supervisor.room import AGENT, MIB, SETTLE, Room

RESERVE = 512 * MIB


class Machine:
    """What there is."""

    def __init__(self, *, agents: float = 10, load: float = 0.5) -> None:
        self.memory, self.load, self.now = int(RESERVE + agents * AGENT), load, 0.0
        self.room = Room(
            reserve=RESERVE, max_load=2.0, memory=lambda: self.memory, load=lambda: self.load, now=lambda: self.now
        )


@pytest.mark.parametrize(
    ("agents", "load", "others", "said"),
    [
        (1, 0.5, True, None),
        (0.9, 0.5, False, "memory is short"),
        (1, 2.5, True, "the machine is busy"),
        (1, 2.5, False, None),
        (-3, 2.5, True, "memory is short: 0 MiB free"),
    ],
)
def test_memory_is_asked_always_and_load_where_agents_run_already(
    agents: float, load: float, others: bool, said: str | None
) -> None:
    """What is kept free stays free; a load that is somebody else's keeps no single agent out for ever."""
    found = Machine(agents=agents, load=load).room.short(others=others)
    assert found is None if said is None else said in str(found)


def test_those_just_let_in_count_until_they_show_in_what_is_free() -> None:
    """Twenty that are let in at once are not let in on the memory of one."""
    machine = Machine(agents=2)
    assert [machine.room.let_in(others=True) for _ in range(3)] == [True, True, False]
    machine.now += SETTLE + 1
    assert machine.room.let_in(others=True)


def test_a_run_waits_for_room_and_goes_on_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place is free and the machine is full: nothing rings when it is not any more, so it is asked again."""
    monkeypatch.setattr(room_of_places, "AGAIN_SECONDS", 0.01)
    machine = Machine(agents=0)

    async def scene() -> None:
        places = Places(host=8, agent=4, room=machine.room.let_in)
        entered = asyncio.Event()

        async def run() -> None:
            async with places.one("scribe", owner=True):
                entered.set()

        task = asyncio.create_task(run())
        await asyncio.sleep(0.05)
        assert not entered.is_set()
        machine.memory += AGENT
        await asyncio.wait_for(entered.wait(), 10)
        await task

    asyncio.run(scene())
