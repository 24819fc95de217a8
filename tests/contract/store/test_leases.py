"""Whose the database is: one supervisor's at a time (M8)."""

from __future__ import annotations

import json

from runner.store import Store, audit, leases
from runner.store.leases import Lease
from tests.helpers.stored import NOW

MINE = Lease(owner="mine", boot="1", until=NOW + 60)
OTHER = Lease(owner="other", boot="2", until=NOW + 60)


def test_a_lease_is_one_state_directorys_until_it_runs_out_or_is_given_back(store: Store) -> None:
    """M8: taken by whoever comes first, by the same directory's next process, and by another after its time."""
    with store.begin() as conn:
        assert leases.current(conn) is None
        assert leases.take(conn, MINE, now=NOW) is not None
        assert leases.take(conn, OTHER, now=NOW + 59) is None
        assert leases.current(conn) == MINE
        assert leases.take(conn, MINE._replace(boot="3"), now=NOW) == MINE
        assert leases.take(conn, OTHER, now=NOW + 60) is not None
        assert leases.current(conn) == OTHER
        leases.release(conn, OTHER, now=NOW + 61)
        assert leases.take(conn, MINE, now=NOW + 61) is not None
        taken = [json.loads(row.data)["owner"] for row in audit.after(conn, 0, 100) if row.event == "lease.take"]
        assert taken == ["mine", "mine", "other", "mine"]


def test_only_the_process_that_took_it_renews_it(store: Store) -> None:
    """M8: who finds another in its place changes nothing."""
    with store.begin() as conn:
        leases.take(conn, MINE, now=NOW)
        assert leases.renew(conn, MINE._replace(until=NOW + 90))
        assert not leases.renew(conn, MINE._replace(boot="2", until=NOW + 99))
        assert not leases.renew(conn, OTHER)
        assert leases.current(conn) == MINE._replace(until=NOW + 90)
