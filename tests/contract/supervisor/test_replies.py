"""Replies to contacts over a real database: held, reviewed, released once, exactly as they were read (issue 8)."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runner.approvals import Approver
from runner.errors import (
    AlreadyDecidedError,
    ApprovalExpiredError,
    DigestMismatchError,
    NotAllowedError,
    PausedError,
    RunnerError,
    StoreError,
)
from runner.lifecycle import ReplyState, RunEvent, RunState
from runner.model import OWNER, ApprovalSettings, Capture, Digest, Policy, RunId, Sender, SenderKind
from runner.profiles import to_json
from runner.store import (
    Connection,
    RunRow,
    Store,
    VerdictRow,
    audit,
    captures,
    contacts,
    pausing,
    profiles,
    replies,
    runs,
    verdicts,
)
from runner.store.contacts import ContactRow
from runner.store.schema_replies import reply_signatures
from runner.supervisor.changes import Changes
from runner.supervisor.ids import Ids
from runner.supervisor.intake import Intake
from runner.supervisor.replies import Replies
from tests.helpers.builders import a_profile
from tests.helpers.stored import ANNA, NOW, opened

PRINT = "abcd-efgh-2345-6723"
MARIA = Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint=PRINT)


@dataclass
class Desk:
    """Contacts, an agent, and runs that end."""

    store: Store
    now: float = NOW
    changes: Changes = field(default_factory=Changes)

    def __post_init__(self) -> None:
        ids = Ids(os.urandom)
        self.replies = Replies(store=self.store, changes=self.changes, clock=lambda: self.now, ids=ids, max_policy=Policy.SKIP)
        self.intake = Intake(clock=lambda: self.now, ids=ids, enqueue=lambda *_, **__: None)

    def publish(self, **changes: Any) -> None:
        profile = a_profile(name="scribe", contacts=("maria",), **changes)
        digest = Digest(f"sha256:{os.urandom(32).hex()}")
        with self.store.begin() as conn:
            profiles.put(conn, json.dumps(to_json(profile)), digest=digest, name="scribe", now=self.now)

    def answered(self, text: str, *, private: bool = True, sender: Sender = MARIA) -> RunRow:
        """A run that replied."""
        with self.store.begin() as conn:
            taken = self.intake.receive(conn, Capture(agent="scribe", note="what is it?"), sender)
            assert taken.run is not None
            row = ended(conn, taken.run.id, text, now=self.now)
            self.replies.answered(conn, row, private=private)
            return row

    def reply(self, run: RunRow) -> replies.ReplyRow:
        with self.store.reading() as conn:
            found = replies.of_run(conn, run.id)
            assert found is not None
            return found

    def heard(self, run: RunRow) -> tuple[str, str | None]:
        """What its sender is told."""
        with self.store.reading() as conn:
            return tuple(self.replies.released(conn, captures.get(conn, run.capture), runs.get(conn, run.id)))

    def approve(self, row: replies.ReplyRow, digest: str | None = None) -> Any:
        return asyncio.run(self.replies.approve(row.id, digest=digest or row.digest, reason=None, who=ANNA))

    def events(self, subject: str) -> list[str]:
        with self.store.reading() as conn:
            return [row.event for row in audit.of_subject(conn, subject)]


def ended(conn: Connection, run: RunId, text: str, *, now: float) -> RunRow:
    for event in (RunEvent.CLAIM, RunEvent.START, RunEvent.REPLY):
        moved = runs.move(conn, run, event, now=now, **({"reply": text} if event is RunEvent.REPLY else {}))
    assert moved is not None
    assert moved.state is RunState.REPLIED
    return moved


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(tmp_path / "db") as store:
        desk = Desk(store)
        desk.publish()
        with store.begin() as conn:
            row = ContactRow(
                petname="maria",
                skeleton="maria",
                kind=SenderKind.CONTACT,
                key="k",
                fingerprint=PRINT,
                verified=True,
                created=NOW,
            )
            contacts.insert(conn, row, who=ANNA)
        yield desk


def test_a_reply_waits_until_exactly_this_text_is_approved_and_goes_out_once(desk: Desk) -> None:
    """R19, R21, B4: its sender hears `received` until then; another digest releases nothing and is on record."""
    run = desk.answered("It is a bill.")
    row = desk.reply(run)
    assert (row.state, desk.heard(run)) == (ReplyState.HELD, ("received", None))
    with pytest.raises(DigestMismatchError):
        desk.approve(row, "sha256:" + "0" * 64)
    assert desk.heard(run) == ("received", None)
    assert desk.approve(row)["state"] == "released"
    assert desk.heard(run) == ("answered", "It is a bill.")
    with pytest.raises(AlreadyDecidedError, match="released already by anna"):
        desk.approve(row)
    assert desk.events(row.id) == ["reply.hold", "reply.mismatch", "reply.approve", "reply.release"]


def test_a_denied_or_overdue_reply_is_closed_and_nothing_of_it_is_told(desk: Desk) -> None:
    """The contact sees received, answered or closed and nothing finer."""
    denied, late = desk.answered("one"), desk.answered("two")
    asyncio.run(desk.replies.deny(desk.reply(denied).id, reason="it names a customer", who=ANNA))
    desk.now += 8 * 86400
    with pytest.raises(ApprovalExpiredError):
        desk.approve(desk.reply(late))
    asyncio.run(desk.replies.expire())
    assert [desk.reply(run).state for run in (denied, late)] == [ReplyState.DENIED, ReplyState.EXPIRED]
    assert [desk.heard(run) for run in (denied, late)] == [("closed", None)] * 2


def test_the_owner_s_own_reply_needs_no_review(desk: Desk) -> None:
    run = desk.answered("mine", sender=OWNER)
    with desk.store.reading() as conn:
        assert replies.of_run(conn, run.id) is None


@pytest.mark.parametrize(
    ("allow", "private", "text", "state"),
    [
        (True, False, "It is a bill.", ReplyState.RELEASED),
        (False, False, "It is a bill.", ReplyState.HELD),
        (True, True, "It is a bill.", ReplyState.HELD),
        (True, False, "approve a_0123456789abcdef", ReplyState.HELD),
        (True, False, "key sk-abcdefghijklmnopqrst", ReplyState.HELD),
        (True, False, " ".join(f"https://h{number}.example/" for number in range(201)), ReplyState.HELD),
    ],
)
def test_only_an_allowed_reply_of_a_run_that_saw_nothing_private_goes_out_unreviewed(
    desk: Desk, *, allow: bool, private: bool, text: str, state: ReplyState
) -> None:
    """R20, O2, design.md §3.9: every other combination waits, and a found id or secret waits whatever is allowed."""
    desk.publish(allow_replies=allow)
    assert desk.reply(desk.answered(text, private=private)).state is state


def test_a_reply_that_repeats_a_live_fence_is_held_and_says_so(desk: Desk) -> None:
    """O2: also when it is spelled apart."""
    desk.publish(allow_replies=True)
    with desk.store.begin() as conn:
        taken = desk.intake.receive(conn, Capture(agent="scribe", note="x"), MARIA)
        assert taken.run is not None
        nonce = taken.run.nonce or ""
    row = desk.reply(desk.answered("the value is " + "-".join(nonce), private=False))
    assert (row.state, row.rule) == (ReplyState.HELD, "found")
    assert row.warnings == ("it holds the fence value of a run",)


def test_nothing_is_released_while_paused_and_what_was_ready_waits_for_a_person(desk: Desk) -> None:
    """R29-R31: a running turn finishes, its reply stays, nothing leaves; resume lets a person release it."""
    desk.publish(allow_replies=True)
    with desk.store.begin() as conn:
        taken = desk.intake.receive(conn, Capture(agent="scribe", note="x"), MARIA)
        pausing.pause(conn, who=ANNA, reason=None, now=NOW)
        assert taken.run is not None
        run = ended(conn, taken.run.id, "done", now=NOW)
        desk.replies.answered(conn, run, private=False)
    row = desk.reply(run)
    assert (row.state, row.rule) == (ReplyState.HELD, "paused")
    with pytest.raises(PausedError):
        desk.approve(row)
    with desk.store.begin() as conn:
        pausing.resume(conn, who=ANNA, now=NOW)
    assert desk.approve(row)["state"] == "released"


def test_what_was_released_before_a_pause_stays_readable_to_its_sender(desk: Desk) -> None:
    """R29: a pause stops what is new; a reply was handed over when it was released, and a share never was."""
    run = desk.answered("It is a bill.")
    desk.approve(desk.reply(run))
    with desk.store.begin() as conn:
        pausing.pause(conn, who=ANNA, reason=None, now=NOW)
    assert desk.heard(run) == ("answered", "It is a bill.")


def test_a_reply_to_somebody_who_was_blocked_or_removed_is_not_released(desk: Desk) -> None:
    row = desk.reply(desk.answered("hello"))
    with desk.store.begin() as conn:
        contacts.block(conn, contacts.get(conn, "maria"), blocked=True, who=ANNA, now=NOW)
    with pytest.raises(NotAllowedError, match="blocked or removed"):
        desk.approve(row)
    assert desk.reply(desk.answered("again")).state is ReplyState.HELD


def signing(desk: Desk, row: replies.ReplyRow, name: str, key: str | None) -> Any:
    who = Approver(uid=1000, channel="cli", name=name, key_id=key)
    return asyncio.run(desk.replies.approve(row.id, digest=row.digest, reason=None, who=who))


def test_a_reply_of_an_agent_whose_calls_need_two_approvers_needs_two(desk: Desk) -> None:
    """D5, R19: distinct keys under what was reviewed; until the last nothing is out, and both are on record and shown."""
    desk.publish(approvals=ApprovalSettings(required=2), allow_replies=True)
    run = desk.answered("It is a bill.", private=False)
    row = desk.reply(run)
    assert (row.state, row.rule) == (ReplyState.HELD, "several")
    with pytest.raises(NotAllowedError, match="2 approvers, each with a key"):
        signing(desk, row, "anna", None)
    first = signing(desk, row, "anna", "ka")
    assert (first["state"], first["signatures"]["required"]) == ("held", 2)
    assert [one["name"] for one in first["signatures"]["given"]] == ["anna"]
    assert desk.heard(run) == ("received", None)
    with pytest.raises(AlreadyDecidedError, match="anna has signed it, and 1 of 2 are there"):
        signing(desk, row, "anna", "ka")
    with pytest.raises(DigestMismatchError):
        desk.approve(row, "sha256:" + "0" * 64)
    assert signing(desk, row, "ben", "kb")["state"] == "released"
    assert desk.heard(run) == ("answered", "It is a bill.")
    assert desk.events(row.id) == [
        *("reply.hold", "reply.sign", "reply.mismatch", "reply.sign", "reply.approve", "reply.release"),
    ]


def test_one_no_ends_a_reply_that_needs_two_and_a_pause_stops_the_second_yes(desk: Desk) -> None:
    """D5, R31."""
    desk.publish(approvals=ApprovalSettings(required=2))
    one, two = desk.reply(desk.answered("one")), desk.reply(desk.answered("two"))
    signing(desk, one, "anna", "ka")
    asyncio.run(desk.replies.deny(one.id, reason=None, who=ANNA))
    with pytest.raises(AlreadyDecidedError):
        signing(desk, one, "ben", "kb")
    signing(desk, two, "anna", "ka")
    with desk.store.begin() as conn:
        pausing.pause(conn, who=ANNA, reason=None, now=NOW)
    with pytest.raises(PausedError):
        signing(desk, two, "ben", "kb")


def test_signatures_under_replies_cannot_be_written_over(desk: Desk) -> None:
    """Invariant 9: the database refuses it whoever asks."""
    desk.publish(approvals=ApprovalSettings(required=2))
    signing(desk, desk.reply(desk.answered("one")), "anna", "ka")
    for statement in (reply_signatures.update().values(key_id="other"), reply_signatures.delete()):
        with pytest.raises(StoreError), desk.store.begin() as conn:
            conn.execute(statement)


def test_a_block_saved_since_binds_at_the_release(desk: Desk) -> None:
    """R109: decided again with the owner's choices as they are now."""
    row = desk.reply(desk.answered("hello"))
    with desk.store.begin() as conn:
        verdicts.put(conn, VerdictRow(agent="scribe", tool="Reply", verdict="block", set_by=ANNA, set_at=NOW))
    with pytest.raises(NotAllowedError, match="Blocked"):
        desk.approve(row)


def test_an_unattended_agent_s_reply_is_refused_at_once(desk: Desk) -> None:
    """Nobody will answer, so an ask is a no."""
    desk.publish(unattended=True)
    run = desk.answered("hello")
    assert (desk.reply(run).state, desk.heard(run)) == (ReplyState.DENIED, ("closed", None))


def test_what_was_reviewed_cannot_be_changed_in_the_database(desk: Desk) -> None:
    """Invariant 9: neither the text nor the state, past the table."""
    row = desk.reply(desk.answered("hello"))
    for change in ("text = 'other'", "state = 'released'", "digest = 'sha256:0'"):
        with pytest.raises(StoreError), desk.store.begin() as conn:
            conn.exec_driver_sql(f"UPDATE replies SET {change} WHERE id = '{row.id}'")
    assert desk.reply(runs_of(desk, row.run)).text == "hello"


def runs_of(desk: Desk, run: RunId) -> RunRow:
    with desk.store.reading() as conn:
        return runs.get(conn, run)


def test_two_approvers_at_once_release_it_once(desk: Desk) -> None:
    """L1: one winner."""
    row = desk.reply(desk.answered("hello"))

    async def both() -> list[Any]:
        asks = [desk.replies.approve(row.id, digest=row.digest, reason=None, who=ANNA) for _ in range(4)]
        return await asyncio.gather(*asks, return_exceptions=True)

    done = asyncio.run(both())
    assert sum(not isinstance(one, RunnerError) for one in done) == 1
    assert desk.events(row.id).count("reply.release") == 1
