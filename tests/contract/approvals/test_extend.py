"""More time for a call that waits: by somebody, bounded, on record, never for what is over (L4)."""

from __future__ import annotations

import json

import pytest

from runner.approvals import approve, expire_due, extend
from runner.errors import AlreadyDecidedError, ApprovalExpiredError, UsageError
from runner.lifecycle import ApprovalState
from runner.store import ApprovalRow, Store, approvals, audit
from tests.helpers.stored import ANNA, BEN, NOW, an_approval, approved

HOUR = 3600.0  #: how long a builder's approval waits


def pending(store: Store) -> ApprovalRow:
    with store.begin() as conn:
        return an_approval(conn)


def test_a_deadline_moves_and_who_moved_it_is_on_record(store: Store) -> None:
    row = pending(store)
    with store.begin() as conn:
        now = extend(conn, row.id, seconds=60, longest=2 * HOUR, who=BEN, now=NOW)
        assert (now.expires, now.version, now.state, now.approval_digest) == (
            NOW + HOUR + 60,
            row.version + 1,
            ApprovalState.PENDING,
            row.approval_digest,
        )
        (*_, link) = audit.of_subject(conn, row.id)
        assert (link.event, json.loads(link.data)) == (
            "approval.extend",
            {"before": NOW + HOUR, "expires": NOW + HOUR + 60, "by": {"uid": 1001, "channel": "web", "name": None}},
        )
    with store.begin() as conn:
        assert expire_due(conn, NOW + HOUR) == ()
        assert approve(conn, row.id, digest=row.approval_digest, who=ANNA, now=NOW + HOUR + 1).state is ApprovalState.APPROVED


@pytest.mark.parametrize("seconds", [0, -1, HOUR + 0.5, float("inf"), float("nan")])
def test_the_profile_bounds_it(seconds: float, store: Store) -> None:
    row = pending(store)
    with pytest.raises(UsageError), store.begin() as conn:
        extend(conn, row.id, seconds=seconds, longest=2 * HOUR, who=ANNA, now=NOW)
    with store.reading() as conn:
        assert approvals.get(conn, row.id) == row
    with store.begin() as conn:
        assert extend(conn, row.id, seconds=HOUR, longest=2 * HOUR, who=ANNA, now=NOW).expires == NOW + 2 * HOUR


def test_what_does_not_wait_any_more_gets_no_time(store: Store) -> None:
    """L1, L2: neither the decided nor, a moment too late, the expired."""
    with store.begin() as conn:
        decided = approved(conn)
    with pytest.raises(AlreadyDecidedError), store.begin() as conn:
        extend(conn, decided.id, seconds=1, longest=2 * HOUR, who=ANNA, now=NOW)
    late = pending(store)
    with pytest.raises(ApprovalExpiredError), store.begin() as conn:
        extend(conn, late.id, seconds=HOUR, longest=9 * HOUR, who=ANNA, now=NOW + HOUR)
    with store.reading() as conn:
        assert approvals.get(conn, late.id).state is ApprovalState.EXPIRED
