"""How attempts begin and end in the rows, and what a run does when its calls have ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.lifecycle import ApprovalState, RunEvent, RunState
from runner.model import ApprovalSettings, Attempt, Limits
from runner.store import Connection, SegmentRow, runs, segments
from runner.supervisor.endings import End, Ending
from runner.supervisor.live import Live, LiveSegment
from runner.supervisor.patience import until_impatient
from runner.supervisor.progress import advance
from tests.unit.supervisor.world import World, a_turn, both, play, states, write

_S = ApprovalState
PARK = End(ending=Ending.PARK, reason="a person is waited for")


def segment_of(world: World, attempt: Attempt) -> SegmentRow:
    with world.store.reading() as conn:
        return segments.get(conn, *attempt)


async def waiting(world: World, count: int = 1) -> Attempt:
    """A held run with that many pending calls."""
    row = world.a_running()
    await world.desk(row).take_turn(a_turn(*(write(f"{number}.txt") for number in range(count))))
    return Attempt(row.id, 0, 0)


# --- endings ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "state", "approval"),
    [
        (End(ending=Ending.FAIL, reason="broke"), RunState.FAILED, _S.CANCELLED),
        (End(ending=Ending.CANCEL, reason="stopped"), RunState.CANCELLED, _S.CANCELLED),
        (PARK, RunState.PARKED, _S.PENDING),
    ],
)
def test_an_end_is_on_record_with_what_its_waiting_calls_become(
    tmp_path: Path, end: End, state: RunState, approval: ApprovalState
) -> None:
    """L10, in one transaction; parked is no end."""

    async def scene(world: World) -> None:
        attempt = await waiting(world)
        ended = await world.end(world.run(attempt.run), end)
        assert ended is not None
        assert (ended.state, ended.reason) == (state, end.reason)
        assert states(world.approvals(attempt.run)) == [approval]
        found = segment_of(world, attempt)
        assert (found.ended, found.reason) == (world.now, f"{end.ending.value}: {end.reason}")
        assert world.queued == []

    play(tmp_path, scene)


def test_a_reply_ends_a_run_once(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        replied = await world.end(row, End(ending=Ending.REPLY, reply="Done."))
        assert replied is not None
        assert (replied.state, replied.reply) == (RunState.REPLIED, "Done.")
        assert await world.end(row, End(ending=Ending.FAIL, reason="late")) is None
        assert world.run(row.id) == replied

    play(tmp_path, scene)


def test_the_end_of_a_stale_attempt_changes_nothing_of_the_run(tmp_path: Path) -> None:
    """Invariant 9: the run has gone on to another container."""

    async def scene(world: World) -> None:
        attempt = await waiting(world)
        row = world.run(attempt.run)
        await world.end(row, PARK)
        await world.deny(world.approvals(attempt.run)[0])
        before = world.run(attempt.run)
        assert (before.state, before.segment) == (RunState.QUEUED, 1)
        for end in (End(ending=Ending.FAIL, reason="late"), End(ending=Ending.CANCEL), End(ending=Ending.REPLY, reply="x")):
            assert await world.end(row, end) is None
        assert world.run(attempt.run) == before

    play(tmp_path, scene)


def test_a_claim_succeeds_once_and_only_for_the_runs_own_attempt(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_run()
        own, other = Attempt(row.id, 0, 0), Attempt(row.id, 0, 1)
        claim = world.endings.claim
        assert await world.store.call(claim, other) is None
        found = await both(*(world.store.call(claim, own) for _ in range(8)))
        assert sum(one is not None for one in found) == 1
        await world.end(row, End(ending=Ending.CANCEL, reason="stopped"))
        assert await world.store.call(claim, own) is None
        assert await world.store.call(world.endings.started, own) is None

    play(tmp_path, scene)


def test_parked_for_want_of_an_engine_is_left_to_the_clock(tmp_path: Path) -> None:
    """Resuming at once would start, fail and park for ever."""

    async def scene(world: World) -> None:
        row = world.a_running()
        await world.end(row, End(ending=Ending.PARK, reason="no engine", wait=True))
        assert (world.run(row.id).state, world.queued) == (RunState.PARKED, [])
        with world.store.reading() as conn:
            assert runs.idle(conn) == (row.id,)

    play(tmp_path, scene)


def test_parked_with_nothing_to_wait_for_goes_on_at_once(tmp_path: Path) -> None:
    """The last call ended while the container was being destroyed (RELEASE before PARK)."""

    async def scene(world: World) -> None:
        attempt = await waiting(world)
        await world.approve(world.approvals(attempt.run)[0])
        assert world.run(attempt.run).state is RunState.RUNNING
        await world.end(world.run(attempt.run), PARK)
        assert (world.run(attempt.run).state, world.queued) == (RunState.QUEUED, [Attempt(attempt.run, 1, 0)])

    play(tmp_path, scene)


def test_a_very_long_reason_is_cut(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        await world.end(row, End(ending=Ending.FAIL, reason="x" * 100_000))
        assert world.run(row.id).reason == "x" * 4000

    play(tmp_path, scene)


# --- progress ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [(RunEvent.HOLD, RunState.RUNNING), (RunEvent.PARK, RunState.QUEUED)],
)
def test_a_run_none_of_whose_calls_waits_goes_on_exactly_once(tmp_path: Path, before: RunEvent, after: RunState) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        with world.store.begin() as conn:
            runs.move(conn, row.id, before, now=world.now)

        def go(conn: Connection) -> object:
            return advance(conn, row.id, now=world.now, enqueue=world.enqueue)

        found = await both(*(world.store.call(go) for _ in range(6)))
        assert sum(one is not None for one in found) == 1
        assert world.run(row.id).state is after
        assert world.queued == ([Attempt(row.id, 1, 0)] if before is RunEvent.PARK else [])

    play(tmp_path, scene)


def test_a_run_whose_call_is_in_doubt_waits_for_a_person(tmp_path: Path) -> None:
    """Invariant 4: `unknown` is no outcome that the agent could be told."""

    async def scene(world: World) -> None:
        attempt = await waiting(world)
        (one,) = world.approvals(attempt.run)
        with world.store.begin() as conn:
            for table in ("approved", "executing", "unknown"):
                effect = {"executing": "started", "unknown": "unknown"}.get(table)
                conn.exec_driver_sql("UPDATE approvals SET state = ?, effect = ? WHERE id = ?", (table, effect, one.id))
                assert advance(conn, attempt.run, now=world.now, enqueue=world.enqueue) is None
        assert world.run(attempt.run).state is RunState.HELD

    play(tmp_path, scene)


# --- patience ---------------------------------------------------------------------------------------------------------------


def test_holding_too_long_parks_and_working_too_long_fails(tmp_path: Path) -> None:
    """`approvals.hold` while a person is waited for, `limits.wall` while the container works."""

    async def scene(world: World) -> None:
        attempt = await waiting(world)
        assert await until_impatient(world.store, attempt.run, world.profile, changes=world.changes) == PARK
        row = world.a_running()
        end = await until_impatient(world.store, row.id, world.profile, changes=world.changes)
        assert (end.ending, "limits.wall" in end.reason) == (Ending.FAIL, True)

    play(tmp_path, scene, approvals=ApprovalSettings(hold=0.0), limits=Limits(wall=0.05))


def test_waiting_for_a_person_never_counts_as_work(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        attempt = await waiting(world)
        task = asyncio.create_task(until_impatient(world.store, attempt.run, world.profile, changes=world.changes))
        await asyncio.sleep(0.4)  # twice the wall
        assert not task.done()
        await world.deny(world.approvals(attempt.run)[0])
        end = await task
        assert end.ending is Ending.FAIL

    play(tmp_path, scene, approvals=ApprovalSettings(hold=100.0), limits=Limits(wall=0.2))


# --- live -------------------------------------------------------------------------------------------------------------------


def test_live_attempts_are_found_by_run_and_waited_for(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        live = Live()
        run, other = world.a_run().id, world.a_run().id
        first, second, third = (
            LiveSegment(attempt=Attempt(of, number, 0), snapshot=tmp_path) for of, number in ((run, 0), (run, 1), (other, 0))
        )
        await live.emptied()
        for one in (first, second, third):
            live.add(one)
        assert live.get(run) is second
        waiting_for = asyncio.create_task(live.emptied())
        live.remove(second)
        assert live.get(run) is first
        live.remove(second)
        live.remove(third)
        assert (live.get(other), live.all()) == (None, (first,))
        await asyncio.sleep(0)
        assert not waiting_for.done()
        live.remove(first)
        await waiting_for

    play(tmp_path, scene)


def test_a_second_taker_of_the_same_attempt_does_not_hide_the_first(tmp_path: Path) -> None:
    """The queue is at-least-once: the second finds its attempt taken, and leaves."""

    async def scene(world: World) -> None:
        live, run = Live(), world.a_run().id
        real, late = (LiveSegment(attempt=Attempt(run, 0, 0), snapshot=tmp_path) for _ in range(2))
        live.add(real)
        live.add(late)
        assert live.get(run) is real
        live.remove(late)
        assert live.get(run) is real

    play(tmp_path, scene)
