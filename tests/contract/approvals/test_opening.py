"""B1, B2, L8: a turn's calls are queued together, bound to their exact bytes, within the caps."""

from dataclasses import fields, replace
from pathlib import PurePosixPath

import pytest

from runner.approvals import Caps, Refusal, Request, deny, expire_due, fits, open_turn
from runner.approvals.denied import DENIED_BEFORE, EARLIER_NO
from runner.digest import approval_digest, call_digest, digest_bytes, parse_strict
from runner.lifecycle import ApprovalState
from runner.model import ApprovalId, Digest, ResolvedPath, Sender, SenderKind
from runner.store import ApprovalRow, Connection, Store, approvals, audit, calls
from tests.helpers.stored import ANNA, DEFINITION, NOW, a_request, a_run, an_approval, fresh, queue

PATHS = (ResolvedPath(asked="./out.txt", resolved=PurePosixPath("/workspace/out.txt")),)
CONTACT = Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="SHA256:abc")


def test_a_row_says_everything_the_request_said(store: Store) -> None:
    """B1: the stored record, field by field."""
    with store.begin() as conn:
        request = a_request(
            conn,
            a_run(conn).id,
            paths=PATHS,
            pre_images={"/workspace/out.txt": digest_bytes(b"old"), "/workspace/new": None},
            post_image=digest_bytes(b"new"),
            warnings=("hidden characters: 2", "x"),
            recorded={"image": "sha256:9"},
            sender=CONTACT,
        )
        (row,) = queue(conn, request)
        assert isinstance(row, ApprovalRow)
        assert approvals.get(conn, row.id) == row
    shared = {field.name for field in fields(Request)} - {"expires_at", "standing"}
    assert {name: getattr(row, name) for name in shared} == {name: getattr(request, name) for name in shared}
    assert (row.state, row.created, row.expires, row.version) == (ApprovalState.PENDING, NOW, request.expires_at, 1)


def test_the_digests_are_those_of_the_stored_bytes(store: Store) -> None:
    """B2."""
    with store.begin() as conn:
        row = an_approval(conn, paths=PATHS)
    arguments = parse_strict(row.raw)
    assert isinstance(arguments, dict)
    call = call_digest(tool="Write", definition=DEFINITION, arguments=arguments, paths=["/workspace/out.txt"])
    whole = approval_digest(call=call, run=row.run, approval=row.id, nonce=row.nonce, pre_images=row.pre_images)
    assert (row.call_digest, row.approval_digest) == (call, whole)
    assert fits(row)


@pytest.mark.parametrize(
    "change",
    [
        {"raw": '{"file_path":"out.txt","content":"y"}'},
        {"raw": "{"},
        {"tool": "Edit"},
        {"definition_digest": Digest("sha256:0")},
        {"paths": (replace(PATHS[0], resolved=PurePosixPath("/workspace/other")),)},
        {"pre_images": {"/workspace/out.txt": Digest("sha256:0")}},
        {"pre_images": {}},
        {"pre_images": {"\ud800": None}},
        {"nonce": "other"},
        {"run": "r_other"},
        {"id": "a_other"},
        {"call_digest": Digest("sha256:0")},
        {"approval_digest": Digest("sha256:0")},
    ],
)
def test_a_row_with_anything_bound_changed_no_longer_fits(store: Store, change: dict[str, object]) -> None:
    """B5: one change each."""
    with store.begin() as conn:
        row = an_approval(conn, paths=PATHS)
    assert not fits(replace(row, **change))  # type: ignore[arg-type]


def test_identical_calls_of_a_turn_are_two_approvals(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn).id
        one, two = queue(conn, a_request(conn, run), a_request(conn, run))
        assert isinstance(one, ApprovalRow)
        assert isinstance(two, ApprovalRow)
        assert approvals.list(conn, run=run) == (one, two)
    assert (one.call_digest, one.approval_digest != two.approval_digest) == (two.call_digest, True)


def test_a_turn_is_queued_whole_or_not_at_all(store: Store) -> None:
    same = ApprovalId(fresh("a"))
    with store.begin() as conn:
        run = a_run(conn).id
        requests = [a_request(conn, run), a_request(conn, run)]
    with pytest.raises(Exception, match="cannot use the database"), store.begin() as conn:
        open_turn(conn, requests, now=NOW, ids=lambda: same, nonces=lambda: "n")
    with store.begin() as conn:
        assert approvals.list(conn) == ()


def test_what_is_over_the_cap_is_refused_and_the_rest_is_queued(store: Store) -> None:
    """L8: 20 of a run, counting those that wait already."""
    with store.begin() as conn:
        run = a_run(conn).id
        an_approval(conn, run)
        opened = queue(conn, *(a_request(conn, run) for _ in range(21)))
        assert [isinstance(one, Refusal) for one in opened] == [False] * 19 + [True] * 2
        assert len(approvals.list(conn, run=run)) == 20
        assert queue(conn, a_request(conn, a_run(conn).id))[0].call is not None
    refused = opened[-1]
    assert isinstance(refused, Refusal)
    assert refused.code == "limit"
    assert refused.reason.startswith("refused: 20 calls of this run already wait for a person")


def test_a_contacts_run_has_fewer_places_than_the_owners(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn, sender=CONTACT).id
        opened = queue(conn, *(a_request(conn, run, sender=CONTACT) for _ in range(4)))
    assert [isinstance(one, Refusal) for one in opened] == [False, False, False, True]


def test_an_input_too_large_to_review_is_refused_by_bytes(store: Store) -> None:
    caps = Caps(input_bytes=len('{"a":"é"}'.encode()))
    with store.begin() as conn:
        run = a_run(conn).id
        requests = [a_request(conn, run, raw='{"a":"é"}'), a_request(conn, run, raw='{"a":"éx"}')]
        fit, over = open_turn(conn, requests, now=NOW, ids=lambda: ApprovalId(fresh("a")), nonces=lambda: "n", caps=caps)
    assert isinstance(fit, ApprovalRow)
    assert isinstance(over, Refusal)
    assert over.code == "too_large_to_review"
    assert Caps().input_bytes == 256 * 1024


@pytest.mark.parametrize(
    "raw", ["", "{", "[]", "null", '{"a":1,"a":2}', '{"a":NaN}', '{"a":"\\ud800"}', '{"a":9007199254740993}']
)
def test_what_cannot_be_read_alike_by_everyone_is_refused(store: Store, raw: str) -> None:
    """B2, B3."""
    with store.begin() as conn:
        (refused,) = queue(conn, a_request(conn, a_run(conn).id, raw=raw))
        assert approvals.list(conn) == ()
    assert isinstance(refused, Refusal)
    assert refused.code == "malformed"


def test_half_characters_in_what_is_shown_become_escapes(store: Store) -> None:
    with store.begin() as conn:
        row = an_approval(conn, preview="a\udc80\0b", warnings=("\udc80",), reason="\0")
        assert approvals.get(conn, row.id) == row
    assert (row.preview, row.warnings, row.reason) == ("a\\udc80\\x00b", ("\\udc80",), "\\x00")


def test_opening_leaves_its_trace_in_the_audit(store: Store) -> None:
    with store.begin() as conn:
        row = an_approval(conn)
        (asked,) = audit.of_subject(conn, row.id)
    assert (asked.event, asked.seq) == ("approval.request", row.opened)
    assert row.approval_digest in asked.data
    assert row.raw not in asked.data


def test_a_standing_yes_approves_in_the_same_transaction_and_crowds_nobody_out(store: Store) -> None:
    """R72: nobody is asked; the row, its digests and its place in the audit are as for any other."""
    one = Caps(per_run=1)
    with store.begin() as conn:
        run = a_run(conn).id
        both = [a_request(conn, run), a_request(conn, run, standing=ANNA)]
        asked, row = open_turn(conn, both, now=NOW, ids=lambda: ApprovalId(fresh("a")), nonces=lambda: "n", caps=one)
        assert isinstance(row, ApprovalRow)
        assert isinstance(asked, ApprovalRow)
        assert (asked.state, row.state, row.decided_by) == (ApprovalState.PENDING, ApprovalState.APPROVED, ANNA)
        assert approvals.get(conn, row.id) == row
        assert [link.event for link in audit.of_subject(conn, row.id)] == ["approval.request", "approval.approve"]


def test_what_a_person_denied_is_not_asked_again_in_the_run(store: Store) -> None:
    """B10: on record as denied at once, with an outcome for the agent; other calls and other runs are asked about."""
    with store.begin() as conn:
        run, other = a_run(conn).id, a_run(conn).id
        first = an_approval(conn, run)
        deny(conn, first.id, who=ANNA, reason="no", now=NOW)
        again, changed, elsewhere = queue(
            conn,
            a_request(conn, run, turn=2),
            a_request(conn, run, turn=2, raw='{"file_path":"out.txt","content":"y"}'),
            a_request(conn, other, turn=2),
        )
        assert isinstance(again, ApprovalRow)
        assert isinstance(changed, ApprovalRow)
        assert isinstance(elsewhere, ApprovalRow)
        states = [again.state, changed.state, elsewhere.state]
        assert states == [ApprovalState.DENIED, ApprovalState.PENDING, ApprovalState.PENDING]
        assert (again.why, again.decided_by, approvals.pending(conn, run)) == (DENIED_BEFORE, EARLIER_NO, 1)
        assert "not asked again" in str(calls.get(conn, again.call).outcome)
        assert [link.event for link in audit.of_subject(conn, again.id)] == ["approval.request", "approval.deny"]


def test_what_expired_or_was_approved_is_asked_again_and_a_standing_yes_stands(store: Store) -> None:
    """B10: only a person's no is an answer to the same question."""
    with store.begin() as conn:
        run = a_run(conn).id
        expired = an_approval(conn, run, expires_at=NOW)
        assert [row.id for row in expire_due(conn, NOW)] == [expired.id]
        waiting = an_approval(conn, run)
        assert waiting.state is ApprovalState.PENDING
        deny(conn, waiting.id, who=ANNA, now=NOW)
        (standing,) = queue(conn, a_request(conn, run, standing=ANNA))
        assert isinstance(standing, ApprovalRow)
        assert standing.state is ApprovalState.APPROVED


def opened_with(conn: Connection, caps: Caps, *requests: Request, now: float = NOW) -> list[str]:
    """What became of each request: its state, or why it was refused."""
    found = open_turn(conn, requests, now=now, ids=lambda: ApprovalId(fresh("a")), nonces=lambda: fresh("n"), caps=caps)
    return [row.reason if isinstance(row, Refusal) else row.state.value for row in found]


@pytest.mark.parametrize("caps", [Caps(per_agent=4), Caps(overall=4)])
def test_an_agent_and_the_whole_host_have_caps_of_which_half_is_the_owners(caps: Caps, store: Store) -> None:
    """L8: over several runs, so that no cap of one run is met; a standing yes waits for nobody."""
    with store.begin() as conn:
        theirs = [a_request(conn, a_run(conn).id, sender=CONTACT) for _ in range(3)]
        *waiting, refused = opened_with(conn, caps, *theirs)
        assert (waiting, "too many calls wait" in refused) == (["pending", "pending"], True)
        mine = [a_request(conn, a_run(conn).id) for _ in range(3)]
        *waiting, refused = opened_with(conn, caps, *mine)
        assert (waiting, "too many calls wait" in refused) == (["pending", "pending"], True)
        standing = a_request(conn, a_run(conn).id, standing=ANNA)
        assert opened_with(conn, caps, standing) == ["approved"]


def test_one_agents_cap_is_not_anothers(store: Store) -> None:
    """L8."""
    with store.begin() as conn:
        asked = [a_request(conn, a_run(conn).id, agent=agent) for agent in ("scribe", "scribe", "reader")]
        first, second, other = opened_with(conn, Caps(per_agent=1), *asked)
        assert (first, "too many" in second, other) == ("pending", True, "pending")


def test_a_run_asks_only_so_much_in_a_minute_answered_or_not(store: Store) -> None:
    """L8."""
    with store.begin() as conn:
        run = a_run(conn).id
        caps = Caps(per_minute=2)
        raws = [f'{{"file_path":"{number}"}}' for number in range(5)]
        requests = [a_request(conn, run, raw=raw) for raw in raws]
        assert opened_with(conn, caps, *requests[:2]) == ["pending", "pending"]
        for row in approvals.list(conn, run=run):
            deny(conn, row.id, who=ANNA, now=NOW)
        (over,) = opened_with(conn, caps, requests[2], now=NOW + 59)
        assert over.startswith("refused: this run has asked for 2 calls within a minute")
        assert opened_with(conn, caps, requests[3], a_request(conn, a_run(conn).id), now=NOW + 60) == ["pending", "pending"]


def test_many_captures_of_one_contact_are_no_way_round_and_crowd_no_other_out(store: Store) -> None:
    """L8: per sender first; the next contact and the owner have their own places."""
    other = replace(CONTACT, fingerprint="SHA256:other")
    with store.begin() as conn:
        asked = [a_request(conn, a_run(conn, sender=CONTACT).id, sender=CONTACT) for _ in range(13)]
        *waiting, refused = opened_with(conn, Caps(), *asked)
        assert (set(waiting), refused.startswith("refused: 12 calls of this sender")) == ({"pending"}, True)
        rest = [a_request(conn, a_run(conn, sender=other).id, sender=other), a_request(conn, a_run(conn).id)]
        assert opened_with(conn, Caps(), *rest) == ["pending", "pending"]
