"""The gate: hook, callback and handler are answered from what is on record; strays and reports that are not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.agent import Answer, Outcome
from runner.errors import GatewayError
from runner.gateway import ToolResult
from runner.lifecycle import ApprovalState
from runner.model import Verdict
from runner.supervisor.desk import MAX_STRAYS
from tests.unit.supervisor.world import (
    WRITE,
    RunState,
    World,
    a_turn,
    arguments_of,
    both,
    play,
    read,
    settled,
    states,
    use,
    write,
)

REFUSED = Outcome(text="refused: no approved call fits this one; nothing was done", is_error=True)
STRAY = Answer(allowed=False, reason="refused: the model made no such call; do not retry it")


def test_an_allowed_read_passes_hook_and_callback_and_then_no_third_time(tmp_path: Path) -> None:
    """P11: both consult the same record."""

    async def scene(world: World) -> None:
        desk = world.desk(world.a_running())
        call = read("in.txt")
        await desk.take_turn(a_turn(call))
        assert await desk.ask("Read", arguments_of(call)) == Answer(allowed=True)
        assert await desk.ask("Read", arguments_of(call)) == STRAY
        assert await desk.confirm("Read", arguments_of(call)) == Answer(allowed=True)
        assert await desk.confirm("Read", arguments_of(call)) == STRAY

    play(tmp_path, scene)


def test_the_path_as_the_cli_words_it_is_the_call_the_model_made(tmp_path: Path) -> None:
    """sdk.md §3: the hook gets an absolute, collapsed path."""

    async def scene(world: World) -> None:
        desk = world.desk(world.a_running())
        await desk.take_turn(a_turn(read("./in.txt")))
        assert await desk.ask("Read", {"file_path": "/workspace/in.txt"}) == Answer(allowed=True)

    play(tmp_path, scene)


def test_a_callback_without_a_hook_before_it_waits_like_the_hook(tmp_path: Path) -> None:
    """P11: either gate alone is enough."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = write("a.txt")
        await desk.take_turn(a_turn(call))
        confirming = asyncio.create_task(desk.confirm(WRITE, arguments_of(call)))
        await asyncio.sleep(0.05)
        assert not confirming.done()
        await world.approve(world.approvals(row.id)[0])
        assert await confirming == Answer(allowed=True)
        assert (await desk.outcome(WRITE, arguments_of(call))).is_error is False

    play(tmp_path, scene)


def test_a_gated_call_waits_and_its_outcome_is_told_once(tmp_path: Path) -> None:
    """Invariant 13: the handler performs nothing and returns a recorded outcome, once, or a refusal."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = write("a.txt", "A")
        await desk.take_turn(a_turn(call))
        asking = asyncio.create_task(desk.ask(WRITE, arguments_of(call)))
        await asyncio.sleep(0.05)
        assert not asking.done()
        await world.approve(world.approvals(row.id)[0])
        assert await asking == Answer(allowed=True)
        assert world.approvals(row.id)[0].delivered_at is None
        assert await desk.confirm(WRITE, arguments_of(call)) == Answer(allowed=True)
        told = await desk.outcome(WRITE, arguments_of(call))
        assert told == Outcome(text="Created /workspace/a.txt: 1 bytes written.", is_error=False)
        assert world.approvals(row.id)[0].delivered_at == world.now
        assert await desk.outcome(WRITE, arguments_of(call)) == REFUSED
        assert (world.cwd / "a.txt").read_text() == "A"

    play(tmp_path, scene)


@pytest.mark.parametrize("so_far", ["nothing", "hook"])
def test_a_handler_called_before_its_gates_is_refused_and_takes_nothing_away(tmp_path: Path, so_far: str) -> None:
    """Case 108: a bare tool message, even of a call that is done."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = write("a.txt")
        await desk.take_turn(a_turn(call))
        await world.approve(world.approvals(row.id)[0])
        if so_far == "hook":
            await desk.ask(WRITE, arguments_of(call))
        assert await desk.outcome(WRITE, arguments_of(call)) == REFUSED
        assert world.approvals(row.id)[0].delivered_at is None
        if so_far == "nothing":
            await desk.ask(WRITE, arguments_of(call))
        await desk.confirm(WRITE, arguments_of(call))
        assert (await desk.outcome(WRITE, arguments_of(call))).is_error is False

    play(tmp_path, scene)


def test_a_handler_called_while_its_callback_waits_gets_no_outcome_and_takes_none_away(tmp_path: Path) -> None:
    """Case 108: the container may send both at once."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = write("a.txt")
        await desk.take_turn(a_turn(call))
        confirming = asyncio.create_task(desk.confirm(WRITE, arguments_of(call)))
        await asyncio.sleep(0.05)
        early = await desk.outcome(WRITE, arguments_of(call))
        assert (early.is_error, "nothing was done" in early.text) == (True, True)
        await world.approve(world.approvals(row.id)[0])
        assert await confirming == Answer(allowed=True)
        assert (await desk.outcome(WRITE, arguments_of(call))).text == "Created /workspace/a.txt: 1 bytes written."

    play(tmp_path, scene)


def test_an_outcome_asked_for_many_times_at_once_is_told_once(tmp_path: Path) -> None:
    """Case 108, twice: exactly one delivery."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = write("a.txt")
        await desk.take_turn(a_turn(call))
        await world.approve(world.approvals(row.id)[0])
        await desk.ask(WRITE, arguments_of(call))
        await desk.confirm(WRITE, arguments_of(call))
        told = await asyncio.gather(*(desk.outcome(WRITE, arguments_of(call)) for _ in range(8)))
        assert sorted(one.is_error for one in told) == [False] + [True] * 7

    play(tmp_path, scene)


@pytest.mark.parametrize("how", ["denied", "expired"])
def test_a_no_is_told_at_the_hook_with_its_kind_and_counts_as_told(tmp_path: Path, how: str) -> None:
    """P12, R40: which kind of no it was; and there is nothing left to deliver."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = write("a.txt")
        await desk.take_turn(a_turn(call))
        asking = asyncio.create_task(desk.ask(WRITE, arguments_of(call)))
        await asyncio.sleep(0.05)
        if how == "denied":
            await world.deny(world.approvals(row.id)[0], "wrong folder")
        else:
            world.now += world.profile.approvals.expires
            await world.effects.expire()
        answer = await asking
        assert answer.allowed is False
        assert answer.reason.startswith("Denied: " if how == "denied" else "Expired: ")
        assert ("wrong folder" in answer.reason) is (how == "denied")
        assert world.approvals(row.id)[0].delivered_at == world.now
        assert await desk.outcome(WRITE, arguments_of(call)) == REFUSED
        assert not (world.cwd / "a.txt").exists()

    play(tmp_path, scene)


def test_identical_calls_of_a_turn_are_told_apart(tmp_path: Path) -> None:
    """Case 55: answering one does not answer the other."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        first, second = write("a.txt"), write("a.txt")
        await desk.take_turn(a_turn(first, second))
        asking = [asyncio.create_task(desk.ask(WRITE, arguments_of(first))) for _ in range(2)]
        await world.approve(world.approvals(row.id)[0])
        await settled(asking[0].done)
        assert (await asking[0], asking[1].done()) == (Answer(allowed=True), False)
        await world.deny(world.approvals(row.id)[1])
        assert (await asking[1]).allowed is False
        assert states(world.approvals(row.id)) == [ApprovalState.DONE, ApprovalState.DENIED]

    play(tmp_path, scene)


def test_identical_done_calls_are_each_told_their_own_outcome(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        calls = [write("a.txt"), write("a.txt")]
        await desk.take_turn(a_turn(*calls))
        for one in world.approvals(row.id):
            await world.approve(one)
        told = []
        for call in calls:
            await desk.ask(WRITE, arguments_of(call))
        for call in calls:
            await desk.confirm(WRITE, arguments_of(call))
        told = await asyncio.gather(*(desk.outcome(WRITE, arguments_of(call)) for call in calls))
        assert [one.text.split(":")[0] for one in told] == [
            "Created /workspace/a.txt",
            told[1].text.split(":")[0],
        ]
        assert [one.delivered_at for one in world.approvals(row.id)] == [world.now, world.now]

    play(tmp_path, scene)


def test_a_tool_use_id_that_comes_again_is_another_call(tmp_path: Path) -> None:
    """B11, case 54: the id is data. Each is queued under our own, and the CLI, which would forget one of two, gets another."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        handed = await desk.take_turn(a_turn(write("a.txt", id="same"), write("b.txt", id="same")))
        first = world.approvals(row.id)
        assert len({one.id for one in first}) == 2
        for one in first:
            await world.deny(one)
        handed += await desk.take_turn(a_turn(write("a.txt", "other", id="same")))
        assert [one.id for one in handed] == [call.wire_id for call in world.calls(row.id)]
        assert (handed[0].id, len({one.id for one in handed})) == ("same", 3)
        third = world.approvals(row.id)[2]
        assert third.approval_digest not in {one.approval_digest for one in first}
        assert await desk.ask(WRITE, {"file_path": "b.txt", "content": "x"}) == STRAY
        asking = asyncio.create_task(desk.ask(WRITE, {"file_path": "a.txt", "content": "other"}))
        await asyncio.sleep(0.05)
        assert not asking.done()
        await world.approve(third)
        assert await asking == Answer(allowed=True)

    play(tmp_path, scene)


def test_calls_of_a_former_turn_are_over(tmp_path: Path) -> None:
    """A turn the CLI lost and asked for again: the new call never takes the old one's outcome."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        lost, again = write("a.txt"), write("a.txt")
        await desk.take_turn(a_turn(lost))
        await desk.take_turn(a_turn(again))
        assert states(world.approvals(row.id)) == [ApprovalState.SUPERSEDED, ApprovalState.PENDING]
        asking = asyncio.create_task(desk.ask(WRITE, arguments_of(again)))
        await world.approve(world.approvals(row.id)[1])
        assert await asking == Answer(allowed=True)
        await desk.confirm(WRITE, arguments_of(again))
        told = await desk.outcome(WRITE, arguments_of(again))
        await desk.check_results((ToolResult(tool_use_id=again.id, text=told.text, is_error=False),))
        assert world.run(row.id).state is RunState.RUNNING

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (WRITE, {"file_path": "a.txt", "content": "other bytes"}),
        ("Read", {"file_path": "in.txt", "limit": 1}),
        ("Bash", {"command": "ls"}),
        ("mcp__runner__Nothing", {}),
        ("half \ud800 and \0", {"x": "\udfff"}),
        (WRITE, {"file_path": "a.txt", "content": "\ud800"}),
    ],
)
def test_a_call_the_model_never_made_is_refused_and_recorded(tmp_path: Path, name: str, arguments: dict[str, str]) -> None:
    """Design.md §3.4: identity is ours; what comes over the wire is data."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(write("a.txt"), read("in.txt")))
        assert await desk.ask(name, arguments) == STRAY
        assert await desk.confirm(name, arguments) == STRAY
        assert await desk.outcome(name, arguments) == REFUSED
        strays = world.calls(row.id)[2:]
        assert [(call.turn, call.verdict, call.rule, call.outcome) for call in strays] == [
            (0, Verdict.DENY, "unasked", "denied")
        ] * 3
        assert len(world.approvals(row.id)) == 1

    play(tmp_path, scene)


def test_strays_are_bounded_and_then_end_the_run(tmp_path: Path) -> None:
    """A lying CLI costs a bounded number of rows."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        for _ in range(MAX_STRAYS):
            await desk.ask("Bash", {})
        assert not desk.doomed.is_set()
        await both(*(desk.ask("Bash", {}) for _ in range(50)))
        assert desk.doomed.is_set()
        assert len(world.calls(row.id)) == MAX_STRAYS
        with pytest.raises(GatewayError, match="never made"):
            await desk.open_request()

    play(tmp_path, scene)


def test_a_recorded_outcome_may_be_reported_with_a_line_end_and_nothing_else_may(tmp_path: Path) -> None:
    """Design.md §2.4: less one trailing newline."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = write("a.txt")
        await desk.take_turn(a_turn(call))
        await world.approve(world.approvals(row.id)[0])
        await desk.ask(WRITE, arguments_of(call))
        await desk.confirm(WRITE, arguments_of(call))
        told = (await desk.outcome(WRITE, arguments_of(call))).text
        for text in (told, f"{told}\n"):
            await desk.check_results((ToolResult(tool_use_id=call.id, text=text, is_error=False),))
        assert not desk.doomed.is_set()
        with pytest.raises(GatewayError, match="not on record"):
            await desk.check_results((ToolResult(tool_use_id=call.id, text="Created /etc/passwd", is_error=False),))
        assert desk.doomed.is_set()

    play(tmp_path, scene)


def test_an_outcome_reported_for_a_call_that_still_waits_ends_the_run(tmp_path: Path) -> None:
    """A container cannot tell the model that something was done which nobody has decided."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = write("a.txt")
        await desk.take_turn(a_turn(call))
        with pytest.raises(GatewayError, match="not on record"):
            await desk.check_results((ToolResult(tool_use_id=call.id, text="Created.", is_error=False),))
        with pytest.raises(GatewayError, match="not on record"):
            await desk.open_request()

    play(tmp_path, scene)


def test_results_of_the_containers_own_tools_are_noted_by_its_word(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        good, bad, unknown = read("in.txt"), read("in.txt"), use("Bash", command="ls")
        await desk.take_turn(a_turn(good, bad, unknown))
        await desk.check_results(
            (
                ToolResult(tool_use_id=good.id, text="1\tINSIDE", is_error=False),
                ToolResult(tool_use_id=bad.id, text="no", is_error=True),
                ToolResult(tool_use_id=unknown.id, text="No such tool available", is_error=True),
                ToolResult(tool_use_id="never seen", text="?", is_error=False),
            )
        )
        assert [call.outcome for call in world.calls(row.id)] == [
            "ran in the container",
            "the container reports an error",
            "denied",
        ]
        assert not desk.doomed.is_set()

    play(tmp_path, scene)
