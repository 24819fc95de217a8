"""Races around a segment's life: stops, drains, deaths and decisions at the worst moment (invariants 4, 6, 9, 11)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.errors import SandboxError, SandboxUnavailableError
from runner.lifecycle import ApprovalState, RunState
from runner.model import ApprovalSettings, Attempt
from runner.store import segments
from runner.supervisor import segment as room
from runner.supervisor.endings import End, Ending
from tests.unit.supervisor.conducting import ImagedEngine, Stage, gone
from tests.unit.supervisor.world import World, a_turn, both, play, read, settled, states, write

R, S = RunState, ApprovalState
CANCEL = End(ending=Ending.CANCEL, reason="stopped by a person")
NOTHING = (0, [])


async def stop(stage: Stage, run: object) -> None:
    """As the service does: the row first, then the container."""
    row = stage.world.run(run)  # type: ignore[arg-type]
    await stage.world.end(row, CANCEL)
    live = stage.world.live.get(row.id)
    if live is not None:
        live.stop.set()
    stage.world.changes.ring()


@pytest.mark.parametrize("step", ["image", "create", "attach", "start", "inspect"])
def test_a_run_stopped_while_its_container_is_made_is_cancelled_and_leaves_nothing(tmp_path: Path, step: str) -> None:
    """L10: whatever the engine is doing; and nothing of the agent runs after the stop."""

    async def scene(world: World) -> None:
        stage = Stage(world)
        stage.engine.pauses[step] = asyncio.Event()
        row = world.a_run()
        task = stage.conduct(row)
        await settled(lambda: step in stage.engine.calls)
        await stop(stage, row.id)
        stage.engine.pauses[step].set()
        await task
        assert (world.run(row.id).state, world.run(row.id).reason) == (R.CANCELLED, "stopped by a person")
        assert stage.left() == NOTHING
        assert world.queued == []
        if step in ("image", "create"):
            assert "start" not in stage.engine.calls

    play(tmp_path, scene)


def test_a_run_stopped_before_it_is_claimed_is_never_started(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        stage = Stage(world)
        row = world.a_run()
        await stop(stage, row.id)
        await stage.conduct(row)
        assert (world.run(row.id).state, stage.engine.calls) == (R.CANCELLED, [])

    play(tmp_path, scene)


def test_a_running_runs_container_is_destroyed_by_a_stop(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        stage = Stage(world)
        row = world.a_run()
        task = stage.conduct(row)
        await stage.reaches(row, R.RUNNING)
        assert stage.engine.alive == 1
        await stop(stage, row.id)
        await task
        assert (world.run(row.id).state, stage.left()) == (R.CANCELLED, NOTHING)

    play(tmp_path, scene)


def test_a_held_runs_stop_cancels_what_waits_and_an_effect_under_way_is_recorded(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        stage = Stage(world)
        row = world.a_run()
        task = stage.conduct(row)
        await stage.reaches(row, R.RUNNING)
        await world.desk(world.run(row.id)).take_turn(a_turn(write("a.txt"), write("b.txt")))
        first, _ = world.approvals(row.id)
        await both(world.approve(first), stop(stage, row.id))
        await task
        found = states(world.approvals(row.id))
        assert found[1] is S.CANCELLED
        assert found[0] in (S.DONE, S.CANCELLED)
        assert (world.cwd / "a.txt").exists() == (found[0] is S.DONE)
        assert (world.run(row.id).state, stage.left(), world.queued) == (R.CANCELLED, NOTHING, [])

    play(tmp_path, scene)


def test_an_attempt_taken_many_times_at_once_has_one_container(tmp_path: Path) -> None:
    """The queue is at-least-once (engine.md)."""

    async def scene(world: World) -> None:
        stage = Stage(world)
        row = world.a_run()
        tasks = [stage.conduct(row) for _ in range(6)]
        await stage.reaches(row, R.RUNNING)
        await settled(lambda: sum(task.done() for task in tasks) == 5)
        assert (stage.engine.calls.count("create"), stage.engine.alive) == (1, 1)
        live = world.live.get(row.id)
        assert live is not None
        await settled(lambda: live.proven)
        await stop(stage, row.id)
        await asyncio.gather(*tasks)
        assert stage.left() == NOTHING

    play(tmp_path, scene)


# --- drain ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["image", "create", "start", "running"])
def test_a_drain_waits_for_a_run_that_is_being_started_and_starts_no_other(tmp_path: Path, step: str) -> None:
    """SIGTERM: nothing of the attempt is left, its end is on record, and the run is the next supervisor's."""

    async def scene(world: World) -> None:
        stage = Stage(world)
        if step != "running":
            stage.engine.pauses[step] = asyncio.Event()
        row = world.a_run()
        task = stage.conduct(row)
        if step == "running":
            await stage.reaches(row, R.RUNNING)
        else:
            await settled(lambda: step in stage.engine.calls)
        draining = asyncio.create_task(stage.drain.finish())
        await asyncio.sleep(0.05)
        if step != "running":
            assert not draining.done()
            stage.engine.pauses[step].set()
        await draining
        assert task.done()
        assert stage.left() == NOTHING
        after = world.run(row.id)
        assert (after.state, world.queued) == (R.QUEUED, [Attempt(row.id, 1, 0)])
        await stage.conduct(after)
        assert (world.run(row.id), stage.left()) == (after, NOTHING)

    play(tmp_path, scene)


def test_a_drain_waits_until_a_claimed_attempts_end_is_on_record(tmp_path: Path) -> None:
    """The store is closed behind it."""

    async def scene(world: World) -> None:
        stage = Stage(world)
        row = world.a_run()
        with world.store.begin():  # the claim is under way
            task = stage.conduct(row)
            await asyncio.sleep(0.05)
            draining = asyncio.create_task(stage.drain.finish())
            await asyncio.sleep(0.05)
            assert not draining.done()
        await draining
        assert task.done()
        assert world.run(row.id).state is R.QUEUED
        with world.store.reading() as conn:
            assert segments.open_attempts(conn) == ()

    play(tmp_path, scene)


def test_a_drain_keeps_a_held_runs_calls_and_waits_for_effects(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        stage = Stage(world)
        row = world.a_run()
        task = stage.conduct(row)
        await stage.reaches(row, R.RUNNING)
        await world.desk(world.run(row.id)).take_turn(a_turn(write("a.txt"), write("b.txt")))
        approving = asyncio.create_task(world.approve(world.approvals(row.id)[0]))
        await stage.drain.finish()
        assert task.done()
        assert (await approving).state is S.DONE
        assert states(world.approvals(row.id)) == [S.DONE, S.PENDING]
        assert (world.run(row.id).state, stage.left(), world.queued) == (R.PARKED, NOTHING, [])

    play(tmp_path, scene)


def test_a_reply_that_came_while_the_supervisor_stops_is_the_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model has spoken its last word: asking it again would be another answer."""

    async def scene(world: World) -> None:
        stage = Stage(world)
        row = world.a_run()
        desks: list[room.Desk] = []

        def kept(*arguments: object, **more: object) -> room.Desk:
            desks.append(make(*arguments, **more))  # type: ignore[arg-type]
            return desks[-1]

        make = room.Desk
        monkeypatch.setattr(room, "Desk", kept)
        stage.conduct(row)
        await stage.reaches(row, R.RUNNING)
        await desks[0].take_turn(a_turn(text="All done."))
        await stage.drain.finish()
        assert (world.run(row.id).state, world.run(row.id).reply) == (R.REPLIED, "All done.")

    play(tmp_path, scene)


# --- parking ----------------------------------------------------------------------------------------------------------------


def test_an_approval_while_the_container_is_being_parked_is_carried_out_and_the_run_goes_on_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call ends between the decision to park and the record of it: RELEASE, then PARK."""
    monkeypatch.setattr(room, "MIRROR_SECONDS", 0.3)

    async def scene(world: World) -> None:
        stage = Stage(world)
        row = world.a_run()
        task = stage.conduct(row)
        await stage.reaches(row, R.RUNNING)
        removing = stage.engine.pauses["remove"] = asyncio.Event()
        await world.desk(world.run(row.id)).take_turn(a_turn(write("a.txt", "A")))
        world.changes.ring()
        await settled(lambda: "remove" in stage.engine.calls)
        done = await world.approve(world.approvals(row.id)[0])
        assert (done.state, world.run(row.id).state) == (S.DONE, R.RUNNING)
        removing.set()
        await task
        assert (world.cwd / "a.txt").read_text() == "A"
        assert world.queued == [Attempt(row.id, 1, 0)]
        assert (world.run(row.id).state, stage.left()) == (R.QUEUED, NOTHING)

    play(tmp_path, scene, approvals=ApprovalSettings(hold=0.0))


def test_a_parked_runs_next_container_is_made_after_the_last_one_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Invariant 6: two segments of one run are never alive at once."""
    monkeypatch.setattr(room, "MIRROR_SECONDS", 0.05)

    async def scene(world: World) -> None:
        stage = Stage(world)
        row = world.a_run()
        stage.conduct(row)
        await stage.reaches(row, R.RUNNING)
        await world.desk(world.run(row.id)).take_turn(a_turn(write("a.txt")))
        await world.deny(world.approvals(row.id)[0])
        removing = stage.engine.pauses["remove"] = asyncio.Event()
        live = world.live.get(row.id)
        assert live is not None
        live.park.set()
        await settled(lambda: "remove" in stage.engine.calls)
        await asyncio.sleep(0.05)
        assert (world.queued, stage.engine.alive) == ([], 1)
        removing.set()
        await asyncio.gather(*stage.tasks)
        assert (world.queued, stage.left()) == ([Attempt(row.id, 1, 0)], NOTHING)

    play(tmp_path, scene)


# --- deaths -----------------------------------------------------------------------------------------------------------------


def test_a_container_that_dies_while_calls_wait_parks_the_run_and_otherwise_fails_it(tmp_path: Path) -> None:
    """L10, case 64."""

    async def scene(world: World) -> None:
        stage = Stage(world)
        waits, works = world.a_run(), world.a_run()
        for row in (waits, works):
            stage.conduct(row)
            await stage.reaches(row, R.RUNNING)
        await world.desk(world.run(waits.id)).take_turn(a_turn(write("a.txt")))
        await world.desk(world.run(works.id)).take_turn(a_turn(read("in.txt")))
        for container in list(stage.engine.containers):
            await stage.engine.kill(container)
        await asyncio.gather(*stage.tasks)
        assert (world.run(waits.id).state, states(world.approvals(waits.id))) == (R.PARKED, [S.PENDING])
        assert world.run(works.id).state is R.FAILED
        assert stage.left() == NOTHING

    play(tmp_path, scene)


def test_a_resumed_container_that_dies_every_time_ends_the_run_at_last(tmp_path: Path) -> None:
    """No loop of containers without end."""

    async def scene(world: World) -> None:
        stage = Stage(world, ImagedEngine())
        row = world.a_run()
        stage.conduct(row)
        await stage.reaches(row, R.RUNNING)
        await world.desk(world.run(row.id)).take_turn(a_turn(write("a.txt")))
        stage.engine.behaviour = gone
        for container in list(stage.engine.containers):
            await stage.engine.kill(container)
        await asyncio.gather(*stage.tasks)
        await world.deny(world.approvals(row.id)[0])
        while world.run(row.id).state is R.QUEUED:
            await stage.conduct(world.run(row.id))
        assert (world.run(row.id).state, stage.left()) == (R.FAILED, NOTHING)
        assert stage.engine.calls.count("create") < 8

    play(tmp_path, scene)


@pytest.mark.parametrize(("segment", "state"), [(0, R.FAILED), (1, R.PARKED)])
@pytest.mark.parametrize("step", ["image", "create"])
def test_an_engine_that_is_away_fails_a_new_run_and_parks_one_that_was_under_way(
    tmp_path: Path, segment: int, state: RunState, step: str
) -> None:
    """Issue 2 and 3, bad input: nothing half done, nothing lost."""

    async def scene(world: World) -> None:
        stage = Stage(world)
        stage.engine.faults[step] = SandboxUnavailableError("the engine does not answer", resolution="start it")
        row = world.a_run(segment=segment)
        await stage.conduct(row)
        found = world.run(row.id)
        assert (found.state, found.reason) == (state, "the engine does not answer\nhint: start it")
        assert (stage.left(), world.queued) == (NOTHING, [])

    play(tmp_path, scene)


def test_a_database_that_refuses_the_end_of_an_attempt_gets_it_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk that has room again: nobody else would write it before the next start."""
    monkeypatch.setattr(room, "AGAIN_SECONDS", 0.02)

    async def scene(world: World) -> None:
        stage = Stage(world)
        stage.engine.faults["create"] = SandboxError("no")
        row = world.a_run()
        with world.store.begin() as conn:
            conn.exec_driver_sql(
                "CREATE TRIGGER full BEFORE UPDATE ON runs WHEN NEW.state = 'failed' BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        task = stage.conduct(row)
        await settled(lambda: "create" in stage.engine.calls)
        await asyncio.sleep(0.1)
        assert not task.done()
        with world.store.begin() as conn:
            conn.exec_driver_sql("DROP TRIGGER full")
        await task
        assert (world.run(row.id).state, stage.left()) == (R.FAILED, NOTHING)

    play(tmp_path, scene)


@pytest.mark.parametrize("step", ["image", "create", "attach", "start", "running"])
def test_a_conductor_that_is_cancelled_leaves_no_container_and_no_folder(tmp_path: Path, step: str) -> None:
    """Invariant 11: whatever ends it."""

    async def scene(world: World) -> None:
        stage = Stage(world)
        if step != "running":
            stage.engine.pauses[step] = asyncio.Event()
        row = world.a_run()
        task = stage.conduct(row)
        if step == "running":
            await stage.reaches(row, R.RUNNING)
        else:
            await settled(lambda: step in stage.engine.calls)
        task.cancel()
        if step != "running":
            stage.engine.pauses[step].set()
        await both(task)
        assert stage.left() == NOTHING
        assert world.live.all() == ()

    play(tmp_path, scene)
