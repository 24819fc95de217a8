"""More than one yes: distinct keys under one digest, one effect, one no ends it (D5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runner.approvals import approve, approve_all, begin_effect, deny, extend, store_edit
from runner.approvals.editing import Edited, bind
from runner.approvals.signing import fitting, said
from runner.errors import AlreadyDecidedError, DigestMismatchError, NotAllowedError, StoreError
from runner.lifecycle import ApprovalState
from runner.store import ApprovalRow, Approver, Connection, Store, approvals, audit, schema, signatures
from tests.helpers.stored import NOW, an_approval, fresh


def person(name: str) -> Approver:
    return Approver(uid=1000, channel="control socket", name=name, method="key", key_id=f"key of {name}", tty="pts/1", host="h")


ANNA, BEN, CARL = person("anna"), person("ben"), person("carl")


def two(conn: Connection, **changes: Any) -> ApprovalRow:
    return an_approval(conn, required=2, **changes)


def yes(conn: Connection, row: ApprovalRow, who: Approver) -> ApprovalRow:
    return approve(conn, row.id, digest=approvals.get(conn, row.id).effective.approval_digest, who=who, reason=None, now=NOW)


def test_the_first_yes_leaves_it_waiting_and_the_last_approves_it(store: Store) -> None:
    with store.begin() as conn:
        row = two(conn)
        first = yes(conn, row, ANNA)
        assert (first.state, first.decided_by, first.version) == (ApprovalState.PENDING, None, row.version + 1)
        assert begin_effect(conn, row.id, now=NOW) is None
        assert said(first, fitting(conn, [first])[row.id]) == "1 of 2 signatures"
        last = yes(conn, row, BEN)
        assert (last.state, last.decided_by) == (ApprovalState.APPROVED, BEN)
        begun = begin_effect(conn, row.id, now=NOW)
        assert begun is not None
        assert begin_effect(conn, row.id, now=NOW) is None
        events = [link.event for link in audit.of_subject(conn, row.id)]
        assert events == ["approval.request", "approval.sign", "approval.sign", "approval.approve", "approval.execute"]
        signed = audit.of_subject(conn, row.id)[1]
        assert '"key_id":"key of anna"' in signed.data


def test_the_same_key_counts_once_whatever_it_calls_itself(store: Store) -> None:
    with store.begin() as conn:
        row = two(conn)
        yes(conn, row, ANNA)
    with pytest.raises(AlreadyDecidedError, match="1 of 2 signatures are there"), store.begin() as conn:
        yes(conn, row, replace(BEN, key_id=ANNA.key_id))
    with store.reading() as conn:
        assert approvals.get(conn, row.id).state is ApprovalState.PENDING
        assert len(signatures.of(conn, [row.id])) == 1


def test_whoever_has_no_key_signs_nothing(store: Store) -> None:
    with store.begin() as conn:
        row = two(conn)
    with pytest.raises(NotAllowedError, match="needs 2 approvers"), store.begin() as conn:
        yes(conn, row, Approver(uid=0, channel="control socket"))
    with store.reading() as conn:
        assert approvals.get(conn, row.id) == row


def test_one_no_ends_it(store: Store) -> None:
    with store.begin() as conn:
        row = two(conn)
        yes(conn, row, ANNA)
        deny(conn, row.id, who=CARL, reason="no", now=NOW)
    with pytest.raises(AlreadyDecidedError), store.begin() as conn:
        yes(conn, row, BEN)


def test_a_signature_under_another_digest_is_none(store: Store) -> None:
    """An edit starts anew: who signed what was proposed has not signed what is carried out."""
    with store.begin() as conn:
        row = two(conn)
        yes(conn, row, ANNA)
        edit = bind(row, Edited(raw='{"file_path":"out.txt","content":"y"}'), who=BEN, now=NOW)
        store_edit(conn, row.id, edit, now=NOW)
        once = yes(conn, row, BEN)
        assert once.state is ApprovalState.PENDING
        assert [one.by for one in fitting(conn, [once])[row.id]] == [BEN]
    with pytest.raises(DigestMismatchError), store.begin() as conn:
        approve(conn, row.id, digest=row.approval_digest, who=ANNA, reason=None, now=NOW)
    with store.begin() as conn:
        assert yes(conn, row, ANNA).state is ApprovalState.APPROVED


def test_more_time_takes_no_signature_away(store: Store) -> None:
    with store.begin() as conn:
        row = two(conn)
        yes(conn, row, ANNA)
        extend(conn, row.id, seconds=60, longest=86400, who=ANNA, now=NOW)
        assert yes(conn, row, BEN).state is ApprovalState.APPROVED


def test_three_need_three(store: Store) -> None:
    with store.begin() as conn:
        row = an_approval(conn, required=3)
        states = [yes(conn, row, who).state for who in (ANNA, BEN, CARL)]
    assert states == [ApprovalState.PENDING, ApprovalState.PENDING, ApprovalState.APPROVED]


def test_a_batch_leaves_it_out(store: Store) -> None:
    """D4, D5."""
    with store.begin() as conn:
        row, plain = two(conn), an_approval(conn)
        pairs = [(one.id, one.approval_digest) for one in (plain, row)]
    with pytest.raises(NotAllowedError, match="it needs 2 approvers"), store.begin() as conn:
        approve_all(conn, pairs, who=ANNA, reason=None, now=NOW)
    with store.reading() as conn:
        assert approvals.get(conn, plain.id).state is ApprovalState.PENDING


def test_a_standing_yes_of_one_person_is_not_enough(store: Store) -> None:
    with store.begin() as conn:
        assert two(conn, standing=ANNA).state is ApprovalState.PENDING
        assert an_approval(conn, standing=ANNA).state is ApprovalState.APPROVED


def test_signatures_and_how_many_it_takes_cannot_be_written_over(store: Store) -> None:
    """Invariant 9: the database refuses it whoever asks."""
    with store.begin() as conn:
        row = two(conn)
        yes(conn, row, ANNA)
    for statement in (
        schema.approvals.update().values(required=1),
        schema.signatures.update().values(key_id="other"),
        schema.signatures.delete(),
    ):
        with pytest.raises(StoreError), store.begin() as conn:
            conn.execute(statement)


def test_signatures_of_many_approvals_are_read_together(store: Store) -> None:
    with store.begin() as conn:
        found = [two(conn) for _ in range(3)]
        for row in found[:2]:
            yes(conn, row, ANNA)
        given = fitting(conn, [*found, an_approval(conn)])
        assert {id: len(one) for id, one in given.items()} == {found[0].id: 1, found[1].id: 1, found[2].id: 0}
        assert signatures.of(conn, [fresh("a") for _ in range(1200)]) == ()  # type: ignore[misc]
