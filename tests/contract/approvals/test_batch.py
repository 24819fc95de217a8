"""Several decided in one transaction: all or none, and some never together (D4)."""

from __future__ import annotations

import pytest

from runner.approvals import approve_all, deny, deny_all
from runner.errors import (
    AlreadyDecidedError,
    ApprovalExpiredError,
    DigestMismatchError,
    NotAllowedError,
    NotFoundError,
    PausedError,
    RunnerError,
)
from runner.lifecycle import ApprovalState
from runner.model import ApprovalId, Digest, Sender, SenderKind
from runner.store import ApprovalRow, Store, approvals, audit, pausing
from tests.helpers.stored import ANNA, BEN, NOW, an_approval

CONTACT = Sender(kind=SenderKind.CONTACT, petname="alice", fingerprint="f")


def pending(store: Store, **changes: object) -> ApprovalRow:
    with store.begin() as conn:
        return an_approval(conn, **changes)


def yes(*found: ApprovalRow) -> list[tuple[ApprovalId, Digest]]:
    return [(row.id, row.approval_digest) for row in found]


def now(store: Store, *found: ApprovalRow) -> list[ApprovalRow]:
    with store.reading() as conn:
        return [approvals.get(conn, row.id) for row in found]


def test_all_are_approved_each_on_its_own_record(store: Store) -> None:
    first, second = pending(store), pending(store)
    with store.begin() as conn:
        done = approve_all(conn, yes(first, second), who=ANNA, reason="both", now=NOW)
        assert [(row.state, row.decided_by, row.decision_reason) for row in done] == [
            (ApprovalState.APPROVED, ANNA, "both")
        ] * 2
        for row in done:
            assert [link.event for link in audit.of_subject(conn, row.id)] == ["approval.request", "approval.approve"]


def spoiled(store: Store, how: str) -> tuple[tuple[ApprovalId, Digest], type[RunnerError]]:
    """A call that cannot be approved, and why not."""
    match how:
        case "decided":
            row = pending(store)
            with store.begin() as conn:
                deny(conn, row.id, who=BEN, now=NOW)
            return yes(row)[0], AlreadyDecidedError
        case "expired":
            return yes(pending(store, expires_at=NOW))[0], ApprovalExpiredError
        case "digest":
            return (pending(store).id, Digest("")), DigestMismatchError
        case "unknown":
            return (ApprovalId("a_0000000000000000"), Digest("")), NotFoundError
        case tool:
            changes = {"sender": CONTACT} if tool == "contact" else {"tool": tool}
            return yes(pending(store, **changes))[0], NotAllowedError


@pytest.mark.parametrize(
    "how",
    [
        *("decided", "expired", "digest", "unknown", "contact"),
        *("RunCode", "Bash", "FetchPage", "Reply", "Nobody"),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_one_that_cannot_be_approved_keeps_all_from_it(how: str, place: int, store: Store) -> None:
    """D4: never together: contacts, what executes, sends, or is unknown; wherever it stands in the order."""
    good = pending(store)
    bad, error = spoiled(store, how)
    calls = yes(good)
    calls.insert(place, bad)
    with pytest.raises(error), store.begin() as conn:
        approve_all(conn, calls, who=ANNA, reason=None, now=NOW)
    assert now(store, good) == [good]


def test_nothing_is_approved_while_paused(store: Store) -> None:
    """L9."""
    row = pending(store)
    with store.begin() as conn:
        pausing.pause(conn, who=ANNA, reason=None, now=NOW)
    with pytest.raises(PausedError), store.begin() as conn:
        approve_all(conn, yes(row), who=ANNA, reason=None, now=NOW)
    assert now(store, row) == [row]


def test_all_are_refused_or_none(store: Store) -> None:
    """A no releases nothing: a contact's call may be among them."""
    first, second = pending(store), pending(store, sender=CONTACT)
    (decided, _), _ = spoiled(store, "decided")
    with pytest.raises(AlreadyDecidedError), store.begin() as conn:
        deny_all(conn, [first.id, second.id, decided], who=ANNA, reason=None, now=NOW)
    assert now(store, first, second) == [first, second]
    with store.begin() as conn:
        deny_all(conn, [first.id, second.id], who=ANNA, reason="no", now=NOW)
    assert [row.state for row in now(store, first, second)] == [ApprovalState.DENIED] * 2
