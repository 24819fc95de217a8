"""Invariant 4: `started` is written before the effect, by one only; B8, B9: what was begun is never begun again."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from runner.approvals import begin_effect, deliver, finish_effect
from runner.errors import AlreadyDecidedError
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.store import ApprovalRow, Store, approvals, calls
from tests.helpers.stored import ANNA, NOW, an_approval, approved


def begun(store: Store) -> ApprovalRow:
    with store.begin() as conn:
        row = begin_effect(conn, approved(conn).id, now=NOW + 1)
    assert row is not None
    return row


def test_beginning_writes_the_intent_and_gives_the_row_once(store: Store) -> None:
    with store.begin() as conn:
        before = approved(conn)
        row = begin_effect(conn, before.id, now=NOW + 1)
        assert row == replace(before, state=ApprovalState.EXECUTING, effect="started", version=3)
        assert begin_effect(conn, before.id, now=NOW + 2) is None
        assert approvals.get(conn, before.id) == row


def test_nothing_begins_before_a_person_has_said_yes(store: Store) -> None:
    with store.begin() as conn:
        row = an_approval(conn)
        assert begin_effect(conn, row.id, now=NOW) is None
        assert approvals.get(conn, row.id) == row


def test_nothing_begins_after_the_deadline(store: Store) -> None:
    """Invariant 3, B5."""
    with store.begin() as conn:
        row = approved(conn)
        assert begin_effect(conn, row.id, now=row.expires) is None
        now = approvals.get(conn, row.id)
        assert (now.state, now.effect, now.decided_by) == (ApprovalState.STALE, None, ANNA)


def test_nothing_begins_when_the_stored_bytes_are_not_those_approved(store: Store) -> None:
    """B5: swapped by somebody with the database in hand and the triggers off."""
    with store.begin() as conn:
        row = approved(conn)
        where = " ON approvals" if conn.dialect.name == "postgresql" else ""
        conn.execute(text(f"DROP TRIGGER runner_approvals_bound{where}"))
        conn.execute(text("UPDATE approvals SET raw = replace(raw, 'out.txt', 'key.txt')"))
        assert begin_effect(conn, row.id, now=NOW) is None
        assert approvals.get(conn, row.id).state is ApprovalState.STALE


@pytest.mark.parametrize(
    ("event", "state", "effect"),
    [
        (ApprovalEvent.SUCCEED, ApprovalState.DONE, "done"),
        (ApprovalEvent.FAIL, ApprovalState.FAILED, "failed"),
        (ApprovalEvent.DOUBT, ApprovalState.UNKNOWN, "unknown"),
    ],
)
def test_an_outcome_is_recorded_once(store: Store, event: ApprovalEvent, state: ApprovalState, effect: str) -> None:
    row = begun(store)
    with store.begin() as conn:
        now = finish_effect(conn, row.id, event=event, outcome="x\0", now=NOW + 2)
        error = event is not ApprovalEvent.SUCCEED
        assert now == replace(row, state=state, effect=effect, outcome="x\ufffd", outcome_error=error, version=4)
        with pytest.raises(AlreadyDecidedError):
            finish_effect(conn, row.id, event=ApprovalEvent.SUCCEED, outcome="again", now=NOW + 3)
        assert approvals.get(conn, row.id) == now
        assert begin_effect(conn, row.id, now=NOW + 3) is None


def test_what_is_proven_not_to_have_happened_is_released_again(store: Store) -> None:
    """B9."""
    row = begun(store)
    with store.begin() as conn:
        now = finish_effect(conn, row.id, event=ApprovalEvent.NOT_HAPPENED, outcome="ignored", now=NOW + 2)
        assert (now.state, now.effect, now.outcome, now.outcome_error) == (ApprovalState.APPROVED, None, None, False)
        assert deliver(conn, row.id, now=NOW + 3) is None
        again = begin_effect(conn, row.id, now=NOW + 4)
        assert again is not None
        assert again.effect == "started"


def test_an_effect_that_may_have_happened_is_told_to_nobody_until_it_is_settled(store: Store) -> None:
    row = begun(store)
    with store.begin() as conn:
        finish_effect(conn, row.id, event=ApprovalEvent.DOUBT, outcome="", now=NOW + 2)
        assert deliver(conn, row.id, now=NOW + 3) is None
        assert calls.get(conn, row.call).outcome is None


def test_an_outcome_is_told_once_and_is_the_calls_outcome(store: Store) -> None:
    """Invariant 13."""
    row = begun(store)
    with store.begin() as conn:
        assert deliver(conn, row.id, now=NOW + 1) is None
        finish_effect(conn, row.id, event=ApprovalEvent.SUCCEED, outcome="wrote it", now=NOW + 2)
        assert deliver(conn, row.id, now=NOW + 3) == "wrote it"
        told = approvals.get(conn, row.id)
        assert deliver(conn, row.id, now=NOW + 4) is None
        assert approvals.get(conn, row.id) == told
        assert told.delivered_at == NOW + 3
        call = calls.get(conn, row.call)
        assert (call.outcome, call.outcome_error) == ("wrote it", False)
