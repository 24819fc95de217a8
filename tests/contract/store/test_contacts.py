"""Rows of senders: contacts, arrivals, nonces, and a capture's way to its one run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.errors import NotFoundError, StoreError
from runner.lifecycle import CAPTURE, CaptureEvent, CaptureState
from runner.model import OWNER, CaptureId, SenderKind
from runner.store import CaptureRow, Store, arrivals, audit, captures, contacts
from runner.store.arrivals import Arrival
from runner.store.contacts import ContactRow
from tests.helpers.stored import ANNA, NOW, fresh, opened

MARIA = ContactRow(
    petname="maria",
    skeleton="marla",
    kind=SenderKind.CONTACT,
    key="ed25519:m",
    fingerprint="abcd-efgh-2345-6723",
    verified=True,
    created=NOW,
)


def a_capture(store: Store) -> CaptureId:
    row = CaptureRow(id=CaptureId(fresh("c")), agent="scribe", sender=MARIA.sender, text="{}", created=NOW)
    with store.begin() as conn:
        return captures.insert(conn, row).id


def test_a_contact_is_kept_as_it_was_added(store: Store) -> None:
    with store.begin() as conn:
        contacts.insert(conn, MARIA, who=ANNA)
        assert contacts.get(conn, "maria") == contacts.of_key(conn, MARIA.fingerprint) == MARIA
        assert contacts.all(conn) == (MARIA,)
        contacts.remove(conn, MARIA, who=ANNA, now=NOW)
        assert contacts.of_key(conn, MARIA.fingerprint) is None
        with pytest.raises(NotFoundError):
            contacts.get(conn, "maria")


@pytest.mark.parametrize("same", ["petname", "skeleton", "key", "fingerprint"])
def test_the_database_itself_keeps_two_contacts_apart(store: Store, same: str) -> None:
    """S2: whatever a check above it forgot."""
    other = {"petname": "ben", "skeleton": "ben", "key": "ed25519:b", "fingerprint": "bbbb-efgh-2345-6723"}
    other[same] = getattr(MARIA, same)
    row = ContactRow(kind=SenderKind.AGENT, verified=False, created=NOW, **other)
    with store.begin() as conn:
        contacts.insert(conn, MARIA, who=ANNA)
    with pytest.raises(StoreError), store.begin() as conn:
        contacts.insert(conn, row, who=ANNA)


def test_a_capture_arrives_once_under_its_sender_s_key_for_it(store: Store) -> None:
    capture = a_capture(store)
    with store.begin() as conn:
        assert arrivals.find(conn, "f", "k") is None
        arrivals.insert(conn, "f", "k", Arrival(capture, "d"), now=NOW)
        assert arrivals.find(conn, "f", "k") == Arrival(capture, "d")
        assert arrivals.find(conn, "other", "k") is None
        assert arrivals.of_sender(conn, "f", capture)
        assert not arrivals.of_sender(conn, "other", capture)
    with pytest.raises(StoreError), store.begin() as conn:
        arrivals.insert(conn, "f", "k", Arrival(capture, "e"), now=NOW)


def test_what_arrived_within_an_hour_is_counted_from_its_first(store: Store) -> None:
    with store.begin() as conn:
        for number in range(5):
            row = CaptureRow(id=CaptureId(fresh("c")), agent="scribe", sender=OWNER, text="{}", created=NOW)
            arrivals.insert(conn, "f", f"{number}", Arrival(captures.insert(conn, row).id, "d"), now=NOW + number)
        assert arrivals.since(conn, "f", NOW + 1) == (3, NOW + 2)
        assert arrivals.since(conn, "f", NOW + 9) == (0, None)


def test_a_nonce_is_used_once_per_key_and_forgotten_after_its_time(store: Store) -> None:
    with store.begin() as conn:
        assert arrivals.claim_nonce(conn, "f", "n", expires=NOW + 10, now=NOW)
        assert not arrivals.claim_nonce(conn, "f", "n", expires=NOW + 10, now=NOW + 10)
        assert arrivals.claim_nonce(conn, "g", "n", expires=NOW + 10, now=NOW)
        assert arrivals.claim_nonce(conn, "f", "n", expires=NOW + 30, now=NOW + 11)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(walk=st.lists(st.sampled_from(CaptureEvent), max_size=12))
def test_a_capture_walks_along_its_table_only(store: Store, walk: list[CaptureEvent]) -> None:
    """R36, invariant 9."""
    capture, state = a_capture(store), CaptureState.RECEIVED
    delivered = 0
    with store.begin() as conn:
        for event in walk:
            target = CAPTURE.get((state, event))
            assert captures.move(conn, capture, event, now=NOW, by=ANNA) is target
            state = target or state
            delivered += target is CaptureState.DELIVERED
            assert captures.get(conn, capture).state is state
        assert delivered <= 1
        assert len(audit.of_subject(conn, capture)) >= 1


@pytest.mark.parametrize(("before", "after"), [("delivered", "stored"), ("closed", "stored"), ("stub", "delivered")])
def test_raw_sql_cannot_hand_a_capture_out_again(path: Path, before: str, after: str) -> None:
    with opened(path) as store:
        capture = a_capture(store)
        events = {
            "delivered": [CaptureEvent.DELIVER],
            "closed": [CaptureEvent.HOLD, CaptureEvent.DISMISS],
            "stub": [CaptureEvent.HOLD],
        }
        with store.begin() as conn:
            for event in events[before]:
                captures.move(conn, capture, event, now=NOW)
    with closing(sqlite3.connect(path)) as raw, pytest.raises(sqlite3.IntegrityError, match="no such change"):
        raw.execute("UPDATE captures SET state = ? WHERE id = ?", (after, capture))


def test_captures_of_an_older_version_have_their_run(path: Path) -> None:
    """Migration 0008: what was there before there were stubs was delivered."""
    with opened(path) as store:
        capture = a_capture(store)
    with closing(sqlite3.connect(path)) as raw:
        (default,) = [row[4] for row in raw.execute("PRAGMA table_info(captures)") if row[1] == "state"]
    assert (default, capture[:2]) == ("'delivered'", "c_")
