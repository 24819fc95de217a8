"""P12: every ending has its own words, says what kind of no it is, stays within its bound and names no approval."""

from dataclasses import replace

import pytest

from runner.approvals import OUTCOME_BYTES, bounded, is_error, outcome_text
from runner.lifecycle import APPROVAL_ENDS, ApprovalState
from runner.model import OWNER, ApprovalId, CallId, Digest, RunId
from runner.store import ApprovalRow
from scripts.make_diagrams import endings

ROW = ApprovalRow(
    id=ApprovalId("a_7k2m9xq4c1wz8v3t"),
    call=CallId("k_1"),
    run=RunId("r_1"),
    segment=0,
    attempt=0,
    turn=1,
    agent="scribe",
    tool="Write",
    profile_digest=Digest("sha256:1"),
    definition_digest=Digest("sha256:2"),
    why="ask",
    reason="a person decides.",
    call_digest=Digest("sha256:3"),
    approval_digest=Digest("sha256:4"),
    nonce="n",
    raw="{}",
    sender=OWNER,
    created=1.0,
    expires=2.0,
)
NOES = sorted((APPROVAL_ENDS | {ApprovalState.UNKNOWN}) - {ApprovalState.DONE}, key=lambda state: state.value)


def ended(state: ApprovalState, **changes: object) -> ApprovalRow:
    return replace(ROW, state=state, **changes)  # type: ignore[arg-type]


def test_done_is_told_in_the_brokers_own_words() -> None:
    row = ended(ApprovalState.DONE, outcome="wrote 1 byte to out.txt")
    assert (outcome_text(row), is_error(row)) == ("wrote 1 byte to out.txt", False)
    assert outcome_text(ended(ApprovalState.DONE)) == "Done."


@pytest.mark.parametrize("state", NOES)
def test_each_no_has_its_own_words_and_is_an_error(state: ApprovalState) -> None:
    text = outcome_text(ended(state))
    kind = {"no_channel": "denied"}.get(state.value, state.value)
    assert text.lower().startswith(f"{kind}:")
    assert is_error(ended(state))
    assert len({outcome_text(ended(other)) for other in NOES}) == len(NOES)


@pytest.mark.parametrize("state", NOES)
def test_each_no_says_what_to_do_instead_of_asking_again(state: ApprovalState) -> None:
    text = outcome_text(ended(state, outcome="the file is gone"))
    assert "Do not retry it unchanged." in text or "ask anew" in text or state is ApprovalState.FAILED


@pytest.mark.parametrize("state", [ApprovalState.PENDING, ApprovalState.APPROVED, ApprovalState.EXECUTING])
def test_what_has_not_ended_has_no_outcome(state: ApprovalState) -> None:
    with pytest.raises(ValueError, match="has no outcome"):
        outcome_text(ended(state))


def test_a_reason_is_quoted_and_its_braces_mean_nothing() -> None:
    text = outcome_text(ended(ApprovalState.DENIED, decision_reason=' use {} or {0} "drafts" '))
    assert 'The reason given: "use {} or {0} "drafts"".' in text
    assert "reason given" not in outcome_text(ended(ApprovalState.DENIED, decision_reason=" "))


@pytest.mark.parametrize("state", sorted(APPROVAL_ENDS, key=lambda state: state.value))
def test_no_approval_id_is_ever_told(state: ApprovalState) -> None:
    """B12, invariant 7: not even where a person or an effect wrote one."""
    row = ended(state, outcome=f"see {ROW.id}", decision_reason=f"like {ROW.id}, A_7K2M9XQ4C1WZ8V3T and a_222222 before")
    text = outcome_text(row).lower()
    assert "a_7k2m9x" not in text
    assert "a_222222" not in text


def test_an_outcome_is_cut_at_its_bound_and_says_so() -> None:
    exact = "x" * OUTCOME_BYTES
    assert bounded(exact) == exact
    cut = bounded(exact + "y")
    assert len(cut.encode()) == OUTCOME_BYTES
    assert cut.endswith(f"x\n[cut off: {OUTCOME_BYTES + 1} bytes in all]")


@pytest.mark.parametrize("symbol", ["ä", "€", "😀"])
def test_a_cut_leaves_no_half_symbol(symbol: str) -> None:
    for shift in range(4):
        cut = bounded("x" * shift + symbol * OUTCOME_BYTES)
        assert len(cut.encode()) <= OUTCOME_BYTES
        assert set(cut.split("\n")[0]) <= {"x", symbol}


def test_a_failure_with_its_introduction_stays_within_the_bound() -> None:
    assert len(outcome_text(ended(ApprovalState.FAILED, outcome="é" * OUTCOME_BYTES)).encode()) <= OUTCOME_BYTES


def test_an_outcome_holds_nothing_a_database_or_the_wire_would_refuse() -> None:
    assert bounded("a\0b\ud800c") == "a\ufffdb?c"


@pytest.mark.parametrize("state", [state for state in NOES if state is not ApprovalState.UNKNOWN])
def test_the_page_about_approvals_says_what_the_agent_is_told(state: ApprovalState) -> None:
    """Issue 5: docs/approvals.md."""
    told = outcome_text(ended(state, decision_reason="…", outcome="…" if state is ApprovalState.FAILED else None))
    assert f"| {state.value} | {told} |" in endings().splitlines()
