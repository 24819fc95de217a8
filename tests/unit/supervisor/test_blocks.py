"""A blocked tool does not run: refused at queue, approve and dispatch, each with the others out of the way (R108-R111)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.errors import NotAllowedError
from runner.lifecycle import ApprovalState
from runner.model import Attempt, Policy, Verdict
from runner.policy import SavedVerdict
from runner.supervisor import effects as room
from runner.supervisor.preparation import read_facts, reference_of, start_of
from tests.helpers.fake_engine import FAKE_IMAGE
from tests.unit.supervisor.acting import held
from tests.unit.supervisor.choosing import approved_by_hand, forget, save
from tests.unit.supervisor.world import RunState, World, a_turn, arguments_of, play, read, settled, states, write

_S = ApprovalState
BLOCK = SavedVerdict.BLOCK


def test_a_call_of_a_blocked_tool_is_refused_before_it_is_queued(tmp_path: Path) -> None:
    """R74, R94, R108, R111, C10: nobody is asked, and the model is told that it is blocked and not to try again."""

    async def scene(world: World) -> None:
        save(world, "Write", BLOCK)
        row, waiting = await held(world)
        (call,) = world.calls(row.id)
        assert waiting == ()
        assert (call.verdict, call.rank, call.rule) == (Verdict.DENY, 1, "blocked")
        assert call.reason == "Blocked (blocked): The owner blocked this tool. Do not retry this call unchanged."
        assert world.run(row.id).state is RunState.RUNNING

    play(tmp_path, scene)


def test_a_block_wins_over_an_allow_that_policy_would_give(tmp_path: Path) -> None:
    """R74, P2: under any policy, strict off."""

    async def scene(world: World) -> None:
        save(world, "Read", BLOCK)
        row = world.a_running()
        desk = world.desk(row)
        call = read("in.txt")
        await desk.take_turn(a_turn(call))
        assert (await desk.ask("Read", arguments_of(call))).reason.startswith("Blocked")

    play(tmp_path, scene, strict=False, policy=Policy.SKIP)


def test_a_call_queued_before_the_block_cannot_be_approved_after_it(tmp_path: Path) -> None:
    """R109, R139: refused with a way out, and it goes on waiting; once the block is taken back it can be."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        save(world, "Write", BLOCK)
        with pytest.raises(NotAllowedError, match="the owner blocked Write for scribe") as caught:
            await world.approve(waiting)
        assert caught.value.exit_code == 7
        assert world.approval(waiting.id) == waiting
        assert world.run(row.id).state is RunState.HELD
        assert not (world.cwd / "a.txt").exists()
        forget(world, "Write")
        assert (await world.approve(waiting)).state is _S.DONE

    play(tmp_path, scene)


def test_a_blocked_call_can_still_be_denied_and_its_agent_is_told(tmp_path: Path) -> None:
    """R109: the way out that the refusal names."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        save(world, "Write", BLOCK)
        assert (await world.deny(waiting, "blocked meanwhile")).state is _S.DENIED
        assert world.run(row.id).state is RunState.RUNNING

    play(tmp_path, scene)


def test_a_yes_that_went_past_the_check_is_refused_at_dispatch(tmp_path: Path) -> None:
    """R109, R110, B5: a hand-made approval of a blocked tool does nothing, and the agent hears why."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        save(world, "Write", BLOCK)
        approved_by_hand(world, waiting)
        ended = await world.effects.carry_out(waiting.id)
        assert (ended.state, ended.effect) == (_S.STALE, None)
        assert not (world.cwd / "a.txt").exists()
        told = world.calls(row.id)[0].outcome
        assert told == (
            "Blocked (blocked): The owner blocked this tool. It had been approved before; nothing was done. "
            "Do not retry it unchanged."
        )
        assert world.run(row.id).state is RunState.RUNNING

    play(tmp_path, scene)


def test_a_block_that_comes_between_the_look_and_the_beginning_still_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R108: the choices that a call was judged by must be the ones in force when the intent is written."""
    looked = 0

    async def scene(world: World) -> None:
        def look(*given: object, **more: object) -> object:
            nonlocal looked
            looked += 1
            found = real(*given, **more)  # type: ignore[arg-type]
            if looked == 1:
                save(world, "Write", BLOCK)
            return found

        real = room.doubt_about
        monkeypatch.setattr(room, "doubt_about", look)
        _, (waiting,) = await held(world)
        with pytest.raises(NotAllowedError, match="the owner blocked"):
            await world.approve(waiting)
        assert looked == 2
        assert world.approval(waiting.id).state is _S.PENDING
        assert not (world.cwd / "a.txt").exists()

    play(tmp_path, scene)


def test_a_choice_about_another_tool_in_that_moment_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at again, and carried out once."""
    looked = 0

    async def scene(world: World) -> None:
        def look(*given: object, **more: object) -> object:
            nonlocal looked
            looked += 1
            if looked == 1:
                save(world, "Edit", BLOCK)
            return real(*given, **more)  # type: ignore[arg-type]

        real = room.doubt_about
        monkeypatch.setattr(room, "doubt_about", look)
        _, (waiting,) = await held(world)
        assert (await world.approve(waiting)).state is _S.DONE
        assert looked == 2

    play(tmp_path, scene)


def test_a_read_that_was_let_run_and_is_blocked_before_it_runs_does_not_run(tmp_path: Path) -> None:
    """R110: the hook decides again with the owner's choices as they are."""

    async def scene(world: World) -> None:
        desk = world.desk(world.a_running())
        call = read("in.txt")
        await desk.take_turn(a_turn(call))
        assert (await desk.ask("Read", arguments_of(call))).allowed
        save(world, "Read", BLOCK)
        answer = await desk.confirm("Read", arguments_of(call))
        assert (answer.allowed, answer.reason.startswith("Blocked")) == (False, True)

    play(tmp_path, scene)


def test_a_read_that_needs_asking_now_is_not_run_and_its_agent_may_ask_anew(tmp_path: Path) -> None:
    """R91, R138, R143: a choice binds a running run at its next call; nothing was queued for this one."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = read("in.txt")
        await desk.take_turn(a_turn(call))
        save(world, "Read", SavedVerdict.ASK)
        answer = await desk.ask("Read", arguments_of(call))
        assert (answer.allowed, answer.reason[:17]) == (False, "Refused (changed)")
        await desk.take_turn(a_turn(read("in.txt")))
        assert states(world.approvals(row.id)) == [_S.PENDING]

    play(tmp_path, scene)


def test_an_approved_read_that_is_blocked_before_it_runs_does_not_run(tmp_path: Path) -> None:
    """R109 for what the container carries out itself."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = read("in.txt")
        await desk.take_turn(a_turn(call))
        (waiting,) = world.approvals(row.id)
        await world.approve(waiting)
        save(world, "Read", BLOCK)
        answer = await desk.ask("Read", arguments_of(call))
        assert (answer.allowed, answer.reason.startswith("Blocked")) == (False, True)

    play(tmp_path, scene, policy=Policy.ASK)


def test_a_blocked_tool_is_not_offered_to_a_new_segment(tmp_path: Path) -> None:
    """C10, R112: dropped from the list, while calls are still decided by the whole profile."""

    async def scene(world: World) -> None:
        row = world.a_run()
        save(world, "Write", BLOCK)
        save(world, "Edit", SavedVerdict.ASK)
        with world.store.reading() as conn:
            facts = read_facts(conn, Attempt(row.id, 0, 0), row)
        assert facts.profile.tools == ("Read", "Glob", "Grep", "Write", "Edit")
        assert start_of(facts, resume=False).profile.tools == ("Read", "Glob", "Grep", "Edit")
        assert reference_of(facts, FAKE_IMAGE, resume=False).offered == {"Read", "Glob", "Grep", "mcp__runner__Edit"}

    play(tmp_path, scene)


def test_a_block_does_not_undo_what_was_done_before_it(tmp_path: Path) -> None:
    """R111: an effect on record is told as it is."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = write("a.txt", "A")
        await desk.take_turn(a_turn(call))
        (waiting,) = world.approvals(row.id)
        await world.approve(waiting)
        save(world, "Write", BLOCK)
        asked = asyncio.create_task(desk.ask("mcp__runner__Write", arguments_of(call)))
        await settled(asked.done)
        assert asked.result().allowed
        assert (world.cwd / "a.txt").read_text() == "A"

    play(tmp_path, scene)
