"""What happens by the clock alone: deadlines, and runs that wait for an engine."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from runner.errors import SandboxUnavailableError, StoreError
from runner.lifecycle import ApprovalState, RunState
from runner.model import ApprovalSettings, Attempt
from runner.supervisor import clockwork as room
from runner.supervisor.clockwork import Clockwork
from runner.supervisor.endings import End, Ending
from tests.unit.supervisor.conducting import ImagedEngine
from tests.unit.supervisor.world import World, a_turn, play, settled, states, write

R, S = RunState, ApprovalState
EXPIRES = 60.0


def a_clockwork(world: World, engine: ImagedEngine) -> Clockwork:
    return Clockwork(
        store=world.store,
        engine=engine,  # type: ignore[arg-type]
        effects=world.effects,
        clock=world.clock,
        enqueue=world.enqueue,
    )


@pytest.mark.parametrize(("on_expiry", "state"), [("deny", R.RUNNING), ("stop", R.CANCELLED)])
def test_a_call_nobody_decided_about_in_time_is_denied_and_where_the_profile_says_so_the_run_is_stopped(
    tmp_path: Path, on_expiry: str, state: RunState
) -> None:
    """L2, C6, case 65."""

    async def scene(world: World) -> None:
        clock = a_clockwork(world, ImagedEngine())
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt"), write("b.txt")))
        world.now += EXPIRES - 1
        await clock.tick()
        assert (world.run(row.id).state, states(world.approvals(row.id))) == (R.HELD, [S.PENDING, S.PENDING])
        world.now += 1
        await clock.tick()
        assert (world.run(row.id).state, states(world.approvals(row.id))) == (state, [S.EXPIRED, S.EXPIRED])
        await clock.tick()
        assert world.run(row.id).state is state
        assert not (world.cwd / "a.txt").exists()

    play(tmp_path, scene, approvals=ApprovalSettings(expires=EXPIRES, on_expiry=on_expiry))


def test_a_clock_that_goes_back_resurrects_nothing(tmp_path: Path) -> None:
    """L2: suspend and steps."""

    async def scene(world: World) -> None:
        clock = a_clockwork(world, ImagedEngine())
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt")))
        world.now += EXPIRES
        await clock.tick()
        world.now -= 10 * EXPIRES
        await clock.tick()
        assert states(world.approvals(row.id)) == [S.EXPIRED]

    play(tmp_path, scene, approvals=ApprovalSettings(expires=EXPIRES))


def test_a_run_that_waits_for_an_engine_goes_on_when_it_is_back_with_an_image_that_fits(tmp_path: Path) -> None:
    """Issue 3, bad input: an engine restarted, an image removed while runs are parked: nothing lost, and no loop."""

    async def scene(world: World) -> None:
        engine = ImagedEngine()
        clock = a_clockwork(world, engine)
        row, held = world.a_running(), world.a_running()
        await world.desk(held).take_turn(a_turn(write("a.txt")))
        for one in (row, held):
            await world.end(world.run(one.id), End(ending=Ending.PARK, reason="no engine", wait=True))
        engine.faults["image"] = SandboxUnavailableError("the engine does not answer")
        await clock.wake()
        del engine.faults["image"]
        image, engine.present = engine.present, None
        await clock.wake()
        assert image is not None
        engine.present = replace(image, cli_version="another")
        await clock.wake()
        assert world.queued == []
        engine.present = image
        await clock.wake()
        await clock.wake()
        assert world.queued == [Attempt(row.id, 1, 0)]
        assert world.run(held.id).state is R.PARKED

    play(tmp_path, scene)


def test_the_clock_goes_on_after_trouble_with_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "TICK", 0.01)

    async def scene(world: World) -> None:
        clock = a_clockwork(world, ImagedEngine())
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt")))
        expire, troubles = world.effects.expire, [StoreError("locked"), StoreError("locked")]

        async def troubled() -> object:
            if troubles:
                raise troubles.pop()
            return await expire()

        monkeypatch.setattr(world.effects, "expire", troubled)
        stop = clock.start()
        world.now += EXPIRES
        await settled(lambda: states(world.approvals(row.id)) == [S.EXPIRED])
        await stop()

    play(tmp_path, scene, approvals=ApprovalSettings(expires=EXPIRES))


def test_a_clock_that_breaks_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    async def scene(world: World) -> None:
        async def broken() -> object:
            raise KeyError("a fault of ours")

        monkeypatch.setattr(world.effects, "expire", broken)
        stop = a_clockwork(world, ImagedEngine()).start()
        await asyncio.sleep(0.05)
        await stop()

    with caplog.at_level(logging.CRITICAL):
        play(tmp_path, scene)
    assert ["the clock stopped" in record.message for record in caplog.records] == [True]


def test_a_stopped_clock_is_silent(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scene(world: World) -> None:
        stop = a_clockwork(world, ImagedEngine()).start()
        await asyncio.sleep(0.02)
        await stop()

    with caplog.at_level(logging.WARNING):
        play(tmp_path, scene)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
