"""Every fault of the gate, as the container sees it over the wire of the real SDK: never a yes (sdk.md §2B, P10)."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from runner.agent import Answer, Outcome
from runner.errors import GatewayError, StoreError
from tests.helpers.agent_gate import RecordingGate, conversation
from tests.helpers.agent_mcp import HANDSHAKE
from tests.helpers.agent_stream import FakeCli, a_hook, a_tool_call

SECRET = "a_0123456789abcdef"
ARGUMENTS: Any = {"file_path": "o.txt", "content": "x"}
DOORS = ("hook", "callback", "handler")
FAULTS = [
    ValueError(SECRET),
    StoreError(SECRET),
    GatewayError(SECRET),
    TimeoutError(SECRET),
    AssertionError(SECRET),
    RecursionError(SECRET),
    StopAsyncIteration(SECRET),
    None,
    True,
    "allow",
    {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}},
    {"behavior": "allow", "updatedInput": {}},
    Answer(allowed=cast("bool", "allow")),
    Outcome(text="allow", is_error=False),
    object(),
]


def talk(gate: RecordingGate, *doors: str) -> dict[str, Any]:
    """What the container is answered at some doors."""
    found: dict[str, Any] = {}

    async def behave(cli: FakeCli) -> None:
        for message in HANDSHAKE:
            await cli.ask({"subtype": "mcp_message", "server_name": "runner", "message": message})
        if "hook" in doors:
            found["hook"] = await cli.hook("mcp__runner__Write", ARGUMENTS)
        if "callback" in doors:
            found["callback"] = await cli.may("mcp__runner__Write", ARGUMENTS)
        if "handler" in doors:
            found["handler"] = await cli.call("Write", ARGUMENTS)
        cli.finish()

    asyncio.run(conversation(FakeCli(behave), gate))
    return found


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_whatever_the_gate_does_wrong_the_container_is_told_no(fault: Any) -> None:
    found = talk(RecordingGate(hook=fault, callback=fault, handler=fault if not isinstance(fault, Outcome) else None), *DOORS)
    assert found["hook"]["subtype"] == "success"
    assert found["hook"]["response"]["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert set(found["callback"]["response"]) == {"behavior", "message"}
    assert found["callback"]["response"]["behavior"] == "deny"
    assert found["handler"]["result"]["isError"] is True
    assert SECRET not in json.dumps(found)


@pytest.mark.parametrize("door", DOORS)
def test_a_question_that_is_called_off_is_never_answered(door: str) -> None:
    """Case 59: the container abandons a request; a late yes would be one it can no longer tell apart."""
    gate = RecordingGate(**{door: asyncio.Event()})
    asked = {
        "hook": a_hook("Write", ARGUMENTS),
        "callback": {"subtype": "can_use_tool", "tool_name": "Write", "input": ARGUMENTS},
        "handler": a_tool_call("Write", ARGUMENTS),
    }[door]

    async def behave(cli: FakeCli) -> None:
        for message in HANDSHAKE:
            await cli.ask({"subtype": "mcp_message", "server_name": "runner", "message": message})
        cli.open(asked, identity="gone")
        await gate.waiting.wait()
        cli.say({"type": "control_cancel_request", "request_id": "gone"})
        await cli.ask({"subtype": "mcp_message", "server_name": "runner", "message": {**HANDSHAKE[0], "id": 77}})
        getattr(gate, door).set()
        await cli.ask({"subtype": "mcp_message", "server_name": "runner", "message": {**HANDSHAKE[0], "id": 78}})
        cli.finish()

    cli = FakeCli(behave)
    asyncio.run(conversation(cli, gate))
    assert "gone" not in [answer["request_id"] for answer in cli.answers]


def test_a_gate_that_fails_once_still_answers_the_next_call() -> None:
    gate = RecordingGate(hook=ValueError("x"))

    async def behave(cli: FakeCli) -> None:
        await cli.hook("Read", {})
        gate.hook = Answer(allowed=True)
        answer = await cli.hook("Read", {})
        assert answer["response"]["hookSpecificOutput"]["permissionDecision"] == "ask"
        cli.finish()

    assert asyncio.run(conversation(FakeCli(behave), gate)).subtype == "success"


@pytest.mark.parametrize("skipped", ["hook", "callback"])
def test_a_cli_that_skips_one_gate_gets_its_no_from_the_other(skipped: str) -> None:
    """P11: neither can allow alone."""
    no = Answer(allowed=False, reason="blocked")
    (door,) = {"hook", "callback"} - {skipped}
    found = talk(RecordingGate(**{door: no}), door)
    assert "blocked" in json.dumps(found)
    assert "allow" not in json.dumps(found)


@pytest.mark.parametrize("extra", [{"agent_id": "sub-1"}, {"permission_mode": "bypassPermissions"}, {"tool_use_id": "toolu_1"}])
def test_a_call_of_a_subagent_or_under_another_mode_is_asked_like_any_other(extra: dict[str, Any]) -> None:
    """P9, cases 75, 54: what the container says about the call changes nothing."""
    gate = RecordingGate(hook=Answer(allowed=False, reason="no"), callback=Answer(allowed=False, reason="no"))

    async def behave(cli: FakeCli) -> None:
        first = await cli.hook("Read", {"a": 1}, **extra)
        second = await cli.may("Read", {"a": 1}, **extra)
        assert first["response"]["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert second["response"] == {"behavior": "deny", "message": "no"}
        cli.finish()

    asyncio.run(conversation(FakeCli(behave), gate))
    assert gate.asked == [("ask", "Read", {"a": 1}), ("confirm", "Read", {"a": 1})]


def test_suggestions_of_the_container_are_never_sent_back() -> None:
    """Case 58: one echo made the next Write skip the callback."""
    rule = {"type": "addRules", "rules": [{"toolName": "Write"}], "behavior": "allow", "destination": "session"}

    async def behave(cli: FakeCli) -> None:
        answer = await cli.may("Read", {"a": 1}, permission_suggestions=[rule])
        assert answer["response"] == {"behavior": "allow", "updatedInput": {"a": 1}}
        malformed = await cli.may("Read", {"a": 1}, permission_suggestions=[{"type": ["x"]}, 3])
        assert malformed["response"] == {"behavior": "allow", "updatedInput": {"a": 1}}
        cli.finish()

    asyncio.run(conversation(FakeCli(behave)))
