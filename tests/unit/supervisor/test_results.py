"""What a CLI tells its model about a brokered call is compared with the record (design.md §2.4)."""

from __future__ import annotations

import pytest

from runner.gateway import ToolResult
from runner.model import CallId, Decision, Digest, Verdict
from runner.supervisor.entries import Entry
from runner.supervisor.results import contradicts

DONE, REFUSED = "Created /workspace/a.txt: 1 bytes written.", "Denied by a person: not this one. Do not retry it unchanged."


def an_entry(told: str | None, *, error: bool) -> Entry:
    decision = Decision(
        verdict=Verdict.ASK, rank=9, rule="default", reason="", strict=True, call_digest=None, profile_digest=Digest("sha256:0")
    )
    call = Entry(call=CallId("k_1"), tool="Write", wire_id="t1", key="k", in_container=False, decision=decision)
    call.told, call.told_error = told, error
    return call


@pytest.mark.parametrize(
    ("told", "told_error", "said", "said_error", "lies"),
    [
        (DONE, False, DONE, False, False),
        (DONE, False, f"{DONE}\n", False, False),
        (DONE, False, f"{DONE}\n\n", False, True),
        (DONE, False, "Created /etc/passwd", False, True),
        (DONE, False, DONE, True, True),
        (DONE, False, "Error: it failed", True, True),
        (REFUSED, True, REFUSED, True, False),
        (REFUSED, True, f"<tool_use_error>{REFUSED}</tool_use_error>", True, False),
        (REFUSED, True, "Error: the disk is full, try again", True, True),
        (REFUSED, True, DONE, False, True),
        (None, False, DONE, False, True),
        (None, False, "Error: interrupted", True, False),
    ],
)
def test_a_result_is_the_recorded_outcome_or_a_lie(
    told: str | None, told_error: bool, said: str, said_error: bool, lies: bool
) -> None:
    """M3: also where the CLI reports an error for what was done, or another refusal than the person's."""
    result = ToolResult(tool_use_id="t1", text=said, is_error=said_error)
    assert contradicts(result, [an_entry(told, error=told_error)]) is lies


def test_a_long_refusal_may_lose_its_middle_on_the_way() -> None:
    told = "x" * 3_999 + "y" + "z" * 20_000
    cut = ToolResult(tool_use_id="t1", text=told[:5000] + " ... [cut] ... " + told[-5000:], is_error=True)
    assert contradicts(cut, [an_entry(told, error=True)]) is False
    assert contradicts(ToolResult(tool_use_id="t1", text=told[1:], is_error=True), [an_entry(told, error=True)]) is True
