"""Every call of the real CLI comes to the gate, reads included, and each of the two gates stops it alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import HookMatcher

from runner.agent import Answer, Outcome, SessionEnd
from runner.agent import session as session_module
from tests.helpers.agent_gate import RecordingGate
from tests.helpers.agent_harness import AgentHarness, Talk, text, use

pytestmark = pytest.mark.docker

NO = Answer(allowed=False, reason="refused: not today")
READS = (
    use("Read", file_path="in.txt"),
    use("Glob", pattern="*"),
    use("Grep", pattern="INSIDE", output_mode="content"),
)
WRITE = use("mcp__runner__Write", file_path="o.txt", content="x")


@pytest.fixture(autouse=True)
def _a_file(agent: AgentHarness) -> None:
    (agent.snapshot / "in.txt").write_text("INSIDE-DATA\n")


def without_ask_settings(line: tuple[str, ...]) -> tuple[str, ...]:
    at = line.index("--settings")
    return (*line[:at], *line[at + 2 :])


def without_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "hooks", lambda _gate: {})


def ended_well(talk: Talk) -> bool:
    return isinstance(talk.end, SessionEnd) and not talk.end.is_error and talk.end.said == "bye"


def test_every_call_comes_to_hook_and_callback_and_its_result_to_the_model(agent: AgentHarness) -> None:
    """Cases 66, 67, R43: can_use_tool alone saw none of the three reads."""
    gate = RecordingGate(handler=Outcome(text="Created /workspace/o.txt", is_error=False))
    talk = agent.talk([*READS, WRITE], [text("bye")], gate=gate)
    assert ended_well(talk), talk.end
    assert sorted(name for door, name, _ in gate.asked if door == "ask") == ["Glob", "Grep", "Read", "mcp__runner__Write"]
    assert sorted(name for door, name, _ in gate.asked if door == "confirm") == ["Glob", "Grep", "Read", "mcp__runner__Write"]
    assert [asked for asked in gate.asked if asked[0] == "outcome"] == [("outcome", "mcp__runner__Write", WRITE["input"])]
    told = "".join(talk.results())
    assert ("INSIDE-DATA" in told, "in.txt" in told, "Created /workspace/o.txt" in told) == (True, True, True)
    assert (talk.gateway.failure, talk.gateway.refusals) == (None, ())


def test_a_read_path_arrives_collapsed_and_a_search_path_as_it_was_written(agent: AgentHarness) -> None:
    """sdk.md §3, cases 2 and 3: what the gate's judgement of paths is built on."""
    gate = RecordingGate(hook=NO)
    calls = [
        use("Read", file_path="a/../in.txt"),
        use("Read", file_path="~/x"),
        use("Read", file_path="$HOME/x"),
        use("Grep", pattern="x", path=".."),
        use("Glob", pattern="/etc/*"),
    ]
    agent.talk(calls, [text("bye")], gate=gate)
    assert sorted((name, json.dumps(arguments, sort_keys=True)) for _, name, arguments in gate.asked) == [
        ("Glob", '{"pattern": "/etc/*"}'),
        ("Grep", '{"path": "..", "pattern": "x"}'),
        ("Read", '{"file_path": "/home/agent/x"}'),
        ("Read", '{"file_path": "/workspace/$HOME/x"}'),
        ("Read", '{"file_path": "/workspace/in.txt"}'),
    ]


@pytest.mark.parametrize("door", ["hook", "callback"])
def test_each_gate_stops_a_call_while_the_other_says_yes(agent: AgentHarness, door: str) -> None:
    """P11: neither can allow alone."""
    gate = RecordingGate(**{door: NO})
    talk = agent.talk([*READS, WRITE], [text("bye")], gate=gate)
    assert ended_well(talk), talk.end
    assert [door for door, _, _ in gate.asked if door == "outcome"] == []
    told = talk.results()
    assert len(told) == 4
    assert all("refused: not today" in result for result in told)
    assert "INSIDE-DATA" not in json.dumps(talk.requests)


def test_without_the_hook_every_call_still_comes_to_the_callback(agent: AgentHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """sdk.md §2A: the ask-everything settings alone."""
    without_hook(monkeypatch)
    gate = RecordingGate(callback=NO)
    talk = agent.talk([*READS, WRITE], [text("bye")], gate=gate)
    assert ended_well(talk), talk.end
    assert sorted((door, name) for door, name, _ in gate.asked) == [
        ("confirm", name) for name in ("Glob", "Grep", "Read", "mcp__runner__Write")
    ]
    assert "INSIDE-DATA" not in json.dumps(talk.requests)


def test_without_the_ask_settings_every_call_still_comes_to_the_hook(agent: AgentHarness) -> None:
    """sdk.md §2B: the hook alone."""
    gate = RecordingGate(hook=NO)
    talk = agent.talk([*READS, WRITE], [text("bye")], gate=gate, start=without_ask_settings)
    assert ended_well(talk), talk.end
    assert sorted((door, name) for door, name, _ in gate.asked) == [
        ("ask", name) for name in ("Glob", "Grep", "Read", "mcp__runner__Write")
    ]
    assert "INSIDE-DATA" not in json.dumps(talk.requests)


def test_without_either_a_read_comes_to_nobody(agent: AgentHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 66: why there are two. Were this to change, the two tests above would prove less than they seem to."""
    without_hook(monkeypatch)
    gate = RecordingGate(callback=NO)
    talk = agent.talk([READS[0]], [text("bye")], gate=gate, start=without_ask_settings)
    assert gate.asked == []
    assert "INSIDE-DATA" in talk.results()[0]


@pytest.mark.parametrize("fault", [ValueError("x"), None, "deny"], ids=["raises", "nothing", "a word"])
def test_a_gate_that_fails_runs_nothing(agent: AgentHarness, fault: Any) -> None:
    """P10, case 78."""
    talk = agent.talk([READS[0]], [text("bye")], gate=RecordingGate(hook=fault))
    assert ended_well(talk), talk.end
    assert "INSIDE-DATA" not in json.dumps(talk.requests)


@pytest.mark.parametrize("fault", ["raises", "none", "Deny", "unnamed"])
def test_a_hook_that_fails_beneath_the_gate_blocks_because_it_says_so(
    agent: AgentHarness, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """sdk.md §2B: all four failed open without `on_failure="block"`. The callback would say yes here."""
    answers: dict[str, Any] = {
        "none": None,
        "Deny": {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "Deny"}},
        "unnamed": {"hookSpecificOutput": {"permissionDecision": "deny"}},
    }

    async def broken(*_: Any) -> Any:
        if fault == "raises":
            raise ValueError(fault)
        return answers[fault]

    blocking = [HookMatcher(matcher=None, hooks=[broken], on_failure="block")]
    monkeypatch.setattr(session_module, "hooks", lambda _gate: {"PreToolUse": blocking})
    talk = agent.talk([READS[0]], [text("bye")], gate=RecordingGate(), start=without_ask_settings)
    assert ended_well(talk), talk.end
    assert len(talk.asked("hook_callback")) == 1
    assert "INSIDE-DATA" not in json.dumps(talk.requests)


def test_the_line_that_says_how_it_started_is_what_the_profile_asks(agent: AgentHarness) -> None:
    """sdk.md §2C, case 70."""
    talk = agent.talk([text("bye")])
    assert ended_well(talk), talk.end
    assert talk.init["tools"] == ["Glob", "Grep", "Read", "mcp__runner__Edit", "mcp__runner__Write"]
    assert (talk.init["permissionMode"], talk.init["slash_commands"], talk.init["skills"]) == ("default", [], [])
    assert {tool["name"] for tool in _tools(talk)} == set(talk.init["tools"])


def test_what_is_answered_is_mirrored_before_the_end(agent: AgentHarness) -> None:
    talk = agent.talk([READS[0]], [text("bye")])
    assert ended_well(talk), talk.end
    whole = "".join(talk.mirrored)
    assert ("INSIDE-DATA" in whole, '"bye"' in whole, len(talk.mirrored) > 5) == (True, True, True)


def _tools(talk: Talk) -> list[Any]:
    tools: Any = talk.requests[0]["tools"]
    return list(tools)


def test_nothing_is_left_in_the_snapshot(agent: AgentHarness, tmp_path: Path) -> None:
    agent.talk([WRITE], [text("bye")])
    assert [path.name for path in agent.snapshot.iterdir()] == ["in.txt"]
