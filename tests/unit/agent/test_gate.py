"""Hook, callback and handler: shapes of their answers, and what any fault becomes."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any, cast

import pytest
from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

from runner.agent import Answer, Outcome
from runner.agent.gate import HOOK_TIMEOUT, Callback, hooks, told
from runner.errors import StoreError
from runner.model import Json
from tests.helpers.agent_gate import YES, RecordingGate

FAULT = "refused: the supervisor could not decide about this call, and nothing was done; do not retry it"
SECRET = "a_0123456789abcdef in /var/lib/runner/state.db"
#: What a broken gate may say where an `Answer` is due; each must be a no.
JUNK = [None, True, 1, "allow", {"allowed": True}, [YES], object(), Answer, Outcome(text="yes", is_error=False)]


@dataclass
class Sly:
    """Looks like an answer."""

    allowed: bool = True
    reason: str = ""


def hook(gate: RecordingGate, data: Any) -> Any:
    ((matcher,),) = hooks(gate).values()
    (ask,) = matcher.hooks

    async def main() -> Any:
        return await ask(data, "toolu_1", {"signal": None})

    return asyncio.run(main())


def callback(gate: RecordingGate, name: Any, arguments: Any) -> PermissionResultAllow | PermissionResultDeny:
    context = ToolPermissionContext(suggestions=[cast("Any", {"type": "addRules"})])
    return asyncio.run(Callback(gate)(name, arguments, context))


def asked(decision: str, reason: str) -> dict[str, Json]:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    }


def a_call(name: Any = "Read", arguments: Any = None) -> dict[str, Any]:
    return {"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": {"a": 1} if arguments is None else arguments}


def test_there_is_one_matcher_for_all_tools_and_it_blocks_when_it_fails() -> None:
    """P10, cases 78, 79: `None` matches every tool, and the hold ends before the hook's own time does."""
    registered = hooks(RecordingGate())
    assert list(registered) == ["PreToolUse"]
    (matcher,) = registered["PreToolUse"]
    assert (matcher.matcher, matcher.on_failure, matcher.timeout, len(matcher.hooks)) == (None, "block", HOOK_TIMEOUT, 1)
    assert 86400 < HOOK_TIMEOUT < 2**31 / 1000


def test_a_yes_passes_on_to_the_callback_and_never_allows_by_itself() -> None:
    """Case 80: exact key names. A hook's `allow` would run a Write with no callback at all."""
    gate = RecordingGate()
    assert hook(gate, a_call()) == asked("ask", "decided")
    assert gate.asked == [("ask", "Read", {"a": 1})]


def test_a_no_is_a_denial_with_its_reason() -> None:
    """P12."""
    assert hook(RecordingGate(hook=Answer(allowed=False, reason="not today")), a_call()) == asked("deny", "not today")
    assert hook(RecordingGate(hook=Answer(allowed=False)), a_call()) == asked("deny", "denied")


@pytest.mark.parametrize(
    "data",
    [
        None,
        "Read",
        [],
        3,
        {},
        {"tool_name": "Read"},
        {"tool_input": {}},
        a_call(None),
        a_call(["Read"]),
        a_call(3),
        a_call("Read", []),
        a_call("Read", "{}"),
        a_call("Read", 0),
    ],
)
def test_a_malformed_call_is_denied_and_reaches_no_gate(data: Any) -> None:
    """Case 18, P10."""
    gate = RecordingGate()
    assert hook(gate, data) == asked("deny", "refused: the call is malformed")
    assert gate.asked == []


def test_the_callback_allows_without_a_word_about_input_or_permissions() -> None:
    """Cases 50, 58: both would be obeyed, outside the directory too."""
    gate = RecordingGate()
    assert callback(gate, "Read", {"a": 1}) == PermissionResultAllow(updated_input=None, updated_permissions=None)
    assert gate.asked == [("confirm", "Read", {"a": 1})]


def test_the_callback_denies_with_a_reason_and_does_not_interrupt() -> None:
    gate = RecordingGate(callback=Answer(allowed=False, reason="no"))
    assert callback(gate, "Read", {}) == PermissionResultDeny(message="no", interrupt=False)
    gate = RecordingGate(callback=Answer(allowed=False))
    assert callback(gate, "Read", {}) == PermissionResultDeny(message="denied", interrupt=False)


@pytest.mark.parametrize(("name", "arguments"), [(None, {}), ("Read", None), ("Read", [1]), (["Read"], {}), ("Read", "{}")])
def test_the_callback_denies_what_is_malformed(name: Any, arguments: Any) -> None:
    gate = RecordingGate()
    assert callback(gate, name, arguments) == PermissionResultDeny(message="refused: the call is malformed")
    assert gate.asked == []


@pytest.mark.parametrize("junk", [*JUNK, Sly(), Answer(allowed=cast("bool", "yes")), Answer(allowed=cast("bool", 1))])
def test_whatever_is_not_a_plain_yes_is_a_no(junk: Any) -> None:
    """P10."""
    gate = RecordingGate(hook=junk, callback=junk)
    assert hook(gate, a_call())["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert isinstance(callback(gate, "Read", {}), PermissionResultDeny)


def test_a_reason_that_is_no_text_is_replaced() -> None:
    odd = Answer(allowed=False, reason=cast("str", object()))
    assert hook(RecordingGate(hook=odd), a_call()) == asked("deny", "denied")


@pytest.mark.parametrize("error", [ValueError(SECRET), StoreError(SECRET), TimeoutError(SECRET), RecursionError(SECRET)])
def test_a_gate_that_fails_says_no_and_why_is_for_the_log_only(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """P10, invariant 7: an id or a path in an error's text must not reach the container."""
    gate = RecordingGate(hook=error, callback=error, handler=error)
    with caplog.at_level(logging.ERROR):
        assert hook(gate, a_call()) == asked("deny", FAULT)
        assert callback(gate, "Read", {}) == PermissionResultDeny(message=FAULT)
        assert asyncio.run(told(gate, "mcp__runner__Write", {})) == Outcome(text=FAULT, is_error=True)
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == [SECRET] * 3


@pytest.mark.parametrize("door", ["hook", "callback", "handler"])
def test_a_cancelled_question_is_given_up_and_answers_nothing(door: str) -> None:
    """Case 59: the gate's own clean-up runs."""

    async def main() -> int:
        gate = RecordingGate(**{door: asyncio.Event()})
        ((matcher,),) = hooks(gate).values()
        context = ToolPermissionContext()
        asking: Any = {
            "hook": lambda: matcher.hooks[0](cast("Any", a_call()), None, {"signal": None}),
            "callback": lambda: Callback(gate)("Read", {}, context),
            "handler": lambda: told(gate, "x", {}),
        }[door]()
        task = asyncio.ensure_future(asking)
        await gate.waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return gate.cancelled

    assert asyncio.run(main()) == 1


@pytest.mark.parametrize("junk", [None, "text", YES, Outcome(text=cast("str", None), is_error=False), {"text": "x"}])
def test_an_outcome_that_is_none_becomes_a_refusal(junk: Any) -> None:
    assert asyncio.run(told(RecordingGate(handler=junk), "x", {})) == Outcome(text=FAULT, is_error=True)


def test_an_outcome_is_told_as_it_is_recorded() -> None:
    for outcome in (Outcome(text="Created a.txt", is_error=False), Outcome(text="", is_error=True)):
        assert asyncio.run(told(RecordingGate(handler=outcome), "x", {})) == outcome
