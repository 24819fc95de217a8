"""What a CLI tells its model about a brokered call is compared with the record (design.md §2.4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.gateway import ToolResult
from runner.model import CallId, Decision, Digest, Verdict
from runner.supervisor.entries import Entry, Phase
from runner.supervisor.results import contradicts, may_have_run, twins
from runner.transcript import NOT_RUN

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


def a_read(verdict: Verdict, *, phase: Phase = Phase.DECIDED, told: str | None = None, key: str | None = "k") -> Entry:
    entry = an_entry(told, error=told is not None)
    decision = replace(entry.decision, verdict=verdict)
    return replace(entry, tool="Read", in_container=True, decision=decision, phase=phase, key=key)


@pytest.mark.parametrize(
    ("entry", "may"),
    [
        (a_read(Verdict.ALLOW), True),
        (a_read(Verdict.ALLOW, phase=Phase.CLOSED), True),
        (a_read(Verdict.ALLOW, phase=Phase.CLOSED, told=NOT_RUN), True),
        (a_read(Verdict.ALLOW, phase=Phase.CLOSED, told="Refused: blocked meanwhile"), False),
        (a_read(Verdict.ASK), False),
        (a_read(Verdict.ASK, phase=Phase.ASKED), False),
        (a_read(Verdict.ASK, phase=Phase.CONFIRMED), False),
        (a_read(Verdict.ASK, phase=Phase.CLOSED), True),
        (a_read(Verdict.ASK, phase=Phase.CLOSED, told=REFUSED), False),
        (a_read(Verdict.DENY), False),
        (a_read(Verdict.DENY, phase=Phase.CLOSED, told=REFUSED), False),
    ],
)
def test_a_call_of_the_containers_own_ran_only_where_it_was_let_run(entry: Entry, may: bool) -> None:
    """Design.md §2.4: for reads the allow is checked."""
    assert may_have_run(entry) is may


def test_of_calls_in_the_same_words_any_may_be_the_one_that_was_let_run() -> None:
    """The gate tells them apart by nothing else; a call that has no words is like no other."""
    one, same, other, wordless = (a_read(Verdict.ASK, key=key) for key in ("k", "k", "l", None))
    turn = [one, same, other, wordless]
    assert [twins([entry], turn) for entry in (one, other, wordless)] == [[one, same], [other], [wordless]]
