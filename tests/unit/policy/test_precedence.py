"""The nine ranks, one case per row and per neighbour, and proof that the order matters."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import pytest

from runner.model import Verdict
from runner.policy.precedence import TABLE, Facts, Row, first_match

QUIET = Facts(
    blocked=False,
    device_step=False,
    saved_allow=False,
    saved_ask=False,
    escalated=False,
    manual=True,
    covered=False,
)

#: Facts → rank and rule. The comment names what the row is told apart from.
ROWS = [
    ({"blocked": True}, 1, "blocked", Verdict.DENY),
    ({"blocked": True, "device_step": True}, 1, "blocked", Verdict.DENY),
    ({"blocked": True, "saved_allow": True, "covered": True}, 1, "blocked", Verdict.DENY),
    ({"device_step": True}, 2, "device_step", Verdict.ALLOW),
    ({"device_step": True, "saved_allow": True, "escalated": True}, 2, "device_step", Verdict.ALLOW),
    ({"saved_allow": True, "escalated": True}, 3, "escalation", Verdict.ASK),
    ({"saved_allow": True}, 4, "saved_allow", Verdict.ALLOW),
    ({"saved_allow": True, "saved_ask": True}, 4, "saved_allow", Verdict.ALLOW),
    ({"saved_ask": True}, 5, "saved_ask", Verdict.ASK),
    ({"saved_ask": True, "covered": True}, 5, "saved_ask", Verdict.ASK),
    ({"saved_ask": True, "escalated": True}, 5, "saved_ask", Verdict.ASK),
    ({"covered": True}, 6, "covered_in_manual", Verdict.ALLOW),
    ({}, 7, "not_covered", Verdict.ASK),
    ({"escalated": True}, 7, "not_covered", Verdict.ASK),
    ({"covered": True, "escalated": True}, 8, "escalation", Verdict.ASK),
    ({"covered": True, "escalated": True, "manual": False}, 8, "escalation", Verdict.ASK),
    ({"covered": True, "manual": False}, 9, "all_covered", Verdict.ALLOW),
]


@pytest.mark.parametrize(("facts", "rank", "rule", "verdict"), ROWS)
def test_each_row_answers_what_the_table_says(facts: dict[str, bool], rank: int, rule: str, verdict: Verdict) -> None:
    """R94-R102, P1, P2, P3."""
    row = first_match(replace(QUIET, **facts))

    assert row is not None
    assert (row.rank, row.rule, row.verdict) == (rank, rule, verdict)


def test_only_an_escalation_refuses_by_itself_where_nobody_answers() -> None:
    """R93, R96, R101, P3; another ask is settled outside the table."""
    assert {(row.rank, row.unattended) for row in TABLE if row.unattended is not row.verdict} == {
        (3, Verdict.DENY),
        (8, Verdict.DENY),
    }


def test_the_ranks_are_one_to_nine_in_order() -> None:
    assert [row.rank for row in TABLE] == list(range(1, 10))


def test_every_row_can_be_the_first_match() -> None:
    assert {row.rank for facts in every_facts() if (row := first_match(facts)) is not None} == set(range(1, 10))


def test_only_a_tool_that_no_default_covers_in_a_run_where_all_are_covered_meets_silence() -> None:
    """That cannot be: an uncovered tool puts the run in manual mode. The table still has no answer for it, so it is refused."""
    silent = [facts for facts in every_facts() if first_match(facts) is None]

    assert all(not facts.manual and not facts.covered for facts in silent)


@pytest.mark.parametrize("upper", range(8))
def test_swapping_two_neighbours_changes_an_answer_or_they_never_meet(upper: int) -> None:
    """P2: the order of the table is load-bearing wherever two neighbours can both match."""
    swapped = list(TABLE)
    swapped[upper], swapped[upper + 1] = swapped[upper + 1], swapped[upper]

    meet = any(TABLE[upper].matches(facts) and TABLE[upper + 1].matches(facts) for facts in every_facts())

    assert meet == any(rank(first_match(facts)) != rank(first_match(facts, tuple(swapped))) for facts in every_facts())


def test_the_neighbours_that_never_meet_are_these() -> None:
    """6 and 7 differ in `covered`, 6 needs no escalation and 8 one; every other pair of neighbours overlaps."""
    apart = [
        (upper.rank, lower.rank)
        for upper, lower in pairwise(TABLE)
        if not any(upper.matches(facts) and lower.matches(facts) for facts in every_facts())
    ]

    assert apart == [(6, 7)]


def test_dropping_a_row_changes_an_answer() -> None:
    for gone in TABLE:
        rest = tuple(row for row in TABLE if row is not gone)
        assert any(rank(first_match(facts)) != rank(first_match(facts, rest)) for facts in every_facts()), gone.rank


def every_facts() -> list[Facts]:
    """All 128 combinations."""
    names = list(Facts.__dataclass_fields__)
    return [Facts(**dict(zip(names, values, strict=True))) for values in product((False, True), repeat=len(names))]


def rank(row: Row | None) -> int:
    """Rank, 0 for silence."""
    return 0 if row is None else row.rank
