"""The desk takes a turn: decided, stored and queued whole before the CLI sees any of it; limits, staleness, the mirror."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.agent import Answer, Outcome
from runner.errors import GatewayError
from runner.gateway import Handover, ToolResult
from runner.lifecycle import RunEvent
from runner.model import Attempt, Limits, Usage, Verdict
from runner.store import runs, transcript
from runner.supervisor.quota import MAX_UNFINISHED
from tests.unit.supervisor.world import (
    EDIT,
    WRITE,
    RunState,
    World,
    a_turn,
    arguments_of,
    play,
    read,
    use,
    write,
)

REFUSED = Outcome(text="refused: no approved call fits this one; nothing was done", is_error=True)
STRAY = Answer(allowed=False, reason="refused: the model made no such call; do not retry it")


def test_a_whole_turn_is_on_record_before_the_cli_sees_any_of_it(tmp_path: Path) -> None:
    """Invariant 2, design.md §3.5: decided, stored and queued together, then handed over."""
    turn = a_turn(read("in.txt"), write("a.txt"), use("Bash", command="ls"), read("../secret"), write("b.txt"))

    async def scene(world: World) -> None:
        row = world.a_running()
        handed = await world.desk(row).take_turn(turn)
        names = ["Read", WRITE, "undeclared__Bash", "Read", WRITE]
        assert handed == tuple(
            Handover(name=name, raw=one.raw, id=one.id) for name, one in zip(names, turn.tool_uses, strict=True)
        )
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
        assert handed == (Handover(name=WRITE, raw="{}", id=twice.id),)
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


def test_no_request_goes_out_over_the_limit_of_turns(tmp_path: Path) -> None:
    says = "the limit of 2 turns"

    async def scene(world: World) -> None:
        desk = world.desk(world.a_running())
        for _ in range(2):
            await desk.open_request()
            await desk.take_turn(a_turn(read("in.txt")))
        with pytest.raises(GatewayError, match=says):
            await desk.open_request()
        assert (desk.doomed.is_set(), says in desk.doom) == (True, True)

    play(tmp_path, scene, limits=Limits(turns=2))


def test_the_limit_of_calls_counts_the_whole_run_and_stores_nothing_beyond_it(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row, wire_ids={"one", "two"})
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


def test_a_desk_that_is_closed_takes_no_ones_word_on_the_call_that_waits(tmp_path: Path) -> None:
    """A CLI whose input ends says that the read which waits for a person failed; its record is what the person decides."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = read("in.txt")
        await desk.take_turn(a_turn(call))
        desk.close()
        with pytest.raises(GatewayError, match="this attempt is over"):
            await desk.check_results((ToolResult(tool_use_id=call.id, text="interrupted", is_error=True),))
        assert [one.outcome for one in world.calls(row.id)] == [None]

    play(tmp_path, scene)


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


def test_requests_that_are_begun_and_never_heard_to_their_end_are_counted_too(tmp_path: Path) -> None:
    """M11: turns alone would let a client that hangs up ask for ever. A turn between them does not set the count back."""
    says = f"{MAX_UNFINISHED} requests to the model were begun"

    async def scene(world: World) -> None:
        desk = world.desk(world.a_running())
        for number in range(MAX_UNFINISHED):
            await desk.open_request()
            if number == 7:
                await desk.open_request()
                await desk.take_turn(a_turn(read("in.txt")))
        with pytest.raises(GatewayError, match=says):
            await desk.open_request()
        assert (desk.doomed.is_set(), says in desk.doom) == (True, True)

    play(tmp_path, scene)


def test_counts_are_as_many_as_calls_may_be_and_are_no_requests_begun(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        desk = world.desk(world.a_running())
        for _ in range(MAX_UNFINISHED + 3):
            await desk.open_count()
        await desk.open_request()
        with pytest.raises(GatewayError, match="tokens counted 23 times"):
            await desk.open_count()
        assert desk.doomed.is_set()

    play(tmp_path, scene, limits=Limits(calls=3))


def test_a_call_is_noted_once_however_often_the_cli_tells_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """M6: every request tells all results of the last turn, and a hostile one tells each many times: one transaction, once."""
    written = 0

    async def scene(world: World) -> None:
        nonlocal written
        row = world.a_running()
        desk = world.desk(row)
        calls = [read("in.txt"), read("in.txt")]
        await desk.take_turn(a_turn(*calls))
        call, told = world.store.call, [ToolResult(tool_use_id=one.id, text="x", is_error=False) for one in calls]

        async def counted(work: object, *arguments: object, **more: object) -> object:
            nonlocal written
            written += 1
            return await call(work, *arguments, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(world.store, "call", counted)
        for one in calls:
            assert (await desk.ask("Read", arguments_of(one))).allowed
            assert (await desk.confirm("Read", arguments_of(one))).allowed
        before = written
        await desk.check_results(told * 50)
        await desk.check_results((*told, ToolResult(tool_use_id=calls[0].id, text="", is_error=True)))
        assert [(one.outcome, one.outcome_error) for one in world.calls(row.id)] == [("ran in the container", False)] * 2
        written -= before

    play(tmp_path, scene)
    assert written == 1
