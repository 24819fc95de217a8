"""Deciding: once, about exactly what was shown, in time; losers are told who was first and nothing changes for them."""

import pytest

from runner.approvals import approve, begin_effect, deliver, deny, end_for_run, expire_due, find, finish_effect, listing, stale
from runner.errors import AlreadyDecidedError, ApprovalExpiredError, DigestMismatchError, NotFoundError
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.model import ApprovalId, Digest
from runner.store import ApprovalRow, Store, approvals, audit, calls
from tests.helpers.stored import ANNA, BEN, NOW, a_request, a_run, an_approval, approved, queue

LATE = NOW + 3600


def row_of(store: Store, id: ApprovalId) -> ApprovalRow:
    with store.reading() as conn:
        return approvals.get(conn, id)


def history(store: Store, id: str) -> list[str]:
    with store.reading() as conn:
        return [link.event for link in audit.of_subject(conn, id)]


def pending(store: Store) -> ApprovalRow:
    with store.begin() as conn:
        return an_approval(conn)


def test_a_yes_records_who_when_and_why(store: Store) -> None:
    row = pending(store)
    with store.begin() as conn:
        now = approve(conn, row.id, digest=row.approval_digest, who=ANNA, reason="fine", now=NOW + 1)
    assert (now.state, now.decided_by, now.decided_at, now.decision_reason) == (ApprovalState.APPROVED, ANNA, NOW + 1, "fine")
    assert (now.effect, now.outcome, now.version) == (None, None, 2)
    assert row_of(store, row.id) == now
    assert history(store, row.id) == ["approval.request", "approval.approve"]


def test_a_no_gives_the_call_its_outcome_at_once(store: Store) -> None:
    row = pending(store)
    with store.begin() as conn:
        now = deny(conn, row.id, who=BEN, reason="not there", now=NOW + 1)
        call = calls.get(conn, row.call)
        assert (now.state, now.decided_by, now.outcome_error) == (ApprovalState.DENIED, BEN, True)
        assert (call.outcome_error, call.outcome_at) == (True, NOW + 1)
        assert call.outcome == deliver(conn, row.id, now=NOW + 2)
        assert call.outcome is not None
        assert '"not there"' in call.outcome


@pytest.mark.parametrize("digest", ["", "sha256:" + "0" * 64, "ä\ud800"])
def test_another_digest_decides_nothing_and_is_on_record(store: Store, digest: str) -> None:
    """B4."""
    row = pending(store)
    with pytest.raises(DigestMismatchError) as caught, store.begin() as conn:
        approve(conn, row.id, digest=Digest(digest), who=ANNA, reason=None, now=NOW)
    assert caught.value.exit_code == 6
    assert row_of(store, row.id) == row
    assert history(store, row.id) == ["approval.request", "approval.mismatch"]


def test_the_call_digest_is_not_the_digest_to_approve(store: Store) -> None:
    row = pending(store)
    with pytest.raises(DigestMismatchError), store.begin() as conn:
        approve(conn, row.id, digest=row.call_digest, who=ANNA, reason=None, now=NOW)


def test_the_digest_of_a_twin_does_not_fit(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn).id
        one, two = an_approval(conn, run), an_approval(conn, run)
    with pytest.raises(DigestMismatchError), store.begin() as conn:
        approve(conn, one.id, digest=two.approval_digest, who=ANNA, reason=None, now=NOW)


def test_the_second_to_decide_is_told_who_was_first_and_when(store: Store) -> None:
    """L1."""
    row = pending(store)
    with store.begin() as conn:
        denied = deny(conn, row.id, who=ANNA, reason="no", now=NOW)
    with pytest.raises(AlreadyDecidedError) as caught, store.begin() as conn:
        approve(conn, row.id, digest=row.approval_digest, who=BEN, reason=None, now=NOW + 1)
    assert caught.value.brief == f"cannot approve {row.id}: already denied by anna (cli) at 2023-11-14 22:13:20 UTC"
    assert (caught.value.exit_code, caught.value.details) == (4, "no")
    assert row_of(store, row.id) == denied


def test_a_decision_at_the_deadline_expires_the_approval_instead(store: Store) -> None:
    """L2: the refusal is raised, and the expiry stays although the decider's transaction is undone."""
    row = pending(store)
    with pytest.raises(ApprovalExpiredError) as caught, store.begin() as conn:
        approve(conn, row.id, digest=row.approval_digest, who=ANNA, reason=None, now=LATE)
    assert caught.value.exit_code == 5
    now = row_of(store, row.id)
    assert (now.state, now.decided_by, now.decided_at, now.outcome_error) == (ApprovalState.EXPIRED, None, LATE, True)
    with pytest.raises(ApprovalExpiredError), store.begin() as conn:
        deny(conn, row.id, who=ANNA, reason=None, now=NOW)
    assert history(store, row.id) == ["approval.request", "approval.expire"]


def test_expiring_ends_only_what_is_due_and_waits_for_a_person(store: Store) -> None:
    with store.begin() as conn:
        due, later = an_approval(conn), an_approval(conn, expires_at=LATE + 1)
        yes = approved(conn)
        (ended,) = expire_due(conn, LATE)
        assert (ended.id, ended.state) == (due.id, ApprovalState.EXPIRED)
        assert approvals.list(conn) == (ended, later, yes)
        assert expire_due(conn, LATE) == ()


def test_going_stale_keeps_who_approved_and_says_why(store: Store) -> None:
    with store.begin() as conn:
        row = approved(conn)
        now = stale(conn, row.id, "the file has changed", NOW + 5)
        assert (now.state, now.decided_by, now.decided_at) == (ApprovalState.STALE, ANNA, NOW)
        assert now.decision_reason == "the file has changed"
        with pytest.raises(AlreadyDecidedError):
            stale(conn, row.id, "again", NOW + 6)
        with pytest.raises(ApprovalExpiredError):
            approve(conn, row.id, digest=row.approval_digest, who=BEN, reason=None, now=NOW + 6)


def test_a_run_that_ends_takes_its_waiting_calls_with_it_and_no_others(store: Store) -> None:
    """L10: what is being carried out, or is over, stays as it is."""
    with store.begin() as conn:
        run = a_run(conn).id
        waiting, yes, doing, no = (an_approval(conn, run) for _ in range(4))
        other = an_approval(conn)
        for row in (yes, doing):
            approve(conn, row.id, digest=row.approval_digest, who=ANNA, reason=None, now=NOW)
        begin_effect(conn, doing.id, now=NOW)
        deny(conn, no.id, who=ANNA, reason=None, now=NOW)
        ended = end_for_run(conn, run, event=ApprovalEvent.CANCEL, reason="stopped", now=NOW + 1)
        assert [(row.id, row.state) for row in ended] == [
            (waiting.id, ApprovalState.CANCELLED),
            (yes.id, ApprovalState.CANCELLED),
        ]
        assert [row.state.value for row in approvals.list(conn, run=run)] == ["cancelled", "cancelled", "executing", "denied"]
        assert approvals.get(conn, other.id) == other


def test_superseding_leaves_an_approved_call_to_its_broker(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn).id
        waiting = an_approval(conn, run)
        yes = an_approval(conn, run)
        approve(conn, yes.id, digest=yes.approval_digest, who=ANNA, reason=None, now=NOW)
        (ended,) = end_for_run(conn, run, event=ApprovalEvent.SUPERSEDE, reason="no transcript", now=NOW)
        assert (ended.id, ended.state) == (waiting.id, ApprovalState.SUPERSEDED)
        assert approvals.get(conn, yes.id).state is ApprovalState.APPROVED


def test_an_approval_is_found_by_a_beginning_and_an_ambiguous_one_is_refused(store: Store) -> None:
    """B12."""
    with store.begin() as conn:
        run = a_run(conn).id
        row = an_approval(conn, run)
        assert find(conn, row.id[:8]) == find(conn, row.id) == row
        for wrong in (row.id[:7], row.run, "a_000000"):
            with pytest.raises(NotFoundError):
                find(conn, wrong)


def test_a_list_is_named_by_exactly_what_is_on_it(store: Store) -> None:
    """D4."""
    with store.begin() as conn:
        run = a_run(conn).id
        one, two = an_approval(conn, run), an_approval(conn)
        token, rows = listing(conn, states={ApprovalState.PENDING})
        assert rows == (one, two)
        assert listing(conn, run=run).rows == (one,)
        assert listing(conn, states={ApprovalState.PENDING}).snapshot == token
        queue(conn, a_request(conn, run))
        grown = listing(conn).snapshot
        deny(conn, one.id, who=ANNA, reason=None, now=NOW)
        tokens = {token, grown, listing(conn).snapshot, listing(conn, run=run).snapshot}
        assert len(tokens) == 4


def test_an_outcome_put_on_record_by_a_stranger_to_the_effect_is_refused(store: Store) -> None:
    row = pending(store)
    with pytest.raises(AlreadyDecidedError, match="it is pending"), store.begin() as conn:
        finish_effect(conn, row.id, event=ApprovalEvent.SUCCEED, outcome="done", now=NOW)
    assert row_of(store, row.id) == row
