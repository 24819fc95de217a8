"""Paused: nothing new begins, nothing approved is carried out; afterwards everything goes on, judged again (L9, R29-R31)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner import approvals
from runner.approvals import Approver
from runner.approvals.effects import UNUSED_SECONDS
from runner.errors import PausedError
from runner.lifecycle import ApprovalState, RunState
from runner.model import Attempt
from runner.store import ApprovalRow, Connection, audit
from runner.supervisor.endings import End, Ending
from runner.supervisor.progress import retry
from runner.supervisor.switch import Switch
from tests.helpers.stored import ANNA, NOW
from tests.unit.supervisor.acting import held
from tests.unit.supervisor.world import World, play, states, write

_S = ApprovalState


def switch(world: World) -> Switch:
    return Switch(store=world.store, effects=world.effects, changes=world.changes, clock=world.clock, enqueue=world.enqueue)


async def pause(world: World, who: Approver = ANNA) -> None:
    assert await switch(world).pause(reason=None, who=who) == {"paused": {"since": NOW, "by": "anna", "reason": None}}


def test_a_yes_is_refused_and_the_call_goes_on_waiting(tmp_path: Path) -> None:
    """C14, K2."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        await pause(world)
        with pytest.raises(PausedError, match="cannot approve"):
            await world.approve(waiting)
        assert (states(world.approvals(row.id)), list(world.cwd.glob("a.txt"))) == ([_S.PENDING], [])
        assert await switch(world).resume(who=ANNA) == {"paused": None, "was": {"since": NOW, "by": "anna", "reason": None}}
        assert (await world.approve(waiting)).state is _S.DONE

    play(tmp_path, scene)


def test_a_no_still_works_and_a_running_turn_finishes(tmp_path: Path) -> None:
    """R30."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        await pause(world)
        assert (await world.deny(waiting)).state is _S.DENIED
        assert world.run(row.id).state is RunState.RUNNING
        assert await world.end(row, End(ending=Ending.REPLY, reply="done")) is not None
        assert world.run(row.id).state is RunState.REPLIED

    play(tmp_path, scene)


def test_a_queued_run_is_not_taken_and_is_queued_anew_afterwards(tmp_path: Path) -> None:
    """L9: the queue's own entry was spent on a supervisor that did not take it."""

    async def scene(world: World) -> None:
        row = world.a_run()
        await pause(world)
        assert await world.store.call(world.endings.claim, Attempt(row.id, 0, 0)) is None
        assert world.run(row.id).state is RunState.QUEUED
        await switch(world).resume(who=ANNA)
        assert world.queued == [Attempt(row.id, 0, 1)]
        assert await world.store.call(world.endings.claim, Attempt(row.id, 0, 0)) is None
        assert await world.store.call(world.endings.claim, Attempt(row.id, 0, 1)) is not None

    play(tmp_path, scene)


def test_what_was_approved_before_waits_and_is_carried_out_once_afterwards(tmp_path: Path) -> None:
    """No standing yes is carried out either: both come here approved."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        approved = await world.store.call(_yes, waiting)
        await pause(world)
        assert (await world.effects.carry_out(approved.id)).state is _S.APPROVED
        await world.effects.take_up()
        assert list(world.cwd.glob("a.txt")) == []
        await switch(world).resume(who=ANNA)
        await world.effects.take_up()
        (done,) = world.approvals(row.id)
        assert (done.state, (world.cwd / "a.txt").read_text()) == (_S.DONE, "A")
        with world.store.reading() as conn:
            events = [one.event for one in audit.of_subject(conn, done.id)]
        assert events.count("approval.execute") == 1

    play(tmp_path, scene)


def test_what_changed_during_the_pause_is_noticed(tmp_path: Path) -> None:
    """L9: resume re-checks."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world, write("sub/a.txt", "A"))
        await world.store.call(_yes, waiting)
        await pause(world)
        (world.cwd / "sub").symlink_to(tmp_path)
        await switch(world).resume(who=ANNA)
        await world.effects.take_up()
        assert states(world.approvals(row.id)) == [_S.STALE]

    play(tmp_path, scene)
    assert list(tmp_path.glob("a.txt")) == []


def test_a_yes_that_was_not_used_in_time_goes_stale_and_its_run_hears_of_it(tmp_path: Path) -> None:
    """L3: the pause outlasted it; nothing is carried out afterwards."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        await world.store.call(_yes, waiting)
        await pause(world)
        world.now = NOW + UNUSED_SECONDS - 1
        assert (await world.effects.expire(), states(world.approvals(row.id))) == ((), [_S.APPROVED])
        world.now = NOW + UNUSED_SECONDS
        assert await world.effects.expire() == ()
        (stale,) = world.approvals(row.id)
        assert (stale.state, stale.decided_by, "within 60 s" in str(stale.decision_reason)) == (_S.STALE, ANNA, True)
        assert world.run(row.id).state is RunState.RUNNING
        await switch(world).resume(who=ANNA)
        await world.effects.take_up()
        assert list(world.cwd.glob("a.txt")) == []

    play(tmp_path, scene)


def test_an_old_yes_is_not_carried_out_either_where_no_clock_ticked(tmp_path: Path) -> None:
    """L3: checked where the effect begins."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        await world.store.call(_yes, waiting)
        world.now = NOW + UNUSED_SECONDS
        assert (await world.effects.carry_out(waiting.id)).state is _S.STALE
        assert (world.run(row.id).state, list(world.cwd.glob("a.txt"))) == (RunState.RUNNING, [])

    play(tmp_path, scene)


def test_a_failed_run_is_not_resumed(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        await world.end(row, End(ending=Ending.FAIL, reason="x"))
        await pause(world)
        with pytest.raises(PausedError):
            await world.store.call(retry, row.id, now=world.now, enqueue=world.enqueue)
        assert (world.run(row.id).state, world.queued) == (RunState.FAILED, [])

    play(tmp_path, scene)


def test_resuming_what_is_not_paused_changes_nothing(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        world.a_run()
        assert await switch(world).resume(who=ANNA) == {"paused": None, "was": None}
        assert world.queued == []

    play(tmp_path, scene)


def _yes(conn: Connection, row: ApprovalRow) -> ApprovalRow:
    return approvals.approve(conn, row.id, digest=row.approval_digest, who=ANNA, now=NOW)
