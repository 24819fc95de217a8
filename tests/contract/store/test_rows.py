"""The named queries: what goes in comes out whole, once-only things happen once, stale guards change nothing."""

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from runner.errors import NotFoundError, StoreError
from runner.lifecycle import RunEvent, RunState
from runner.model import CallId, CaptureId, Digest, ResolvedPath, RunId, Sender, SenderKind, Usage
from runner.store import (
    CaptureRow,
    SegmentRow,
    Store,
    TranscriptRow,
    audit,
    calls,
    captures,
    profiles,
    runs,
    segments,
    transcript,
)
from tests.helpers.stored import NOW, PROFILE, a_run, a_stored_call

MARIA = Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="SHA256:abc")


def test_publishing_makes_a_profile_current_and_keeps_the_agents_uid(store: Store) -> None:
    one, two, other = (Digest(f"sha256:{n}") for n in "123")
    with store.begin() as conn:
        first = profiles.put(conn, "1", digest=one, name="scribe", now=1.0)
        profiles.put(conn, "3", digest=other, name="reader", now=2.0)
        second = profiles.put(conn, "2", digest=two, name="scribe", now=3.0)
        assert (first.uid, second.uid) == (10001, 10001)
        assert profiles.current(conn, "scribe") == second
        assert profiles.get(conn, one) == replace(first, current=False)
        assert [(row.name, row.uid, row.digest) for row in profiles.all(conn)] == [
            ("reader", 10002, other),
            ("scribe", 10001, two),
        ]


def test_publishing_the_current_profile_again_changes_nothing(store: Store) -> None:
    with store.begin() as conn:
        first = profiles.put(conn, "1", digest=PROFILE, name="scribe", now=1.0)
        history = audit.of_subject(conn, "scribe")
        assert profiles.put(conn, "1", digest=PROFILE, name="scribe", now=9.0) == first
        assert audit.of_subject(conn, "scribe") == history


def test_publishing_an_older_profile_makes_it_current_again(store: Store) -> None:
    with store.begin() as conn:
        first = profiles.put(conn, "1", digest=Digest("sha256:1"), name="scribe", now=1.0)
        profiles.put(conn, "2", digest=Digest("sha256:2"), name="scribe", now=2.0)
        assert profiles.put(conn, "1", digest=first.digest, name="scribe", now=3.0) == first


def test_one_digest_cannot_stand_for_two_texts(store: Store) -> None:
    with store.begin() as conn:
        profiles.put(conn, "1", digest=PROFILE, name="scribe", now=1.0)
        with pytest.raises(StoreError):
            profiles.put(conn, "2", digest=PROFILE, name="scribe", now=1.0)


def test_what_was_never_stored_is_not_found(store: Store) -> None:
    with store.begin() as conn:
        for look in (
            lambda: profiles.current(conn, "nobody"),
            lambda: profiles.get(conn, Digest("sha256:9")),
            lambda: captures.get(conn, CaptureId("c_none")),
            lambda: runs.get(conn, RunId("r_none")),
            lambda: calls.get(conn, CallId("k_none")),
            lambda: segments.get(conn, RunId("r_none"), 0, 0),
            lambda: runs.move(conn, RunId("r_none"), RunEvent.CLAIM, now=NOW),
            lambda: calls.set_outcome(conn, CallId("k_none"), outcome="x", now=NOW),
        ):
            with pytest.raises(NotFoundError):
                look()


def test_a_capture_comes_back_as_it_was_received(store: Store) -> None:
    row = CaptureRow(id=CaptureId("c_2222222222222222"), agent="a", sender=MARIA, text='{"note":"\u202e\\u0000"}', created=NOW)
    with store.begin() as conn:
        captures.insert(conn, row)
        assert captures.get(conn, row.id) == captures.find(conn, "c_222222") == row


def test_a_run_comes_back_whole_and_a_change_touches_only_what_it_names(store: Store) -> None:
    usage = Usage(requests=1, turns=2, input_tokens=3, output_tokens=4)
    with store.begin() as conn:
        run = a_run(conn, sender=MARIA, strict=False)
        assert runs.get(conn, run.id) == run
        moved = runs.move(conn, run.id, RunEvent.CLAIM, now=NOW + 1, to_segment=2, to_attempt=3, session_id="s")
        assert moved == replace(run, state=RunState.STARTING, segment=2, attempt=3, session_id="s", updated=NOW + 1, version=2)
        noted = runs.record(conn, run.id, now=NOW + 2, usage=usage, reply="hi", segment=2, attempt=3)
        assert noted == replace(moved, usage=usage, reply="hi", updated=NOW + 2, version=3)
        assert runs.get(conn, run.id) == noted


@pytest.mark.parametrize("guard", [{"segment": 1}, {"attempt": 1}, {"segment": 0, "attempt": 1}])
def test_a_stale_attempt_changes_nothing(store: Store, guard: dict[str, int]) -> None:
    with store.begin() as conn:
        run = a_run(conn)
        history = audit.of_subject(conn, run.id)
        assert runs.move(conn, run.id, RunEvent.CLAIM, now=NOW, **guard) is None
        assert runs.record(conn, run.id, now=NOW, reply="x", **guard) is None
        assert (runs.get(conn, run.id), audit.of_subject(conn, run.id)) == (run, history)


def test_runs_are_listed_newest_first_and_filtered(store: Store) -> None:
    with store.begin() as conn:
        old, new, other = a_run(conn), a_run(conn, created=NOW + 1), a_run(conn, agent="reader", created=NOW + 2)
        claimed = runs.move(conn, old.id, RunEvent.CLAIM, now=NOW)
        assert runs.list(conn) == (other, new, claimed)
        assert runs.list(conn, agent="scribe", states={RunState.STARTING}) == (claimed,)
        assert runs.list(conn, states=()) == ()
        assert runs.list(conn, limit=1) == (other,)


def test_an_id_is_found_by_a_beginning_that_only_it_has(store: Store) -> None:
    with store.begin() as conn:
        one = a_run(conn, id=RunId("r_abcdef1111111111"))
        a_run(conn, id=RunId("r_abcdef2222222222"))
        for text in ("r_abcdef1", "abcdef1", " R_ABCDEF1 ", one.id):
            assert runs.find(conn, text) == one


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("r_abcdef", "ambiguous, 2 begin so"),
        ("r_abcde", "at least 6"),
        ("r_222222", "there is none"),
        ("", "no id"),
        ("r_abcde%", "no id"),
        ("r_abcde_", "no id"),
        ("r_abcdefu", "no id"),
        ("a_abcdef1", "no id"),
        ("r_abcdef111111111111", "no id"),
    ],
)
def test_what_names_no_single_run_is_not_found(store: Store, text: str, why: str) -> None:
    """K2: the error says whether there is none or how many."""
    with store.begin() as conn:
        a_run(conn, id=RunId("r_abcdef1111111111"))
        a_run(conn, id=RunId("r_abcdef2222222222"))
        with pytest.raises(NotFoundError) as caught:
            runs.find(conn, text)
    assert why in caught.value.brief


def test_a_container_is_bound_to_an_open_attempt_once(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn)
        row = segments.insert(conn, SegmentRow(run=run.id, segment=0, attempt=1, created=NOW))
        assert segments.open_attempts(conn) == (row,)
        assert segments.bind_container(conn, run.id, 0, 1, "c1")
        assert not segments.bind_container(conn, run.id, 0, 1, "c2")
        assert not segments.bind_container(conn, run.id, 0, 2, "c2")
        assert segments.end(conn, run.id, 0, 1, reason="replied", now=NOW + 5)
        assert not segments.end(conn, run.id, 0, 1, reason="again", now=NOW + 6)
        assert segments.open_attempts(conn, run.id) == ()
        assert segments.get(conn, run.id, 0, 1) == replace(row, container_id="c1", ended=NOW + 5, reason="replied")


def test_no_container_is_bound_to_an_ended_attempt_or_to_two(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn)
        for attempt in (0, 1, 2):
            segments.insert(conn, SegmentRow(run=run.id, segment=0, attempt=attempt, created=NOW))
        segments.end(conn, run.id, 0, 0, reason="lost", now=NOW)
        assert not segments.bind_container(conn, run.id, 0, 0, "c1")
        assert segments.bind_container(conn, run.id, 0, 1, "c1")
    with pytest.raises(StoreError), store.begin() as conn:
        segments.bind_container(conn, run.id, 0, 2, "c1")


def test_calls_are_counted_by_the_store_and_keep_repeated_wire_ids_apart(store: Store) -> None:
    """B11: the model's id for a call is data."""
    paths = (ResolvedPath(asked="./ä", resolved=PurePosixPath("/workspace/ä")),)
    with store.begin() as conn:
        run, other = a_run(conn), a_run(conn)
        one = a_stored_call(conn, run.id, paths=paths, n=99)
        two = a_stored_call(conn, run.id, wire_id=one.wire_id, turn=2)
        first = a_stored_call(conn, other.id)
        assert (one.n, two.n, first.n) == (1, 2, 1)
        assert calls.of_run(conn, run.id) == (one, two)
        assert calls.of_run(conn, run.id, turn=2) == (two,)
        assert calls.get(conn, one.id) == one


def test_a_call_gets_one_outcome_and_is_answered_once(store: Store) -> None:
    with store.begin() as conn:
        call = a_stored_call(conn, a_run(conn).id)
        given = calls.set_outcome(conn, call.id, outcome="", error=True, now=NOW + 1)
        assert given == replace(call, outcome="", outcome_error=True, outcome_at=NOW + 1)
        assert calls.set_outcome(conn, call.id, outcome="other", now=NOW + 2) is None
        assert (calls.answer(conn, call.id), calls.answer(conn, call.id)) == (True, False)
        assert calls.get(conn, call.id) == replace(given, answered=True)


def test_a_transcript_keeps_the_order_in_which_it_came(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn)
        transcript.append(conn, run.id, 0, 0, ["a", "b"])
        transcript.append(conn, run.id, 0, 0, [])
        transcript.append(conn, run.id, 1, 2, ["a"])
        assert transcript.read(conn, run.id) == (
            TranscriptRow(n=1, segment=0, attempt=0, entry="a"),
            TranscriptRow(n=2, segment=0, attempt=0, entry="b"),
            TranscriptRow(n=3, segment=1, attempt=2, entry="a"),
        )
