"""The desk: a turn is decided, stored and queued whole; then hook, callback and handler are answered from what is on record."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.agent import Answer, Outcome
from runner.errors import GatewayError
from runner.gateway import Handover, ToolResult
from runner.lifecycle import ApprovalState, RunEvent
from runner.model import Attempt, Limits, Usage, Verdict
from runner.store import runs, transcript
from runner.supervisor.desk import MAX_STRAYS
from tests.unit.supervisor.world import (
    EDIT,
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


# --- a turn ---------------------------------------------------------------------------------------------------------------


def test_a_whole_turn_is_on_record_before_the_cli_sees_any_of_it(tmp_path: Path) -> None:
    """Invariant 2, design.md §3.5: decided, stored and queued together, then handed over."""
    turn = a_turn(read("in.txt"), write("a.txt"), use("Bash", command="ls"), read("../secret"), write("b.txt"))

    async def scene(world: World) -> None:
        row = world.a_running()
        handed = await world.desk(row).take_turn(turn)
        names = ["Read", WRITE, "undeclared__Bash", "Read", WRITE]
        assert handed == tuple(Handover(name=name, raw=one.raw) for name, one in zip(names, turn.tool_uses, strict=True))
        assert [(call.tool, call.verdict, call.turn) for call in world.calls(row.id)] == [
            ("Read", Verdict.ALLOW, 1),
            ("Write", Verdict.ASK, 1),
            ("Bash", Verdict.DENY, 1),
            ("Read", Verdict.DENY, 1),
            ("Write", Verdict.ASK, 1),
        ]
        assert [one.raw for one in world.approvals(row.id)] == [turn.tool_uses[1].raw, turn.tool_uses[4].raw]
        assert world.run(row.id).state is RunState.HELD
        assert world.run(row.id).usage == Usage(requests=1, turns=1, input_tokens=10, output_tokens=5)

    play(tmp_path, scene)


def test_no_question_is_answered_while_the_turn_is_not_on_record(tmp_path: Path) -> None:
    """Invariant 2, the order itself: the hook has no call to answer about until the rows are committed."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = read("in.txt")
        with world.store.begin():  # the database's one writer: the turn cannot be stored yet
            taking = asyncio.create_task(desk.take_turn(a_turn(call)))
            await asyncio.sleep(0.1)
            assert not taking.done()
            assert world.calls(row.id) == ()
            asking = asyncio.create_task(desk.ask("Read", arguments_of(call)))
            await asyncio.sleep(0.1)
            assert not asking.done()
        assert (await asking, len(await taking)) == (STRAY, 1)
        assert await desk.ask("Read", arguments_of(call)) == Answer(allowed=True)

    play(tmp_path, scene)


def test_a_turn_that_cannot_be_stored_is_not_handed_over(tmp_path: Path) -> None:
    """A3: a write failure before the release is a refusal."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        with world.store.begin() as conn:
            conn.exec_driver_sql("CREATE TRIGGER full BEFORE INSERT ON approvals BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        call = write("a.txt")
        with pytest.raises(Exception, match="disk full"):
            await desk.take_turn(a_turn(read("in.txt"), call))
        assert (world.calls(row.id), world.approvals(row.id), world.run(row.id).state) == ((), (), RunState.RUNNING)
        assert await desk.ask(WRITE, arguments_of(call)) == STRAY

    play(tmp_path, scene)


def test_a_turn_without_calls_is_the_reply_and_holds_nothing(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(read("in.txt"), text="Looking."))
        assert desk.reply is None
        assert await desk.take_turn(a_turn(text="All done.")) == ()
        assert (desk.reply, world.run(row.id).state) == ("All done.", RunState.RUNNING)

    play(tmp_path, scene)


def test_a_malformed_call_is_denied_and_reaches_the_cli_as_an_empty_one(tmp_path: Path) -> None:
    """B2, B3: duplicate keys are never repaired."""
    twice = use(WRITE)
    raw = '{"file_path":"a.txt","file_path":"b.txt","content":"x"}'

    async def scene(world: World) -> None:
        row = world.a_running()
        handed = await world.desk(row).take_turn(a_turn(type(twice)(id=twice.id, name=WRITE, raw=raw)))
        assert handed == (Handover(name=WRITE, raw="{}"),)
        (call,) = world.calls(row.id)
        assert (call.raw, call.verdict, call.rule) == (raw, Verdict.DENY, "malformed")
        assert world.approvals(row.id) == ()

    play(tmp_path, scene)


def test_what_a_preflight_knows_must_fail_is_never_asked_of_a_person(tmp_path: Path) -> None:
    call = use(EDIT, file_path="in.txt", old_string="not there", new_string="y")

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(call))
        (stored,) = world.calls(row.id)
        assert (stored.verdict, stored.rule, world.approvals(row.id)) == (Verdict.DENY, "impossible", ())
        assert await desk.ask(EDIT, arguments_of(call)) == Answer(allowed=False, reason=stored.reason)

    play(tmp_path, scene)


def test_calls_the_cli_would_word_alike_take_the_strictest_verdict(tmp_path: Path) -> None:
    """`policy.call_key`: the CLI collapses paths, so the hook cannot tell which of the two it asks about."""

    async def scene(world: World) -> None:
        (world.cwd / "deep" / "er").mkdir(parents=True)
        (world.cwd / "link").symlink_to("deep/er")
        row = world.a_running()
        odd, plain = read("link/../in.txt"), read("in.txt")
        desk = world.desk(row)
        await desk.take_turn(a_turn(plain, odd))
        verdicts = [call.verdict for call in world.calls(row.id)]
        assert verdicts == [Verdict.DENY, Verdict.DENY]
        answer = await desk.ask("Read", arguments_of(plain))
        assert answer.allowed is False

    play(tmp_path, scene)


# --- hook, callback, handler ----------------------------------------------------------------------------------------------


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
    """B11, case 54: the id is data; within a turn and across turns each is queued under an id of our own."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(write("a.txt", id="same"), write("b.txt", id="same")))
        first = world.approvals(row.id)
        assert len({one.id for one in first}) == 2
        for one in first:
            await world.deny(one)
        await desk.take_turn(a_turn(write("a.txt", "other", id="same")))
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


# --- strays ---------------------------------------------------------------------------------------------------------------


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


# --- what the container reports ---------------------------------------------------------------------------------------------


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


# --- limits and staleness ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "says"),
    [(Limits(turns=2), "the limit of 2 turns"), (Limits(budget_tokens=30), "the budget of 30 tokens")],
)
def test_no_request_goes_out_over_a_limit(tmp_path: Path, limits: Limits, says: str) -> None:
    async def scene(world: World) -> None:
        desk = world.desk(world.a_running())
        for _ in range(2):
            await desk.open_request()
            await desk.take_turn(a_turn(read("in.txt")))
        with pytest.raises(GatewayError, match=says):
            await desk.open_request()
        assert (desk.doomed.is_set(), says in desk.doom) == (True, True)

    play(tmp_path, scene, limits=limits)


def test_the_limit_of_calls_counts_the_whole_run_and_stores_nothing_beyond_it(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row, calls=2)
        await desk.take_turn(a_turn(read("in.txt")))
        with pytest.raises(GatewayError, match="the limit of 4 calls"):
            await desk.take_turn(a_turn(read("in.txt"), write("a.txt")))
        assert len(world.calls(row.id)) == 1
        assert desk.doomed.is_set()

    play(tmp_path, scene, limits=Limits(calls=4))


def test_an_attempt_that_is_no_longer_the_runs_own_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    """Engine.md: gateway and approvals refuse a stale attempt."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = write("a.txt")
        await desk.take_turn(a_turn(call))
        with world.store.begin() as conn:
            runs.move(conn, row.id, RunEvent.PARK, now=world.now)
            runs.move(conn, row.id, RunEvent.RESUME, now=world.now, to_segment=1)
        before = (world.calls(row.id), world.approvals(row.id))
        with pytest.raises(GatewayError, match="no longer the run's own"):
            await desk.take_turn(a_turn(write("b.txt")))
        with pytest.raises(GatewayError, match="no longer the run's own"):
            await desk.open_request()
        await desk.mirror(['{"type":"user"}'])
        assert (world.calls(row.id), world.approvals(row.id)) == before
        with world.store.reading() as conn:
            assert transcript.read(conn, row.id) == ()

    play(tmp_path, scene)


def test_a_desk_that_is_closed_takes_no_further_turn(tmp_path: Path) -> None:
    """What a dying container still asks is nobody's question."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        desk.close()
        for asked in (desk.open_request(), desk.take_turn(a_turn(read("in.txt")))):
            with pytest.raises(GatewayError, match="this attempt is over"):
                await asked
        assert world.calls(row.id) == ()
        assert not desk.doomed.is_set()

    play(tmp_path, scene)


# --- the mirror -------------------------------------------------------------------------------------------------------------


def test_the_desk_knows_when_the_mirror_has_caught_up_with_the_turn(tmp_path: Path) -> None:
    """Design.md §8: the mirror's lines come about 0.1 s after the hook."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        assert desk.mirrored.is_set()
        first, second = write("a.txt"), write("b.txt")
        await desk.take_turn(a_turn(first, second))
        assert not desk.mirrored.is_set()
        await desk.mirror(['{"type":"user"}', f'{{"id": "{first.id}"}}'])
        assert not desk.mirrored.is_set()
        await desk.mirror([f'{{"id": "{second.id}"}}'])
        assert desk.mirrored.is_set()
        with world.store.reading() as conn:
            lines = transcript.read(conn, row.id)
        assert [(line.n, Attempt(row.id, line.segment, line.attempt)) for line in lines] == [
            (n, Attempt(row.id, 0, 0)) for n in (1, 2, 3)
        ]

    play(tmp_path, scene)
