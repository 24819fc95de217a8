"""B9: what nobody knows is settled by a person, once; the agent is told, and the audit says who said so."""

import json

import pytest

from runner.approvals import begin_effect, deliver, finish_effect, settle
from runner.errors import AlreadyDecidedError, UsageError
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.store import ApprovalRow, Connection, Store, approvals, audit, calls
from tests.helpers.stored import ANNA, BEN, NOW, an_approval, approved


def unknown(conn: Connection) -> ApprovalRow:
    row = approved(conn)
    begin_effect(conn, row.id, now=NOW + 1)
    return finish_effect(conn, row.id, event=ApprovalEvent.DOUBT, outcome="nobody knows", now=NOW + 2)


@pytest.mark.parametrize(
    ("happened", "state", "told"),
    [
        (True, ApprovalState.DONE, "Done. The supervisor was interrupted; a person looked and found it done."),
        (
            False,
            ApprovalState.FAILED,
            "Failed: this call was approved and tried, but did not succeed: the supervisor was interrupted, and a person "
            "looked and found that it was not done.",
        ),
    ],
)
def test_a_person_settles_what_nobody_knows_and_the_agent_is_told(
    store: Store, happened: bool, state: ApprovalState, told: str
) -> None:
    with store.begin() as conn:
        before = unknown(conn)
        row = settle(conn, before.id, happened=happened, who=BEN, reason=f"see {before.id}", now=NOW + 3)
        assert (row.state, row.outcome_error, row.decided_by, row.decided_at) == (state, not happened, ANNA, NOW)
        text = f'{told} The reason given: "see [id]".'
        assert deliver(conn, row.id, now=NOW + 4) == text
        call = calls.get(conn, row.call)
        assert (call.outcome, call.outcome_error) == (text, not happened)


def test_the_audit_names_who_settled_apart_from_who_approved(store: Store) -> None:
    with store.begin() as conn:
        row = unknown(conn)
        settle(conn, row.id, happened=True, who=BEN, now=NOW + 3)
        by = {event.event: json.loads(event.data).get("by") for event in audit.of_subject(conn, row.id)}
    assert by["approval.approve"] == {"uid": 1000, "channel": "cli", "name": "anna"}
    assert by["approval.settle_happened"] == {"uid": 1001, "channel": "web", "name": None}


def test_what_is_known_cannot_be_settled(store: Store) -> None:
    """L1 for settling: the first word stands."""
    with store.begin() as conn:
        waiting, allowed, open_ = an_approval(conn), approved(conn), unknown(conn)
        settled = settle(conn, open_.id, happened=False, who=BEN, now=NOW + 3)
        for row, error in ((waiting, UsageError), (allowed, UsageError), (settled, AlreadyDecidedError)):
            with pytest.raises(error):
                settle(conn, row.id, happened=True, who=ANNA, now=NOW + 4)
            assert approvals.get(conn, row.id) == row
