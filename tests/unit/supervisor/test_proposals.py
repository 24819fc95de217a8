"""What the CLI is handed for a call it could not pass on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runner.gateway import Handover, ToolUse
from runner.model import GrantId, Verdict
from runner.policy import PolicyContext, call_key
from runner.policy.guard import MAX_INPUT_BYTES
from runner.supervisor.proposals import Proposal, as_strict_as_its_twins, propose
from tests.helpers.builders import a_profile
from tests.helpers.views import TreeView

WRITE = "mcp__runner__Write"
HEAD, TAIL = '{"file_path":"a.txt","content":"', '"}'


def proposed(name: str, raw: str, folder: Path) -> Proposal:
    return propose(ToolUse(id="t", name=name, raw=raw), a_profile(), PolicyContext(view=TreeView({})), cwd=folder)


def test_an_input_at_the_bound_is_handed_over_as_it_is(tmp_path: Path) -> None:
    raw = HEAD + "x" * (MAX_INPUT_BYTES - len(HEAD) - len(TAIL)) + TAIL
    one = proposed(WRITE, raw, tmp_path)
    assert (one.decision.verdict, one.handover()) == (Verdict.ASK, Handover(name=WRITE, raw=raw))


@pytest.mark.parametrize(
    "raw",
    [
        HEAD + "x" * MAX_INPUT_BYTES + TAIL,
        HEAD + "é" * (MAX_INPUT_BYTES // 2) + TAIL,
        '{"file_path":"a.txt","file_path":"b.txt","content":"x"}',
        '{"file_path":"a.txt"',
        "[]",
        "",
    ],
)
@pytest.mark.parametrize("name", [WRITE, "Read"])
def test_what_is_too_large_or_malformed_is_denied_and_handed_over_as_nothing(tmp_path: Path, name: str, raw: str) -> None:
    """Case 87: refused as one call; and the hook for that nothing finds the call with its own reason."""
    one = proposed(name, raw, tmp_path)
    assert (one.decision.verdict, one.handover(), one.plan) == (Verdict.DENY, Handover(name=name, raw="{}"), None)
    assert one.key == call_key(one.call.tool, {})


def test_an_undeclared_tool_of_any_size_gets_a_name_no_cli_has(tmp_path: Path) -> None:
    one = proposed("Bash", '{"command":"' + "x" * MAX_INPUT_BYTES + TAIL, tmp_path)
    assert one.handover() == Handover(name="undeclared__Bash", raw="{}")


def test_a_call_whose_twin_has_to_be_asked_about_is_asked_about_with_its_plan(tmp_path: Path) -> None:
    """Of two calls that the CLI asks for in the same words a grant may cover one; both wait, and both can be carried out."""
    one = proposed(WRITE, '{"file_path":"a.txt","content":"x"}', tmp_path)
    granted = replace(one, decision=replace(one.decision, verdict=Verdict.ALLOW, rule="grant", grant=GrantId("g_0")))
    judged = as_strict_as_its_twins(granted, [granted, one])
    assert (judged.decision.verdict, judged.decision.rule, judged.grant) == (Verdict.ASK, one.decision.rule, None)
    assert judged.plan == one.plan is not None
    denied = replace(one, decision=replace(one.decision, verdict=Verdict.DENY))
    assert as_strict_as_its_twins(granted, [granted, denied]).plan is None


@pytest.mark.parametrize("name", ["Write", "Edit", "mcp__runner__Read", "mcp__other__Write", "write"])
def test_a_name_that_only_looks_like_an_offered_tool_is_undeclared(tmp_path: Path, name: str) -> None:
    """R44, C11: the profile's Write is offered as `mcp__runner__Write` and nothing else; no plan, no queue."""
    one = proposed(name, HEAD + TAIL, tmp_path)
    assert (one.decision.verdict, one.decision.rule, one.plan) == (Verdict.DENY, "not_declared", None)
    assert one.handover().name == f"undeclared__{name}"
