"""Invariants 3, 4, 9: random decisions, effects, deadlines and run ends in any order, against a model of two variables."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.approvals import (
    OUTCOME_BYTES,
    approve,
    begin_effect,
    bounded,
    deliver,
    deny,
    end_for_run,
    expire_due,
    finish_effect,
)
from runner.errors import ApprovalError
from runner.lifecycle import APPROVAL, APPROVAL_ENDS, ApprovalEvent, ApprovalState
from runner.store import ApprovalRow, Connection, Store, approvals, audit, calls
from runner.store.triggers import EFFECT
from tests.helpers.stored import ANNA, BEN, NOW, an_approval, opened


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("walks") / "runner.db") as store:
        yield store


@settings(max_examples=150, deadline=None)
@given(walk=st.lists(st.sampled_from(ApprovalEvent), max_size=25))
def test_an_approval_walks_along_its_table_only(store: Store, walk: list[ApprovalEvent]) -> None:
    with store.begin() as conn:
        row = an_approval(conn)
        for event in walk:
            links = len(audit.of_subject(conn, row.id))
            moved = approvals.move(conn, row.id, event, now=NOW)
            target = APPROVAL.get((row.state, event))
            if target is not None:
                row = replace(row, state=target, effect=EFFECT.get(target), version=row.version + 1)
            assert moved == (row if target is not None else None)
            assert approvals.get(conn, row.id) == row
            assert len(audit.of_subject(conn, row.id)) == links + (moved is not None)


STEPS = st.sampled_from(
    ["approve", "deny", "expire", "begin", "succeed", "fail", "doubt", "not_happened", "cancel", "supersede", "deliver"]
)


def step(conn: Connection, row: ApprovalRow, what: str, now: float) -> object:
    doors: dict[str, Callable[[], object]] = {
        "approve": lambda: approve(conn, row.id, digest=row.approval_digest, who=ANNA, reason="r", now=now),
        "deny": lambda: deny(conn, row.id, who=BEN, reason="r", now=now),
        "expire": lambda: expire_due(conn, now),
        "begin": lambda: begin_effect(conn, row.id, now=now),
        "deliver": lambda: deliver(conn, row.id, now=now),
        "cancel": lambda: end_for_run(conn, row.run, event=ApprovalEvent.CANCEL, reason="ended", now=now),
        "supersede": lambda: end_for_run(conn, row.run, event=ApprovalEvent.SUPERSEDE, reason="ended", now=now),
    }
    if what in doors:
        return doors[what]()
    return finish_effect(conn, row.id, event=ApprovalEvent(what), outcome="o", now=now)


@settings(max_examples=150, deadline=None)
@given(walk=st.lists(st.tuples(STEPS, st.booleans()), max_size=20))
def test_whatever_the_order_an_effect_needs_a_yes_and_an_outcome_is_told_once(
    store: Store, walk: list[tuple[str, bool]]
) -> None:
    yes = told = 0
    begun = released = 0
    with store.begin() as conn:
        row = an_approval(conn)
        for what, late in walk:
            before = approvals.get(conn, row.id)
            try:
                result = step(conn, row, what, row.expires if late else NOW)
            except ApprovalError:
                assert approvals.get(conn, row.id) == before
                continue
            yes += what == "approve"
            begun += what == "begin" and result is not None
            released += what == "not_happened"
            told += what == "deliver" and result is not None
        after = approvals.get(conn, row.id)
        outcome = calls.get(conn, row.call).outcome
    assert begun <= yes + released
    assert begun - released in (0, 1)
    assert yes <= 1
    assert told <= 1
    assert (outcome is not None) == (after.state in APPROVAL_ENDS)
    assert (after.delivered_at is not None) == (told == 1)
    if after.state in (ApprovalState.EXECUTING, ApprovalState.DONE, ApprovalState.FAILED, ApprovalState.UNKNOWN):
        assert after.decided_by == ANNA


@given(text=st.text(alphabet=st.characters(), max_size=40), times=st.integers(1, 2000))
def test_an_outcome_is_bounded_storable_and_settled_by_one_pass(text: str, times: int) -> None:
    short = bounded(text * times)
    assert len(short.encode()) <= OUTCOME_BYTES
    assert "\0" not in short
    assert bounded(short) == short
