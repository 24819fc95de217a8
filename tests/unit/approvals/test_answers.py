"""D1, P12: each way a call can end has its own answer to the agent, with the kind of no in it and never an approval's id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runner.approvals import (
    WITHDRAWN,
    Edited,
    approve,
    begin_effect,
    bind,
    deny,
    end_for_run,
    expire_due,
    finish_effect,
    is_error,
    outcome_text,
    settle,
    stale,
    store_edit,
)
from runner.lifecycle import ApprovalEvent
from runner.model import GrantId
from runner.policy import Grant
from runner.store import ApprovalRow, Connection, approvals, grants
from runner.store.grants import GrantRow
from tests.helpers.stored import ANNA, NOW, PROFILE, a_request, a_run, an_approval, fresh, opened, queue

Ends = Callable[[Connection], ApprovalRow]
_AGAIN = "Nothing was done. Do not retry it unchanged."
_RAW = '{"file_path":"out.txt","content":"better"}'


def approved(conn: Connection) -> ApprovalRow:
    row = an_approval(conn)
    approve(conn, row.id, digest=row.approval_digest, who=ANNA, reason="fine", now=NOW)
    begin_effect(conn, row.id, now=NOW)
    return finish_effect(conn, row.id, event=ApprovalEvent.SUCCEED, outcome="Created it.", now=NOW)


def failed(conn: Connection) -> ApprovalRow:
    row = an_approval(conn)
    approve(conn, row.id, digest=row.approval_digest, who=ANNA, now=NOW)
    begin_effect(conn, row.id, now=NOW)
    return finish_effect(conn, row.id, event=ApprovalEvent.FAIL, outcome="no space", now=NOW)


def edited(conn: Connection) -> ApprovalRow:
    row = an_approval(conn)
    edit = bind(row, Edited(raw=_RAW), who=ANNA, now=NOW)
    store_edit(conn, row.id, edit, now=NOW)
    approve(conn, row.id, digest=edit.approval_digest, who=ANNA, now=NOW)
    begin_effect(conn, row.id, now=NOW)
    return finish_effect(conn, row.id, event=ApprovalEvent.SUCCEED, outcome="Created it.", now=NOW)


def edited_and_denied(conn: Connection) -> ApprovalRow:
    row = an_approval(conn)
    store_edit(conn, row.id, bind(row, Edited(raw=_RAW), who=ANNA, now=NOW), now=NOW)
    return deny(conn, row.id, who=ANNA, now=NOW)


def denied(conn: Connection) -> ApprovalRow:
    return deny(conn, an_approval(conn).id, who=ANNA, reason="wrong folder; see a_0123456789abcdef", now=NOW)


def denied_and_stopped(conn: Connection) -> ApprovalRow:
    row = an_approval(conn)
    answer = deny(conn, row.id, who=ANNA, now=NOW)
    end_for_run(conn, row.run, event=ApprovalEvent.CANCEL, reason="stopped with a denial", now=NOW)
    return replace(answer, version=approvals.get(conn, row.id).version)


def beside_the_denied_one(conn: Connection) -> ApprovalRow:
    run = a_run(conn).id
    first, second = an_approval(conn, run), an_approval(conn, run)
    deny(conn, first.id, who=ANNA, now=NOW)
    (ended,) = end_for_run(conn, run, event=ApprovalEvent.CANCEL, reason="stopped with a denial", now=NOW)
    assert ended.id == second.id
    return ended


def expired(conn: Connection) -> ApprovalRow:
    row = an_approval(conn)
    (ended,) = expire_due(conn, row.expires)
    return ended


def gone_stale(conn: Connection) -> ApprovalRow:
    row = an_approval(conn)
    approve(conn, row.id, digest=row.approval_digest, who=ANNA, now=NOW)
    return stale(conn, row.id, "out.txt changed since", NOW)


def superseded(conn: Connection) -> ApprovalRow:
    row = an_approval(conn)
    (ended,) = end_for_run(conn, row.run, event=ApprovalEvent.SUPERSEDE, reason="its transcript is lost", now=NOW)
    return ended


def no_channel(conn: Connection) -> ApprovalRow:
    row = an_approval(conn)
    ended = approvals.move(conn, row.id, ApprovalEvent.NO_CHANNEL, now=NOW, outcome_error=True)
    assert ended is not None
    return ended


def settled(conn: Connection) -> ApprovalRow:
    row = an_approval(conn)
    approve(conn, row.id, digest=row.approval_digest, who=ANNA, now=NOW)
    begin_effect(conn, row.id, now=NOW)
    finish_effect(conn, row.id, event=ApprovalEvent.DOUBT, outcome="", now=NOW)
    return settle(conn, row.id, happened=True, who=ANNA, now=NOW)


def grant_revoked(conn: Connection) -> ApprovalRow:
    grant = Grant(id=GrantId(fresh("g")), tool="Write", profile_digest=PROFILE)
    given = grants.insert(conn, GrantRow(agent="scribe", grant=grant, created=NOW, expires=NOW + 60, uses=1, granted_by=ANNA))
    (row,) = queue(conn, a_request(conn, a_run(conn).id, standing=grants.yes(given)))
    assert isinstance(row, ApprovalRow)
    grants.revoke(conn, given.id, who=ANNA, now=NOW)
    assert begin_effect(conn, row.id, now=NOW) is None
    return approvals.get(conn, row.id)


ANSWERS: dict[str, tuple[Ends, bool, str]] = {
    "approve": (approved, False, "Created it."),
    "approve, the effect fails": (failed, True, "Failed: this call was approved and tried, but did not succeed: no space"),
    "approve with an edit": (
        edited,
        False,
        "Created it.\nA person changed this call before approving it; it was not carried out as you asked. "
        'Changed to: {"content": "better"}',
    ),
    "deny after an edit": (edited_and_denied, True, f"Denied: a person looked at this call and said no. {_AGAIN}"),
    "deny with a reason": (
        denied,
        True,
        f'Denied: a person looked at this call and said no. The reason given: "wrong folder; see [id]". {_AGAIN}',
    ),
    "deny and stop": (denied_and_stopped, True, f"Denied: a person looked at this call and said no. {_AGAIN}"),
    "another is denied and the run stopped": (
        beside_the_denied_one,
        True,
        f'Cancelled: the run was ended before this call was carried out. The reason given: "stopped with a denial". {_AGAIN}',
    ),
    "nobody decides": (
        expired,
        True,
        f'Expired: nobody decided about this call in time. The reason given: "its deadline passed". {_AGAIN}',
    ),
    "approve, the world has changed": (
        gone_stale,
        True,
        "Stale: this call was approved, but what it was approved for has changed since. The reason given: "
        '"out.txt changed since". Nothing was done. Look again, and ask anew if it is still wanted.',
    ),
    "the run can take no answer": (
        superseded,
        True,
        f'Superseded: this run can no longer take an answer to this call. The reason given: "its transcript is lost". {_AGAIN}',
    ),
    "nobody can be asked": (no_channel, True, f"Denied: this run is unattended and nobody can be asked. {_AGAIN}"),
    "settle": (settled, False, "Done. The supervisor was interrupted; a person looked and found it done."),
    "a grant is revoked": (
        grant_revoked,
        True,
        "Stale: this call was approved, but what it was approved for has changed since. The reason given: "
        f'"{WITHDRAWN}". Nothing was done. Look again, and ask anew if it is still wanted.',
    ),
}


@pytest.fixture(scope="module")
def conn(tmp_path_factory: pytest.TempPathFactory) -> object:
    folder: Path = tmp_path_factory.mktemp("answers")
    with opened(folder / "runner.db") as store, store.begin() as conn:
        yield conn


@pytest.mark.parametrize("what", ANSWERS)
def test_each_decision_is_answered_as_documented(what: str, conn: Connection) -> None:
    """D1."""
    ends, error, text = ANSWERS[what]
    row = ends(conn)
    assert (outcome_text(row), is_error(row)) == (text, error)
    assert row.id not in outcome_text(row)


def test_every_no_says_which_it_is_and_not_to_retry_unchanged() -> None:
    """P12: non-empty, a kind of its own, and what to do."""
    nos = [text for _, error, text in ANSWERS.values() if error and not text.startswith("Failed")]
    assert {text.split(":")[0] for text in nos} == {"Denied", "Cancelled", "Expired", "Stale", "Superseded"}
    assert all("Do not retry it unchanged" in text or "ask anew" in text for text in nos)
