"""What a fresh container of a run starts from: transcript and desk from the rows, outcomes told once, and not for ever."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from runner.agent import Answer
from runner.gateway import ToolResult
from runner.lifecycle import ApprovalState, RunState
from runner.model import Attempt, JsonObject
from runner.store import RunRow, transcript
from runner.supervisor.endings import End, Ending
from runner.supervisor.entries import Phase
from runner.supervisor.resume import MAX_DEATHS, Restored, restore, worth_resuming
from runner.transcript import NOT_RUN
from tests.unit.supervisor.world import WRITE, World, a_turn, arguments_of, play, read, use, write

PROMPT: JsonObject = {"role": "user", "content": [{"type": "text", "text": "go"}]}
PARK = End(ending=Ending.PARK, reason="a person is waited for")


async def resumed(world: World, run: RunRow) -> tuple[RunRow, Restored]:
    """The parked run's next attempt, claimed and started, with what it starts from."""
    row = world.run(run.id)
    assert row.state is RunState.QUEUED
    attempt = Attempt(row.id, row.segment, row.attempt)
    await world.store.call(world.endings.claim, attempt)
    restored = await world.store.call(restore, attempt, row, prompt=PROMPT, clock=world.clock)
    assert restored is not None
    await world.store.call(world.endings.started, attempt)
    return world.run(run.id), restored


def results(restored: Restored) -> dict[str, str]:
    """Texts of the results in the transcript, by wire id."""
    found: dict[str, str] = {}
    for line in restored.lines:
        message = json.loads(line).get("message") or {}
        for block in message.get("content", []):
            if block["type"] == "tool_result":
                found[block["tool_use_id"]] = block["content"][0]["text"]
    return found


def deferred(restored: Restored) -> str:
    return str(json.loads(restored.lines[-1])["attachment"]["toolUseID"])


def test_every_call_of_a_parked_turn_comes_back_with_its_outcome_or_is_asked_for(tmp_path: Path) -> None:
    """Design.md §3.8."""

    async def scene(world: World) -> None:
        row = world.a_running()
        turn = [write("a.txt", id="a"), use("Bash", "b", command="ls"), write("c.txt", id="c"), write("d.txt", id="d")]
        await world.desk(row).take_turn(a_turn(*turn))
        await world.end(row, PARK)
        first, second, third = world.approvals(row.id)
        await world.approve(third)
        await world.deny(second, "not c")
        await world.approve(first)
        again, restored = await resumed(world, row)
        assert restored.nudge is False
        assert deferred(restored) == "d"
        told = results(restored)
        assert told.keys() == {"a", "b", "c"}
        assert told["a"] == "Created /workspace/a.txt: 1 bytes written."
        assert "no such tool" in told["b"]
        assert "not c" in told["c"]
        assert [one.phase for one in restored.entries] == [Phase.CLOSED, Phase.CLOSED, Phase.CLOSED, Phase.DECIDED]
        assert [one.delivered_at is not None for one in world.approvals(row.id)] == [True, True, False]
        desk = world.desk(again, entries=restored.entries, wire_ids=restored.wire_ids)
        assert await desk.ask(WRITE, arguments_of(turn[3])) == Answer(allowed=True)
        await desk.confirm(WRITE, arguments_of(turn[3]))
        assert (await desk.outcome(WRITE, arguments_of(turn[3]))).text == "Created /workspace/d.txt: 1 bytes written."
        assert all(one.delivered_at for one in world.approvals(row.id))
        told["d"] = "Created /workspace/d.txt: 1 bytes written."
        await desk.check_results(
            [ToolResult(tool_use_id=wire, text=text, is_error=wire in "bc") for wire, text in told.items()]
        )
        assert not desk.doomed.is_set()

    play(tmp_path, scene)


def test_a_read_that_the_park_interrupted_is_asked_for_and_runs(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        turn = [read("in.txt", id="r"), write("a.txt", id="a"), read("in.txt", id="s")]
        await world.desk(row).take_turn(a_turn(*turn))
        await world.end(row, PARK)
        await world.approve(world.approvals(row.id)[0])
        again, restored = await resumed(world, row)
        assert deferred(restored) == "r"
        assert results(restored)["s"] == NOT_RUN
        assert [call.outcome for call in world.calls(row.id)][2] == NOT_RUN
        desk = world.desk(again, entries=restored.entries, wire_ids=restored.wire_ids)
        assert await desk.ask("Read", arguments_of(turn[0])) == Answer(allowed=True)
        assert (await desk.ask("Read", arguments_of(turn[2]))).allowed is False

    play(tmp_path, scene)


def test_an_outcome_that_died_with_its_container_is_told_again_once(tmp_path: Path) -> None:
    """It was delivered, and the mirror has no result: the next container is told what is on record, by its handler."""

    async def scene(world: World) -> None:
        row = world.a_running()
        call = write("a.txt", id="a")
        desk = world.desk(row)
        await desk.take_turn(a_turn(call))
        await world.approve(world.approvals(row.id)[0])
        await desk.ask(WRITE, arguments_of(call))
        await desk.confirm(WRITE, arguments_of(call))
        told = await desk.outcome(WRITE, arguments_of(call))
        await world.end(row, PARK)
        again, restored = await resumed(world, row)
        assert deferred(restored) == "a"
        desk = world.desk(again, entries=restored.entries, wire_ids=restored.wire_ids)
        asking = (desk.ask(WRITE, arguments_of(call)), desk.confirm(WRITE, arguments_of(call)))
        assert [await one for one in asking] == [Answer(allowed=True)] * 2
        found = await asyncio.gather(*(desk.outcome(WRITE, arguments_of(call)) for _ in range(4)))
        assert [one for one in found if not one.is_error] == [told]
        assert (world.cwd / "a.txt").read_text() == "x"

    play(tmp_path, scene)


def test_restoring_again_after_a_crash_gives_the_same(tmp_path: Path) -> None:
    """A crash right after the transaction: delivered is delivered, and the lines are stored."""

    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt", id="a"), write("b.txt", id="b")))
        await world.end(row, PARK)
        for one in world.approvals(row.id):
            await world.approve(one)
        row, first = await resumed(world, row)
        await world.end(row, End(ending=Ending.PARK, reason="the supervisor was interrupted"))
        _, second = await resumed(world, row)
        assert (results(second), deferred(second)) == (results(first), deferred(first))
        assert len([line for line in second.lines if "hook_deferred_tool" in line]) == 1

    play(tmp_path, scene)


def test_a_turn_that_was_superseded_is_not_told_again(tmp_path: Path) -> None:
    """The CLI never saw it: its calls were made again in the next turn."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(write("a.txt", id="lost")))
        await desk.take_turn(a_turn(write("a.txt", id="again")))
        await world.end(row, PARK)
        await world.deny(world.approvals(row.id, ApprovalState.PENDING)[0])
        _, restored = await resumed(world, row)
        assert "lost" not in "".join(restored.lines)
        assert deferred(restored) == "again"
        assert restored.wire_ids == {"lost", "again"}

    play(tmp_path, scene)


def test_a_run_that_never_took_a_turn_starts_afresh_without_what_was_mirrored(tmp_path: Path) -> None:
    """Told to go on, the CLI would put words into the model's mouth; and the next resumption has one prompt."""

    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).mirror([json.dumps({"type": "user", "uuid": "old", "message": PROMPT})])
        await world.end(row, PARK)
        row = world.run(row.id)
        attempt = Attempt(row.id, row.segment, row.attempt)
        await world.store.call(world.endings.claim, attempt)
        assert await world.store.call(restore, attempt, row, prompt=PROMPT, clock=world.clock) is None
        await world.store.call(world.endings.started, attempt)
        row = world.run(row.id)
        desk = world.desk(row)
        await desk.mirror([json.dumps({"type": "user", "uuid": "new", "message": PROMPT})])
        await desk.take_turn(a_turn(write("a.txt", id="a")))
        await world.end(row, PARK)
        await world.deny(world.approvals(row.id)[0])
        _, restored = await resumed(world, row)
        assert json.loads(restored.lines[0])["uuid"] == "new"
        assert "old" not in "".join(restored.lines)

    play(tmp_path, scene)


def test_what_was_mirrored_is_kept_in_front_of_what_is_added_and_both_are_stored(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(write("a.txt", id="a")))
        mine = json.dumps({"type": "user", "uuid": "u0", "message": PROMPT})
        await desk.mirror([mine])
        await world.end(row, PARK)
        await world.deny(world.approvals(row.id)[0])
        _, restored = await resumed(world, row)
        with world.store.reading() as conn:
            assert [line.entry for line in transcript.read(conn, row.id)] == list(restored.lines)
        assert restored.lines[0] == mine
        assert restored.session_id == row.session_id

    play(tmp_path, scene)


# --- worth it ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refused", [True, False])
def test_a_container_that_ends_while_calls_wait_is_a_parked_run(tmp_path: Path, refused: bool) -> None:
    """L10, case 64: whatever else went wrong."""

    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt")))
        assert await world.store.query(worth_resuming, Attempt(row.id, 7, 0), refused=refused)

    play(tmp_path, scene)


def test_a_container_that_ends_every_time_before_it_tells_the_model_is_not_started_for_ever(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt")))
        await world.deny(world.approvals(row.id)[0])
        answers = [
            await world.store.query(worth_resuming, Attempt(row.id, segment, 0), refused=False)
            for segment in range(MAX_DEATHS + 2)
        ]
        assert answers == [True] * MAX_DEATHS + [False, False]
        assert not await world.store.query(worth_resuming, Attempt(row.id, 0, 0), refused=True)

    play(tmp_path, scene)


def test_a_container_that_ends_where_nobody_was_asked_anything_is_a_failed_run(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        assert not await world.store.query(worth_resuming, Attempt(row.id, 0, 0), refused=False)
        await desk.take_turn(a_turn(write("a.txt")))
        await world.deny(world.approvals(row.id)[0])
        await desk.take_turn(a_turn(read("in.txt")))
        assert not await world.store.query(worth_resuming, Attempt(row.id, 0, 0), refused=False)

    play(tmp_path, scene)
