"""An agent that asks again and again for what a person denied (B10, L8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import GatewayError
from runner.lifecycle import ApprovalState, RunState
from runner.supervisor.desk import MAX_DENIALS
from tests.unit.supervisor.world import WRITE, World, a_turn, arguments_of, play, states, write

_S = ApprovalState


def test_the_same_call_after_a_no_is_denied_at_once_and_after_some_the_run_ends(tmp_path: Path) -> None:
    """B10: the loop agent."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(write("a.txt", "A")))
        await world.deny(world.approvals(row.id)[0])
        for _ in range(MAX_DENIALS - 1):
            again = write("a.txt", "A")
            await desk.take_turn(a_turn(again))
            assert world.run(row.id).state is RunState.RUNNING
            answer = await desk.ask(WRITE, arguments_of(again))
            assert (answer.allowed, "not asked again" in answer.reason) == (False, True)
        assert states(world.approvals(row.id)) == [_S.DENIED] * MAX_DENIALS
        with pytest.raises(GatewayError, match="were denied"):
            await desk.take_turn(a_turn(write("b.txt", "B")))
        assert (desk.doomed.is_set(), len(world.calls(row.id))) == (True, MAX_DENIALS)

    play(tmp_path, scene)


def test_an_agent_that_was_told_no_often_may_still_say_its_last_word(tmp_path: Path) -> None:
    """L8: reads and words are no asking."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(*[write(f"{number}.txt") for number in range(MAX_DENIALS)]))
        for one in world.approvals(row.id):
            await world.deny(one)
        await desk.take_turn(a_turn(text="I could not."))
        assert (desk.doomed.is_set(), desk.reply) == (False, "I could not.")

    play(tmp_path, scene)


def test_the_same_call_twice_in_one_turn_is_two_entries(tmp_path: Path) -> None:
    """Case 55: neither was denied before the other was asked."""

    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt"), write("a.txt")))
        assert states(world.approvals(row.id)) == [_S.PENDING, _S.PENDING]

    play(tmp_path, scene)
