"""D2: what was proposed, who decided and what is carried out stay three records; only the edited digest fits from then on."""

import json
from dataclasses import replace

import pytest
from sqlalchemy import text

from runner.approvals import Edited, approve, begin_effect, bind, finish_effect, fits, outcome_text, store_edit
from runner.digest import call_digest, parse_call
from runner.errors import AlreadyDecidedError, ApprovalExpiredError, DigestMismatchError, PausedError, StoreError, UsageError
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.model import Digest
from runner.store import ApprovalRow, Store, approvals, audit, calls, pausing
from runner.store.edit import Edit, dump
from tests.helpers.stored import ANNA, BEN, NOW, an_approval

RAW = '{"file_path":"out.txt","content":"edited"}'


def edit_of(row: ApprovalRow, raw: str = RAW, **more: object) -> Edit:
    edited = Edited(raw=raw, pre_images={"/workspace/out.txt": None}, preview="+edited", **more)  # type: ignore[arg-type]
    return bind(row, edited, who=BEN, now=NOW)


def test_an_edit_stands_beside_what_was_proposed_under_a_digest_of_its_own(store: Store) -> None:
    with store.begin() as conn:
        row = an_approval(conn)
        edit = edit_of(row)
        stored = store_edit(conn, row.id, edit, now=NOW)
        assert (stored.raw, stored.approval_digest, stored.call_digest) == (row.raw, row.approval_digest, row.call_digest)
        assert (stored.edit, stored.state) == (edit, ApprovalState.PENDING)
        made = stored.effective
        assert (made.raw, made.approval_digest, made.preview) == (RAW, edit.approval_digest, "+edited")
        assert len({row.approval_digest, edit.approval_digest, row.call_digest, edit.call_digest}) == 4
        assert fits(stored)
        assert approvals.get(conn, row.id) == stored


def test_the_digest_of_an_edit_is_that_of_the_same_tool_run_id_and_nonce(store: Store) -> None:
    """B2: the call digest is what such a call would have had, had it been proposed."""
    with store.begin() as conn:
        row = an_approval(conn)
        arguments = parse_call("Write", RAW).input
        assert arguments is not None
        exact = call_digest(tool=row.tool, definition=row.definition_digest, arguments=arguments, paths=())
        assert edit_of(row).call_digest == exact
        other = an_approval(conn)
        assert edit_of(other).approval_digest != edit_of(row).approval_digest
        assert edit_of(row, post_image=Digest("sha256:" + "3" * 64)).approval_digest == edit_of(row).approval_digest


def test_once_edited_only_the_edited_digest_is_a_yes(store: Store) -> None:
    """B4: the yes to what was proposed is refused, and that is on record."""
    with store.begin() as conn:
        row = an_approval(conn)
        edit = edit_of(row)
        store_edit(conn, row.id, edit, now=NOW)
    with pytest.raises(DigestMismatchError), store.begin() as conn:
        approve(conn, row.id, digest=row.approval_digest, who=ANNA, now=NOW)
    with store.begin() as conn:
        events = [one.event for one in audit.of_subject(conn, row.id)]
        assert events == ["approval.request", "approval.edit", "approval.mismatch"]
        done = approve(conn, row.id, digest=edit.approval_digest, who=ANNA, now=NOW)
        assert (done.state, done.decided_by, done.edit) == (ApprovalState.APPROVED, ANNA, edit)


def test_both_digests_and_who_edited_are_on_record(store: Store) -> None:
    """A2."""
    with store.begin() as conn:
        row = an_approval(conn)
        edit = edit_of(row)
        store_edit(conn, row.id, edit, now=NOW)
        again = edit_of(replace(row, edit=edit), '{"file_path":"out.txt","content":"third"}')
        store_edit(conn, row.id, again, now=NOW)
        first, second = (one.data for one in audit.of_subject(conn, row.id) if one.event == "approval.edit")
    assert all(word in first for word in (row.approval_digest, edit.approval_digest, '"uid":1001'))
    assert all(word in second for word in (row.approval_digest, edit.approval_digest, again.approval_digest))
    assert RAW not in first


@pytest.mark.parametrize(
    ("raw", "cause"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"content":"a","content":"b"}', "repeats a key"),
        ('{"content":NaN}', "NaN"),
        ('{"file_path":"out.txt","content":"x"}', "changes nothing"),
        (' {"content":"x", "file_path":"out.txt"}', "changes nothing"),
        ('{"content":"' + "x" * (256 * 1024) + '"}', "larger than"),
    ],
)
def test_what_cannot_be_bound_is_no_edit(raw: str, cause: str, store: Store) -> None:
    with store.begin() as conn, pytest.raises(UsageError, match=cause):
        edit_of(an_approval(conn), raw)


def test_a_call_that_is_decided_expired_or_paused_takes_no_edit(store: Store) -> None:
    with store.begin() as conn:
        row, late, held = an_approval(conn), an_approval(conn), an_approval(conn)
        approve(conn, row.id, digest=row.approval_digest, who=ANNA, now=NOW)
    with pytest.raises(AlreadyDecidedError), store.begin() as conn:
        store_edit(conn, row.id, edit_of(row), now=NOW)
    with pytest.raises(ApprovalExpiredError), store.begin() as conn:
        store_edit(conn, late.id, edit_of(late), now=late.expires)
    with store.begin() as conn:
        pausing.pause(conn, who=ANNA, reason=None, now=NOW)
    with pytest.raises(PausedError), store.begin() as conn:
        store_edit(conn, held.id, edit_of(held), now=NOW)
    with store.reading() as conn:
        assert [approvals.get(conn, one.id).edit for one in (row, late, held)] == [None, None, None]


@pytest.mark.parametrize("sql", ["UPDATE approvals SET edit = NULL", "UPDATE approvals SET edit = '{}'"])
def test_what_is_carried_out_cannot_be_swapped_after_the_yes_not_even_with_raw_sql(sql: str, store: Store) -> None:
    with store.begin() as conn:
        row = an_approval(conn)
        edit = edit_of(row)
        store_edit(conn, row.id, edit, now=NOW)
        approve(conn, row.id, digest=edit.approval_digest, who=ANNA, now=NOW)
    with pytest.raises(StoreError), store.begin() as conn:
        conn.execute(text(sql))


@pytest.mark.parametrize("part", ["raw", "paths", "pre_images"])
def test_an_edit_that_was_tampered_with_before_the_yes_does_not_begin(part: str, store: Store) -> None:
    """B5: the stored bytes are hashed again."""
    swapped = {"raw": '{"file_path":"evil.txt","content":"edited"}', "paths": '[["a","/workspace/a"]]', "pre_images": {}}
    with store.begin() as conn:
        row = an_approval(conn)
        edit = edit_of(row)
        store_edit(conn, row.id, edit, now=NOW)
        column = json.dumps(json.loads(dump(edit)) | {part: swapped[part]})
        conn.execute(text("UPDATE approvals SET edit = :column"), {"column": column})
        approve(conn, row.id, digest=edit.approval_digest, who=ANNA, now=NOW)
        assert begin_effect(conn, row.id, now=NOW) is None
        assert approvals.get(conn, row.id).state is ApprovalState.STALE


def test_the_agent_is_told_that_a_person_changed_its_call_and_to_what(store: Store) -> None:
    """D2, B12: with the outcome, bounded, without an approval's id."""
    with store.begin() as conn:
        row = an_approval(conn)
        raw = f'{{"file_path":"out.txt","content":"see {row.id} "}}'
        edit = edit_of(row, raw)
        store_edit(conn, row.id, edit, now=NOW)
        approve(conn, row.id, digest=edit.approval_digest, who=ANNA, now=NOW)
        begin_effect(conn, row.id, now=NOW)
        done = finish_effect(conn, row.id, event=ApprovalEvent.SUCCEED, outcome="Wrote it.", now=NOW)
        told = outcome_text(done)
        assert told.splitlines()[0] == "Wrote it."
        assert "A person changed this call before approving it" in told
        assert told.endswith('{"content": "see [id] "}')
        call = calls.get(conn, row.call)
        assert (call.outcome, call.raw) == (told, row.raw)
        assert (
            len(outcome_text(replace(done, edit=replace(edit, raw='{"content":"' + "x" * 90_000 + '"}'))).encode()) <= 32 * 1024
        )
