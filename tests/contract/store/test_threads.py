"""Threads past every function: rows that are written once, by the owner alone, and order told by no clock (invariant 10)."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from runner.errors import StoreError
from runner.lifecycle import RunEvent, RunState
from runner.model import OWNER, CaptureId, RunId, Sender, SenderKind
from runner.store import CaptureRow, Connection, RunRow, Store, captures, profiles, runs, threads, transcript
from runner.store.threads import Part, ThreadRow
from tests.helpers.stored import NOW, PROFILE, a_run, fresh

MARIA = Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="SHA256:abc")


def begin(conn: Connection, name: str = "taxes", agent: str = "scribe") -> None:
    profiles.put(conn, "{}", digest=PROFILE, name="scribe", now=NOW)
    threads.insert(conn, ThreadRow(name=name, agent=agent, profile_digest=PROFILE, created=NOW))


def replied(conn: Connection, run: RunId) -> RunRow:
    for event in (RunEvent.CLAIM, RunEvent.START, RunEvent.REPLY):
        row = runs.move(conn, run, event, now=NOW)
    assert row is not None
    return row


def in_thread(conn: Connection, continues: RunId | None, *, name: str = "taxes", reply: bool = True, **changes: Any) -> RunRow:
    """A run of a thread, all of them of one moment, and of later ones that look earlier."""
    row = a_run(conn, **changes)
    threads.join(conn, row.capture, Part(name, continues), now=NOW)
    return replied(conn, row.id) if reply else row


def test_the_last_reply_is_told_by_what_continues_what_and_by_no_clock(store: Store) -> None:
    """A clock that is set back makes no run an earlier one."""
    with store.begin() as conn:
        begin(conn)
        assert threads.last(conn, "taxes") is None
        first = in_thread(conn, None, created=NOW + 50)
        assert threads.last(conn, "taxes") == first.id
        in_thread(conn, first.id, reply=False, created=NOW + 90)
        second = in_thread(conn, first.id, created=NOW - 50)
        third = in_thread(conn, second.id, created=NOW)
        assert threads.last(conn, "taxes") == third.id
        assert threads.before(conn, third.id) == (first.id, second.id)
        assert threads.before(conn, first.id) == ()
        assert threads.before(conn, a_run(conn).id) == ()
        assert threads.of_run(conn, third.id) == Part("taxes", second.id)


def test_what_is_under_way_is_what_has_not_ended(store: Store) -> None:
    with store.begin() as conn:
        begin(conn)
        first = in_thread(conn, None)
        assert threads.under_way(conn, "taxes") is None
        open_run = in_thread(conn, first.id, reply=False)
        assert threads.under_way(conn, "taxes") == (open_run.capture, open_run.id)
        assert threads.under_way(conn, "other") is None
        runs.move(conn, open_run.id, RunEvent.CANCEL, now=NOW)
        assert threads.under_way(conn, "taxes") is None
        waits = captures.insert(
            conn, CaptureRow(id=CaptureId(fresh("c")), agent="scribe", sender=OWNER, text="{}", created=NOW)
        )
        threads.join(conn, waits.id, Part("taxes", first.id), now=NOW)
        assert threads.under_way(conn, "taxes") == (waits.id, None)


def refused(store: Store, capture: CaptureId, part: Part) -> None:
    with pytest.raises(StoreError, match="only the owner goes on with a thread"), store.begin() as conn:
        threads.join(conn, capture, part, now=NOW)
    with store.reading() as conn:
        assert threads.of_capture(conn, capture) is None


def test_the_database_lets_nobody_else_s_capture_into_a_thread_and_none_after_another_s_run(store: Store) -> None:
    """Invariant 10, whoever writes past our functions: a contact's capture, another agent's, an open or foreign run."""
    with store.begin() as conn:
        begin(conn)
        begin(conn, "second")
        mine, first = a_run(conn), in_thread(conn, None)
        theirs = a_run(conn, sender=MARIA)
        capture = CaptureRow(id=CaptureId(fresh("c")), agent="scribe", sender=MARIA, text="{}", created=NOW)
        captures.insert(conn, capture)
        elsewhere = CaptureRow(id=CaptureId(fresh("c")), agent="clerk", sender=OWNER, text="{}", created=NOW)
        captures.insert(conn, elsewhere)
        replied(conn, theirs.id)
        alone = replied(conn, a_run(conn).id)
        unended = in_thread(conn, first.id, reply=False)
        other = in_thread(conn, None, name="second")
    refused(store, capture.id, Part("taxes", None))
    refused(store, capture.id, Part("taxes", first.id))
    refused(store, elsewhere.id, Part("taxes", None))
    refused(store, mine.capture, Part("nothing", None))
    for run in (theirs, alone, unended, other):
        refused(store, mine.capture, Part("taxes", run.id))
    with store.begin() as conn:
        threads.join(conn, mine.capture, Part("taxes", first.id), now=NOW)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE threads SET agent = 'clerk'",
        "UPDATE threads SET profile_digest = 'sha256:0'",
        "DELETE FROM threads",
        "INSERT INTO threads SELECT * FROM threads",
        "UPDATE thread_captures SET continues = NULL",
        "UPDATE thread_captures SET thread = 'second'",
        "DELETE FROM thread_captures",
        "INSERT INTO thread_captures SELECT * FROM thread_captures",
        "UPDATE turn_words SET text = 'The owner allows all.'",
        "DELETE FROM turn_words",
        "INSERT INTO turn_words SELECT * FROM turn_words",
    ],
)
def test_what_is_written_of_a_thread_cannot_change(sql: str, store: Store) -> None:
    with store.begin() as conn:
        begin(conn)
        begin(conn, "second")
        first = in_thread(conn, None)
        in_thread(conn, first.id)
        threads.note_words(conn, first.id, 1, "I look.")
    with pytest.raises(StoreError), store.begin() as conn:
        conn.execute(text(sql))


def test_what_the_model_said_is_kept_by_turn_and_only_of_what_can_be_continued(store: Store) -> None:
    with store.begin() as conn:
        begin(conn)
        first, alone = in_thread(conn, None), a_run(conn)
        for turn, said in ((1, "I look."), (2, " \n"), (3, "Found.")):
            threads.note_words(conn, first.id, turn, said)
            threads.note_words(conn, alone.id, turn, said)
        assert (threads.words(conn, first.id), threads.words(conn, alone.id)) == ({1: "I look.", 3: "Found."}, {})


def test_the_list_has_what_moved_last_first(store: Store) -> None:
    with store.begin() as conn:
        begin(conn)
        begin(conn, "second")
        begin(conn, "unused")
        first = in_thread(conn, None)
        in_thread(conn, first.id, reply=False, created=NOW + 5, updated=NOW + 5)
        in_thread(conn, None, name="second")
        found = threads.listing(conn, limit=2)
    assert [(line.thread.name, line.runs, line.state, line.updated) for line in found] == [
        ("taxes", 2, RunState.QUEUED, NOW + 5),
        ("second", 1, RunState.REPLIED, NOW),
    ]


def test_the_size_of_a_conversation_is_that_of_its_transcripts(store: Store) -> None:
    with store.begin() as conn:
        begin(conn)
        first, second = in_thread(conn, None), a_run(conn)
        for run, lines in ((first, ["abc", "de"]), (second, ["f" * 100])):
            transcript.append(conn, run.id, 0, 0, lines)
        assert [transcript.size(conn, *these) for these in ((), (first.id,), (first.id, second.id))] == [0, 5, 105]
