"""Effects raced, stopped, hung up on, crashed: once or not at all, and always on record (invariants 4, 13)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner import approvals
from runner.errors import (
    AlreadyDecidedError,
    ApprovalError,
)
from runner.lifecycle import ApprovalState, RunState
from runner.store import ApprovalRow, RunRow
from runner.supervisor.endings import End, Ending
from tests.helpers.stored import ANNA, BEN
from tests.unit.supervisor.acting import entered, gate, held
from tests.unit.supervisor.world import EDIT, World, both, play, settled, states, use, write

_S = ApprovalState


def test_of_many_approvers_one_wins_and_it_happens_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L1, case 53."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        spy = gate(world, monkeypatch)
        digest = waiting.approval_digest
        yes = [world.effects.approve(waiting.id, digest=digest, who=who, reason=None) for who in (ANNA, BEN) * 5]
        no = [world.effects.deny(waiting.id, who=BEN, reason=None) for _ in range(5)]
        found = await both(*yes, *no)
        won = [one for one in found if isinstance(one, ApprovalRow)]
        assert len(won) == 1
        assert {type(one) for one in found if one not in won} == {AlreadyDecidedError}
        assert len(spy.seen) == (won[0].state is _S.DONE)
        assert (world.cwd / "a.txt").exists() == (won[0].state is _S.DONE)

    play(tmp_path, scene)


def test_of_a_runs_approved_calls_one_at_a_time_is_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B7."""

    async def scene(world: World) -> None:
        _, waiting = await held(world, *(write(f"{name}.txt") for name in "abcd"))
        spy = gate(world, monkeypatch)
        found = await both(*(world.approve(one) for one in waiting))
        assert [one.state for one in found if isinstance(one, ApprovalRow)] == [_S.DONE] * 4
        assert spy.most == 1

    play(tmp_path, scene)


def test_effects_of_two_runs_do_not_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(world: World) -> None:
        _, (first,) = await held(world, write("a.txt"))
        _, (second,) = await held(world, write("b.txt"))
        spy = gate(world, monkeypatch, is_open=False)
        work = [asyncio.create_task(world.approve(one)) for one in (first, second)]
        await settled(lambda: spy.now == 2)
        spy.before.set()
        assert states(await asyncio.gather(*work)) == [_S.DONE, _S.DONE]

    play(tmp_path, scene)


def test_two_edits_of_one_file_are_both_applied_or_the_second_is_stale(tmp_path: Path) -> None:
    """B6: the second was proposed against bytes that the first has changed."""

    async def scene(world: World) -> None:
        first = use(EDIT, file_path="in.txt", old_string="INSIDE", new_string="one")
        second = use(EDIT, file_path="in.txt", old_string="INSIDE", new_string="two")
        _, waiting = await held(world, first, second)
        found = await both(*(world.approve(one) for one in waiting))
        assert sorted(one.state.value for one in found if isinstance(one, ApprovalRow)) == ["done", "stale"]

    play(tmp_path, scene)


def test_a_client_that_hangs_up_undoes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invariant 13's other half: whoever waits may go away."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        spy = gate(world, monkeypatch, is_open=False)
        asking = asyncio.create_task(world.approve(waiting))
        await entered(spy)
        asking.cancel()
        await both(asking)
        assert world.approval(waiting.id).state is _S.EXECUTING
        spy.before.set()
        await world.effects.settled()
        assert world.approval(waiting.id).state is _S.DONE

    play(tmp_path, scene)


def test_a_client_that_hangs_up_between_yes_and_effect_undoes_nothing(tmp_path: Path) -> None:
    """The yes is written; nobody else would carry it out before the next start."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        with world.store.begin():  # the yes cannot be written yet
            asking = asyncio.create_task(world.approve(waiting))
            await asyncio.sleep(0.1)
            asking.cancel()
            await both(asking)
        await world.effects.settled()
        assert world.approval(waiting.id).state is _S.DONE
        assert (world.cwd / "a.txt").exists()

    play(tmp_path, scene)


def test_a_stop_between_yes_and_effect_cancels_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L10; and the one under way ends as it ends."""

    async def scene(world: World) -> None:
        row, (first, second) = await held(world, write("a.txt"), write("b.txt"))
        spy = gate(world, monkeypatch, is_open=False)
        one = asyncio.create_task(world.approve(first))
        await entered(spy)
        two = asyncio.create_task(world.approve(second))
        await settled(lambda: world.approval(second.id).state is _S.APPROVED)
        await world.end(row, End(ending=Ending.CANCEL, reason="stopped"))
        spy.before.set()
        assert ((await one).state, (await two).state) == (_S.DONE, _S.CANCELLED)
        assert not (world.cwd / "b.txt").exists()
        assert world.run(row.id).state is RunState.CANCELLED
        assert world.queued == []

    play(tmp_path, scene)


def test_a_doubt_about_a_call_that_was_cancelled_meanwhile_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(world: World) -> None:
        (world.cwd / "sub").mkdir()
        row, (first, second) = await held(world, write("a.txt"), write("sub/b.txt"))
        spy = gate(world, monkeypatch, is_open=False)
        one = asyncio.create_task(world.approve(first))
        await entered(spy)
        two = asyncio.create_task(world.approve(second))
        await settled(lambda: world.approval(second.id).state is _S.APPROVED)
        await world.end(row, End(ending=Ending.CANCEL, reason="stopped"))
        (world.cwd / "sub").rmdir()
        (world.cwd / "sub").symlink_to("elsewhere")
        spy.before.set()
        assert ((await one).state, (await two).state) == (_S.DONE, _S.CANCELLED)

    play(tmp_path, scene)


async def executing(world: World, *uses: object) -> tuple[RunRow, ApprovalRow]:
    """A call whose effect was begun and never recorded: what a crash leaves."""
    row, (waiting,) = await held(world, *uses)
    with world.store.begin() as conn:
        approvals.approve(conn, waiting.id, digest=waiting.approval_digest, who=ANNA, now=world.now)
        begun = approvals.begin_effect(conn, waiting.id, now=world.now)
    assert begun is not None
    return row, begun


@pytest.mark.parametrize(
    ("disk", "state", "text"),
    [
        ("post", _S.DONE, "Done. The supervisor was interrupted; the file is as approved."),
        ("pre", _S.APPROVED, None),
        ("other", _S.UNKNOWN, "the supervisor was interrupted and the file is neither as before nor as approved"),
    ],
)
def test_after_a_crash_the_disk_decides(tmp_path: Path, disk: str, state: ApprovalState, text: str | None) -> None:
    """B9: post-image, done; pre-image, not happened and released again; neither, a person's."""

    async def scene(world: World) -> None:
        row, begun = await executing(world, write("in.txt", "AFTER\n"))
        if disk != "pre":
            (world.cwd / "in.txt").write_text("AFTER\n" if disk == "post" else "something else\n")
        found = await world.effects.find_out(begun, world.cwd)
        assert (found.state, found.outcome) == (state, text)
        assert world.run(row.id).state is (RunState.RUNNING if disk == "post" else RunState.HELD)
        if disk == "pre":
            assert (await world.effects.carry_out(begun.id)).state is _S.DONE
            assert (world.cwd / "in.txt").read_text() == "AFTER\n"

    play(tmp_path, scene)


@pytest.mark.parametrize(("happened", "state"), [(True, _S.DONE), (False, _S.FAILED)])
def test_a_person_settles_what_the_disk_cannot_tell_and_the_run_goes_on(
    tmp_path: Path, happened: bool, state: ApprovalState
) -> None:
    """Invariant 4."""

    async def scene(world: World) -> None:
        row, begun = await executing(world, write("in.txt", "AFTER\n"))
        (world.cwd / "in.txt").write_text("something else\n")
        await world.effects.find_out(begun, world.cwd)
        settled_row = await world.effects.settle(begun.id, happened=happened, who=ANNA, reason=None)
        assert settled_row.state is state
        assert world.run(row.id).state is RunState.RUNNING
        with pytest.raises(ApprovalError):
            await world.effects.settle(begun.id, happened=not happened, who=ANNA, reason=None)

    play(tmp_path, scene)


def test_an_effect_that_breaks_off_is_looked_up_on_the_disk_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of our own must not loop."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        spy = gate(world, monkeypatch)
        spy.fails = RuntimeError("a fault of ours")
        with pytest.raises(RuntimeError, match="a fault of ours"):
            await world.approve(waiting)
        assert world.approval(waiting.id).state is _S.FAILED
        assert world.run(row.id).state is RunState.RUNNING
        await world.effects.take_up()
        assert len(spy.seen) == 1

    play(tmp_path, scene)


def test_an_effect_whose_task_is_cancelled_is_left_to_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread goes on: a look at the disk now could find what is not true a moment later."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        spy = gate(world, monkeypatch, is_open=False)
        asking = asyncio.create_task(world.approve(waiting))
        await entered(spy)
        (task,) = world.effects._tasks
        task.cancel()
        await both(asking)
        assert world.approval(waiting.id).state is _S.EXECUTING
        spy.before.set()
        await settled((world.cwd / "a.txt").exists)
        assert (await world.effects.find_out(world.approval(waiting.id), world.cwd)).state is _S.DONE

    play(tmp_path, scene)
