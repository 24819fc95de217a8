"""K4: what a status or a list says about ten thousand rows is counted by the database, and a list is cut off where asked."""

from runner.approvals import deny, listing
from runner.lifecycle import ApprovalState, RunEvent, RunState
from runner.store import Store, approvals, runs
from runner.supervisor import queries
from tests.helpers.stored import ANNA, NOW, a_run, an_approval

WAITS = {ApprovalState.PENDING}


def test_nothing_is_counted_where_nothing_is(store: Store) -> None:
    with store.begin() as conn:
        assert (runs.counts(conn), approvals.count(conn, states=WAITS)) == ({}, 0)


def test_runs_are_counted_by_state_and_approvals_by_run_and_state(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn).id
        for _ in range(3):
            an_approval(conn, run)
        other = an_approval(conn)
        deny(conn, other.id, who=ANNA, now=NOW)
        runs.move(conn, run, RunEvent.CLAIM, now=NOW)
        assert runs.counts(conn) == {RunState.STARTING: 1, RunState.QUEUED: 1}
        assert (approvals.count(conn, states=WAITS), approvals.count(conn, run=run, states=WAITS)) == (3, 3)
        assert approvals.count(conn, run=other.run, states=WAITS) == 0
        assert approvals.count(conn, states=set(ApprovalState)) == 4
        assert queries.counts(conn) == ({"starting": 1, "queued": 1}, 3, None)


def test_a_list_is_cut_off_at_its_limit_and_knows_how_long_it_would_be(store: Store) -> None:
    """D4: the snapshot names what was on the list and nothing past its end."""
    with store.begin() as conn:
        one, two, three = (an_approval(conn) for _ in range(3))
        found, total = queries.listing(conn, None, WAITS, limit=2)
        assert (found.rows, total) == ((one, two), 3)
        assert found.snapshot != listing(conn, states=WAITS).snapshot
        deny(conn, three.id, who=ANNA, now=NOW)
        assert queries.listing(conn, None, WAITS, limit=2) == (found, 2)
        assert queries.listing(conn, one.run, WAITS) == (listing(conn, run=one.run), 1)
