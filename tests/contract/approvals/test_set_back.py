"""A host clock that was set back while no supervisor ran: what was asked for in its former future ends (L2)."""

from __future__ import annotations

from runner.approvals import CLOCK_SLACK, deny, expire_due
from runner.lifecycle import ApprovalState
from runner.store import Store
from tests.helpers.stored import ANNA, NOW, an_approval

YEAR = 365 * 86400.0


def test_what_was_asked_for_in_a_future_that_is_undone_ends_with_the_restart(store: Store) -> None:
    """Else its deadline would have moved away by as much as the clock was set back."""
    with store.begin() as conn:
        waiting = an_approval(conn)
        assert expire_due(conn, NOW - YEAR) == ()
        (ended,) = expire_due(conn, NOW - YEAR, set_back=True)
    assert (ended.id, ended.state, ended.outcome_error) == (waiting.id, ApprovalState.EXPIRED, True)
    assert "set back" in str(ended.decision_reason)


def test_a_clock_that_is_a_little_behind_ends_nothing(store: Store) -> None:
    """Several hosts never quite agree; the clock that a supervisor starts with makes up for less than a day."""
    with store.begin() as conn:
        an_approval(conn)
        assert expire_due(conn, NOW - CLOCK_SLACK + 1, set_back=True) == ()


def test_an_ended_call_does_not_end_again(store: Store) -> None:
    with store.begin() as conn:
        denied = an_approval(conn)
        deny(conn, denied.id, who=ANNA, now=NOW)
        assert expire_due(conn, NOW - YEAR, set_back=True) == ()
