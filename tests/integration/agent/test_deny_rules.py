"""A deny rule of the CLI's own settings holds whatever both gates say (case 81)."""

from __future__ import annotations

import json

import pytest

from runner.agent.options import ASK_EVERYTHING
from tests.helpers.agent_gate import RecordingGate
from tests.helpers.agent_harness import AgentHarness, text, use

pytestmark = pytest.mark.docker


def with_a_deny_rule(line: tuple[str, ...]) -> tuple[str, ...]:
    at = line.index("--settings") + 1
    rules = {"permissions": {**ASK_EVERYTHING["permissions"], "deny": ["Read(//workspace/kept.txt)"]}}
    return (*line[:at], json.dumps(rules), *line[at + 1 :])


def test_a_yes_of_both_gates_does_not_override_a_deny_rule(agent: AgentHarness) -> None:
    """Case 81: a hook's `ask` once did; the file beside it is read, so it is the rule that stops this one."""
    for name in ("kept.txt", "in.txt"):
        (agent.snapshot / name).write_text(f"INSIDE-{name}\n")
    calls = [use("Read", file_path="kept.txt"), use("Read", file_path="in.txt")]

    talk = agent.talk(calls, [text("bye")], gate=RecordingGate(), start=with_a_deny_rule)

    told = json.dumps(talk.requests)
    assert ("INSIDE-in.txt" in told, "INSIDE-kept.txt" in told) == (True, False)
