"""From a yes to a recorded outcome: the order, the doubts, what its run does (invariants 3, 4)."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runner import approvals
from runner.errors import (
    ApprovalExpiredError,
    DigestMismatchError,
    StoreError,
)
from runner.lifecycle import ApprovalState, RunEvent, RunState
from runner.model import Attempt, Digest
from runner.store import ApprovalRow, Store, audit, runs
from runner.supervisor.live import LiveSegment
from tests.helpers.stored import ANNA
from tests.unit.supervisor.acting import entered, gate, held
from tests.unit.supervisor.world import World, both, play, settled, states, write

_S = ApprovalState


def test_a_yes_is_carried_out_at_once_and_recorded(tmp_path: Path) -> None:
    """Design.md §3.7: from the stored bytes; the run goes on in its container."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        done = await world.approve(waiting)
        assert (done.state, done.effect, done.outcome) == (_S.DONE, "done", "Created /workspace/a.txt: 1 bytes written.")
        assert done.decided_by == ANNA
        assert (world.cwd / "a.txt").read_text() == "A"
        assert world.run(row.id).state is RunState.RUNNING
        assert world.calls(row.id)[0].outcome == done.outcome
        with world.store.reading() as conn:
            events = [one.event for one in audit.of_subject(conn, done.id)]
        assert events == ["approval.request", "approval.approve", "approval.execute", "approval.succeed"]

    play(tmp_path, scene)


def test_a_yes_and_its_intent_are_one_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B8: nothing can come between the two, and one wait for the disk is saved."""
    commits: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        "tests.helpers.stored.Store",
        partial(Store, watch=lambda when, events: commits.append(tuple(events)) if when == "after" else None),
    )

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        commits.clear()
        await world.approve(waiting)

    play(tmp_path, scene)
    assert [events[:2] for events in commits] == [
        ("approval.approve", "approval.execute"),
        ("approval.succeed", "call.outcome"),
    ]


def test_a_yes_waits_for_no_other_effect_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B7: the yes is on record at once; its effect waits until the other one has ended."""

    async def scene(world: World) -> None:
        _, (first, second) = await held(world, write("a.txt", "A"), write("b.txt", "B"))
        one = gate(world, monkeypatch, is_open=False)
        tasks = [asyncio.create_task(world.approve(first))]
        await entered(one)
        tasks.append(asyncio.create_task(world.approve(second)))
        await settled(lambda: world.approval(second.id).state is _S.APPROVED)
        assert not (world.cwd / "b.txt").exists()
        one.before.set()
        assert states(await asyncio.gather(*tasks)) == [_S.DONE, _S.DONE]
        assert one.most == 1

    play(tmp_path, scene)


def test_what_somebody_else_began_is_not_performed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B8: an effect that was begun and not recorded is for whoever looks at the disk."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        spy = gate(world, monkeypatch)
        with world.store.begin() as conn:
            approvals.approve(conn, waiting.id, digest=waiting.approval_digest, who=ANNA, now=world.now)
            approvals.begin_effect(conn, waiting.id, now=world.now)
        assert (await world.effects.carry_out(waiting.id)).state is _S.EXECUTING
        assert spy.seen == []

    play(tmp_path, scene)


def test_executing_is_on_record_before_the_effect_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invariant 4, B8: read by another connection, so committed."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        spy = gate(world, monkeypatch)
        await world.approve(waiting)
        assert spy.seen == [_S.EXECUTING]

    play(tmp_path, scene)


def test_an_intent_that_cannot_be_written_means_no_effect(tmp_path: Path) -> None:
    """A3: a full disk before the release; the yes is refused with it, and can be said again."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        with world.store.begin() as conn:
            conn.exec_driver_sql(
                "CREATE TRIGGER full BEFORE UPDATE ON approvals WHEN NEW.state = 'executing' "
                "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
            )
        with pytest.raises(StoreError, match="disk is full"):
            await world.approve(waiting)
        assert world.approval(waiting.id).state is _S.PENDING
        assert not (world.cwd / "a.txt").exists()
        with world.store.begin() as conn:
            conn.exec_driver_sql("DROP TRIGGER full")
        await world.effects.take_up()
        assert world.approval(waiting.id).state is _S.PENDING
        await world.approve(waiting)
        assert world.approval(waiting.id).state is _S.DONE
        assert (world.cwd / "a.txt").read_text() == "A"

    play(tmp_path, scene)


def test_an_outcome_that_cannot_be_written_is_found_on_the_disk_later_and_not_done_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 3: a full disk during an effect; nothing lost, nothing half done."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        spy = gate(world, monkeypatch)
        with world.store.begin() as conn:
            conn.exec_driver_sql(
                "CREATE TRIGGER full BEFORE UPDATE ON approvals WHEN NEW.state = 'done' "
                "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
            )
        with pytest.raises(StoreError):
            await world.approve(waiting)
        assert world.approval(waiting.id).state is _S.EXECUTING
        with pytest.raises(StoreError):
            await world.effects.take_up()
        with world.store.begin() as conn:
            conn.exec_driver_sql("DROP TRIGGER full")
        await world.effects.take_up()
        await world.effects.take_up()
        assert (world.approval(waiting.id).state, len(spy.seen)) == (_S.DONE, 1)
        assert world.run(row.id).state is RunState.RUNNING

    play(tmp_path, scene)


def test_an_effect_shows_in_the_live_snapshot_before_it_is_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the record on the agent may be told, and look: it must not see the old bytes then."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        snapshot = tmp_path / "snapshot"
        snapshot.mkdir()
        world.live.add(LiveSegment(attempt=Attempt(row.id, 0, 0), snapshot=snapshot))
        seen: list[bool] = []
        record = approvals.finish_effect

        def look(*arguments: Any, **more: Any) -> ApprovalRow:
            seen.append((snapshot / "a.txt").exists())
            return record(*arguments, **more)

        monkeypatch.setattr(approvals, "finish_effect", look)
        await world.approve(waiting)
        assert seen == [True]
        assert (snapshot / "a.txt").read_text() == "A"

    play(tmp_path, scene)


def test_a_snapshot_that_is_gone_does_not_undo_the_effect(tmp_path: Path) -> None:
    """The container may be parked at the same moment."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        world.live.add(LiveSegment(attempt=Attempt(row.id, 0, 0), snapshot=tmp_path / "no such folder"))
        assert (await world.approve(waiting)).state is _S.DONE
        assert not (tmp_path / "no such folder").exists()

    play(tmp_path, scene)


def test_a_file_that_changed_since_it_was_shown_is_not_written_over(tmp_path: Path) -> None:
    """B5, B6, A37."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world, write("in.txt", "agent's"))
        (world.cwd / "in.txt").write_text("a person's")
        stale = await world.approve(waiting)
        assert (stale.state, stale.effect, (world.cwd / "in.txt").read_text()) == (_S.STALE, None, "a person's")
        assert world.run(row.id).state is RunState.RUNNING
        assert world.calls(row.id)[0].outcome.startswith("Stale")  # type: ignore[union-attr]

    play(tmp_path, scene)


def test_a_folder_swapped_for_a_link_since_it_was_shown_leads_nowhere(tmp_path: Path) -> None:
    """Case 48."""

    async def scene(world: World) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (world.cwd / "sub").mkdir()
        _, (waiting,) = await held(world, write("sub/t.txt"))
        (world.cwd / "sub").rmdir()
        (world.cwd / "sub").symlink_to(outside)
        assert (await world.approve(waiting)).state is _S.STALE
        assert list(outside.iterdir()) == []

    play(tmp_path, scene)


def test_a_directory_that_has_vanished_makes_the_call_stale(tmp_path: Path) -> None:
    """Issue 3, bad input: nothing half done."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        for path in world.cwd.iterdir():
            path.unlink()
        world.cwd.rmdir()
        assert (await world.approve(waiting)).state is _S.STALE
        assert not world.cwd.exists()

    play(tmp_path, scene)


def test_a_yes_that_waited_past_the_deadline_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B5: expiry is checked again after the claim."""

    async def scene(world: World) -> None:
        _, (first, second) = await held(world, write("a.txt"), write("b.txt"))
        spy = gate(world, monkeypatch, is_open=False)
        one = asyncio.create_task(world.approve(first))
        await entered(spy)
        two = asyncio.create_task(world.approve(second))
        await settled(lambda: world.approval(second.id).state is _S.APPROVED)
        world.now = second.expires
        spy.before.set()
        assert ((await one).state, (await two).state) == (_S.DONE, _S.STALE)
        assert not (world.cwd / "b.txt").exists()

    play(tmp_path, scene)


def test_a_decision_that_comes_too_late_ends_the_call_and_lets_its_run_go_on(tmp_path: Path) -> None:
    """L2: nobody else will: the clock finds nothing pending any more."""

    async def scene(world: World) -> None:
        for decide in (world.approve, world.deny):
            row, (waiting,) = await held(world, write(f"{decide.__name__}.txt"))
            world.now = waiting.expires
            with pytest.raises(ApprovalExpiredError):
                await decide(waiting)
            assert world.approval(waiting.id).state is _S.EXPIRED
            assert world.run(row.id).state is RunState.RUNNING
            assert await world.effects.expire() == ()

    play(tmp_path, scene)


def test_the_wrong_digest_decides_nothing(tmp_path: Path) -> None:
    """B4."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        with pytest.raises(DigestMismatchError):
            await world.approve(waiting, Digest("sha256:" + "0" * 64))
        assert (world.approval(waiting.id).state, world.run(row.id).state) == (_S.PENDING, RunState.HELD)
        assert not (world.cwd / "a.txt").exists()

    play(tmp_path, scene)


def test_a_held_run_goes_on_when_its_last_call_has_ended(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row, (first, second) = await held(world, write("a.txt"), write("b.txt"))
        await world.deny(first)
        assert world.run(row.id).state is RunState.HELD
        await world.approve(second)
        assert (world.run(row.id).state, world.queued) == (RunState.RUNNING, [])

    play(tmp_path, scene)


def test_a_parked_run_is_queued_once_when_its_last_call_has_ended(tmp_path: Path) -> None:
    """Design.md §3.8: when every gated call of the turn has an outcome, whatever the order, also at once."""

    async def scene(world: World) -> None:
        row, waiting = await held(world, *(write(f"{name}.txt") for name in "abc"))
        with world.store.begin() as conn:
            runs.move(conn, row.id, RunEvent.PARK, now=world.now)
        await both(world.deny(waiting[2]), world.approve(waiting[0]), world.approve(waiting[1]))
        assert world.queued == [Attempt(row.id, 1, 0)]
        assert (world.run(row.id).state, world.run(row.id).segment) == (RunState.QUEUED, 1)

    play(tmp_path, scene)


def test_expired_calls_of_a_parked_run_let_it_go_on(tmp_path: Path) -> None:
    """L2, C6."""

    async def scene(world: World) -> None:
        row, _ = await held(world, write("a.txt"), write("b.txt"))
        with world.store.begin() as conn:
            runs.move(conn, row.id, RunEvent.PARK, now=world.now)
        assert await world.effects.expire() == ()
        world.now += world.profile.approvals.expires
        assert states(await world.effects.expire()) == [_S.EXPIRED, _S.EXPIRED]
        assert await world.effects.expire() == ()
        assert world.queued == [Attempt(row.id, 1, 0)]

    play(tmp_path, scene)
