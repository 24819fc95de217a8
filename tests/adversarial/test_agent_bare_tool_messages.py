"""A container that speaks past the gate: bare, forged, repeated and half-finished tool messages (case 108, invariant 13).

The real SDK and transport over a real desk and database: nothing but a refusal or the recorded outcome ever comes back, the
outcome once, and no row is moved by anything the container says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from runner.agent import SessionEnd
from runner.errors import AgentProtocolError
from runner.lifecycle import ApprovalState
from runner.model import JsonObject
from tests.helpers.agent_gate import conversation
from tests.helpers.agent_mcp import HANDSHAKE
from tests.helpers.agent_stream import FakeCli, a_hook, a_tool_call
from tests.helpers.desk import AtDesk, at_desk

WRITE = "mcp__runner__Write"
ARGUMENTS: Any = {"file_path": "o.txt", "content": "x"}
OUTCOME = "Created /workspace/o.txt: 1 bytes written."
Behaviour = Callable[[FakeCli, AtDesk], Awaitable[None]]


def talked(folder: Path, behave: Behaviour, *, mirror: bool = False) -> SessionEnd:
    """A conversation with a desk whose model has asked for one Write."""

    async def main() -> SessionEnd:
        with at_desk(folder) as at:

            async def go(cli: FakeCli) -> None:
                for message in HANDSHAKE:
                    await cli.ask(a_message(message))
                await at.turn(at.use(WRITE, **ARGUMENTS))
                await behave(cli, at)
                cli.finish()

            return await conversation(FakeCli(go, profile=at.profile), at.desk, profile=at.profile)

    return asyncio.run(main())


def a_message(message: JsonObject) -> JsonObject:
    return {"subtype": "mcp_message", "server_name": "runner", "message": message}


def text(answer: Any) -> str:
    """The first text of a tool's result."""
    return str(answer["result"]["content"][0]["text"])


def is_refusal(answer: Any) -> bool:
    return "error" in answer or answer["result"]["isError"] is True


async def approved(cli: FakeCli, at: AtDesk) -> None:
    """The call is asked about, approved, carried out and confirmed: what is left is to tell its outcome."""
    hook, _ = cli.open(a_hook(WRITE, ARGUMENTS)), None
    (row,) = await at.queue()
    await at.carry_out(row, OUTCOME)
    assert (await hook[1])["response"]["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert (await cli.may(WRITE, ARGUMENTS))["response"]["behavior"] == "allow"


def test_a_bare_message_before_anything_is_decided_is_refused_and_moves_nothing(tmp_path: Path) -> None:
    async def behave(cli: FakeCli, at: AtDesk) -> None:
        before = await at.queue()
        for _ in range(3):
            assert text(await cli.call("Write", ARGUMENTS)).startswith("refused: ")
        assert await at.queue() == before
        assert [row.state for row in before] == [ApprovalState.PENDING]

    assert talked(tmp_path, behave).subtype == "success"


def test_a_bare_message_without_hook_and_callback_gets_nothing_though_the_call_is_done(tmp_path: Path) -> None:
    async def behave(cli: FakeCli, at: AtDesk) -> None:
        (row,) = await at.queue()
        await at.carry_out(row, OUTCOME)
        assert text(await cli.call("Write", ARGUMENTS)).startswith("refused: ")
        (row,) = await at.queue()
        assert row.state is ApprovalState.DONE
        assert row.delivered_at is None

    talked(tmp_path, behave)


@pytest.mark.parametrize(
    "forged",
    [
        {"file_path": "o.txt", "content": "y"},
        {"file_path": "p.txt", "content": "x"},
        {"file_path": "../o.txt", "content": "x"},
        {"content": "x", "file_path": "/etc/cron.d/x"},
    ],
)
def test_forged_arguments_get_no_outcome_and_the_right_ones_still_do(tmp_path: Path, forged: Any) -> None:
    """Case 51: what is told belongs to the very call that was approved."""

    async def behave(cli: FakeCli, at: AtDesk) -> None:
        await approved(cli, at)
        assert text(await cli.call("Write", forged)).startswith("refused: ")
        assert text(await cli.call("Edit", {"file_path": "o.txt", "old_string": "x", "new_string": "y"})).startswith(
            "refused: "
        )
        assert text(await cli.call("Write", ARGUMENTS)) == OUTCOME

    talked(tmp_path, behave)


def test_the_same_message_ten_times_gets_the_outcome_once(tmp_path: Path) -> None:
    """Case 53: one delivery, whatever is repeated, in turn or at once."""

    async def behave(cli: FakeCli, at: AtDesk) -> None:
        await approved(cli, at)
        answers = await asyncio.gather(*(cli.call("Write", ARGUMENTS, identity=10 + n) for n in range(5)))
        answers += [await cli.call("Write", ARGUMENTS, identity=20 + n) for n in range(5)]
        assert sorted(text(answer) == OUTCOME for answer in answers) == [False] * 9 + [True]
        assert all(text(answer) == OUTCOME or is_refusal(answer) for answer in answers)

    talked(tmp_path, behave)


def test_one_rpc_id_for_two_messages_at_once_tells_the_outcome_once(tmp_path: Path) -> None:
    async def behave(cli: FakeCli, at: AtDesk) -> None:
        await approved(cli, at)
        both = await asyncio.gather(*(cli.call("Write", ARGUMENTS, identity=5) for _ in range(2)))
        assert sum("result" in answer and text(answer) == OUTCOME for answer in both) == 1

    talked(tmp_path, behave)


def test_a_message_called_off_in_the_middle_tells_nothing_twice(tmp_path: Path) -> None:
    """An outcome may get lost to the container by its own cancelling; it stays on record and is not told again."""

    async def behave(cli: FakeCli, at: AtDesk) -> None:
        await approved(cli, at)
        _, first = cli.open(a_tool_call("Write", ARGUMENTS, identity=5))
        cancel: JsonObject = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
        await cli.ask(a_message(cancel))
        answer: Any = (await first)["response"]["mcp_response"]
        again = await cli.call("Write", ARGUMENTS, identity=6)
        told = [found for found in (answer, again) if "result" in found and text(found) == OUTCOME]
        assert len(told) <= 1
        (row,) = await at.queue()
        assert (row.state, row.outcome) == (ApprovalState.DONE, OUTCOME)

    talked(tmp_path, behave)


def test_a_control_cancel_in_the_middle_tells_nothing_twice(tmp_path: Path) -> None:
    async def behave(cli: FakeCli, at: AtDesk) -> None:
        await approved(cli, at)
        cli.open(a_tool_call("Write", ARGUMENTS, identity=5), identity="gone")
        cli.say({"type": "control_cancel_request", "request_id": "gone"})
        answers = [await cli.call("Write", ARGUMENTS, identity=6 + n) for n in range(2)]
        sent = [answer for answer in cli.answers if OUTCOME in str(answer)]
        assert len(sent) <= 1
        assert all(text(answer) == OUTCOME or is_refusal(answer) for answer in answers)

    talked(tmp_path, behave)


def test_an_end_of_output_in_the_middle_leaves_the_record_as_it_is(tmp_path: Path) -> None:
    """The container is gone after the effect and before its outcome: told to nobody or once, done once."""

    async def behave(cli: FakeCli, at: AtDesk) -> None:
        await approved(cli, at)
        cli.open(a_tool_call("Write", ARGUMENTS))
        cli.end(0)
        await asyncio.Event().wait()

    async def main() -> None:
        with at_desk(tmp_path) as at:

            async def go(cli: FakeCli) -> None:
                for message in HANDSHAKE:
                    await cli.ask(a_message(message))
                await at.turn(at.use(WRITE, **ARGUMENTS))
                await behave(cli, at)

            cli = FakeCli(go, profile=at.profile)
            end = await conversation(cli, at.desk, profile=at.profile)
            (row,) = await at.queue()
            assert (end.subtype, row.state, row.outcome) == ("eof", ApprovalState.DONE, OUTCOME)
            assert len([answer for answer in cli.answers if OUTCOME in str(answer)]) <= 1

    asyncio.run(main())


def test_an_early_result_ends_the_conversation_and_decides_nothing(tmp_path: Path) -> None:
    """A success line while a call waits is the container's word; the row still waits for a person."""

    async def main() -> None:
        with at_desk(tmp_path) as at:

            async def go(cli: FakeCli) -> None:
                await at.turn(at.use(WRITE, **ARGUMENTS))
                cli.open(a_hook(WRITE, ARGUMENTS), identity="hook")
                cli.finish()

            cli = FakeCli(go, profile=at.profile)
            end = await conversation(cli, at.desk, profile=at.profile)
            (row,) = await at.queue()
            assert (end.subtype, row.state, cli.answers) == ("success", ApprovalState.PENDING, [])

    asyncio.run(main())


def test_calls_the_model_never_made_are_refused_recorded_and_doom_the_attempt(tmp_path: Path) -> None:
    """B11: known by a key over tool and exact input; ids from the wire are data."""

    async def behave(cli: FakeCli, at: AtDesk) -> None:
        for n in range(25):
            asked = await cli.hook(WRITE, {"file_path": f"{n}.txt", "content": "x"}, tool_use_id="toolu_0")
            assert asked["response"]["hookSpecificOutput"]["permissionDecision"] == "deny"
        may = await cli.may("Bash", {"command": "id"})
        assert may["response"]["behavior"] == "deny"
        assert at.desk.doomed.is_set()
        assert len([row for row in await at.calls() if row.rule == "unasked"]) <= 21
        assert [row.state for row in await at.queue()] == [ApprovalState.PENDING]

    talked(tmp_path, behave)


def test_nothing_is_served_before_the_handshake_and_to_another_server(tmp_path: Path) -> None:
    async def main() -> None:
        with at_desk(tmp_path) as at:

            async def go(cli: FakeCli) -> None:
                await at.turn(at.use(WRITE, **ARGUMENTS))
                assert is_refusal(await cli.call("Write", ARGUMENTS))
                other = await cli.ask({**a_tool_call("Write", ARGUMENTS), "server_name": "github"})
                assert "error" in other["response"]["mcp_response"]
                cli.finish()

            await conversation(FakeCli(go, profile=at.profile), at.desk, profile=at.profile)

    asyncio.run(main())


@pytest.mark.parametrize(
    "message", [None, [], "tools/call", 3, {}, {"method": []}, {"id": [1], "jsonrpc": "2.0", "method": "x"}]
)
def test_a_message_that_is_none_is_answered_with_no_outcome_and_the_next_one_is_served(tmp_path: Path, message: Any) -> None:
    async def behave(cli: FakeCli, at: AtDesk) -> None:
        odd = await cli.ask(a_message(message))
        assert odd["subtype"] == "error" or "content" not in odd["response"]["mcp_response"].get("result", {})
        await approved(cli, at)
        assert text(await cli.call("Write", ARGUMENTS)) == OUTCOME

    talked(tmp_path, behave)


def test_a_denied_call_is_told_its_denial_and_no_message_gets_more(tmp_path: Path) -> None:
    async def behave(cli: FakeCli, at: AtDesk) -> None:
        _, hook = cli.open(a_hook(WRITE, ARGUMENTS))
        (row,) = await at.queue()
        await at.deny(row, "wrong folder")
        answer: Any = await hook
        said = answer["response"]["hookSpecificOutput"]
        assert said["permissionDecision"] == "deny"
        assert "wrong folder" in said["permissionDecisionReason"]
        assert (await cli.may(WRITE, ARGUMENTS))["response"]["behavior"] == "deny"
        assert text(await cli.call("Write", ARGUMENTS)).startswith("refused: ")
        assert row.id not in str(cli.answers)

    talked(tmp_path, behave)


def test_no_answer_ever_names_an_approval_or_a_host_path(tmp_path: Path) -> None:
    """Invariant 7."""

    async def behave(cli: FakeCli, at: AtDesk) -> None:
        await approved(cli, at)
        await cli.call("Write", ARGUMENTS)
        (row,) = await at.queue()
        for word in (row.id, row.approval_digest, row.nonce, str(tmp_path)):
            assert word not in str(cli.sent)

    talked(tmp_path, behave)


def test_an_id_that_is_in_use_ends_the_conversation_and_both_are_unanswered(tmp_path: Path) -> None:
    async def behave(cli: FakeCli, at: AtDesk) -> None:
        cli.open(a_hook(WRITE, ARGUMENTS), identity="same")
        cli.say({"type": "control_request", "request_id": "same", "request": a_tool_call("Write", ARGUMENTS)})
        await asyncio.Event().wait()

    with pytest.raises(AgentProtocolError, match="already in use"):
        talked(tmp_path, behave)
