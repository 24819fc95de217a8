"""The network's door: who is let in, in which order it looks, and what a stranger learns (issue 8)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.captures import BOUNDS, ed25519, signing
from runner.captures.ed25519 import SecretKey
from runner.captures.signing import WINDOW
from runner.errors import CaptureError
from runner.lifecycle import CaptureState
from runner.model import Capture, Sender, SenderKind
from runner.store import audit, captures, pausing, profiles, runs
from tests.helpers import pictures
from tests.helpers.door import AsTheyCame, Door, a_body, a_door, reason
from tests.helpers.stored import ANNA

STRANGER = (404, {"error": {"code": "refused", "message": "the other side does not take it from this key"}})


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with a_door(tmp_path) as door:
        yield door


@pytest.fixture
def maria(door: Door) -> SecretKey:
    return door.meet()


def stored(door: Door) -> int:
    with door.store.reading() as conn:
        return len(captures.listing(conn))


def test_a_signed_capture_is_taken_queued_and_answered_with_a_receipt(door: Door, maria: SecretKey) -> None:
    """R55, S1: strict, under the petname and the fingerprint that the owner's own list has."""
    answer = door.post(maria)
    assert answer.status_code == 200, answer.text
    receipt = answer.json()
    with door.store.reading() as conn:
        (run,) = runs.of_capture(conn, captures.find(conn, receipt["capture"]).id)
    assert receipt["state"] == "received"
    assert (run.sender.petname, run.strict) == ("maria", True)
    assert [attempt.run for attempt in door.queued] == [run.id]


def test_the_same_capture_again_is_the_same_receipt_and_never_a_second_run(door: Door, maria: SecretKey) -> None:
    """R36: retried with a fresh signature, also when nothing new would be taken any more."""
    first = door.post(maria).json()
    with door.store.begin() as conn:
        pausing.pause(conn, who=ANNA, reason=None, now=door.now)
    assert door.post(maria).json() == first
    assert len(door.queued) == stored(door) == 1


def test_other_bytes_under_the_same_key_are_refused(door: Door, maria: SecretKey) -> None:
    key = "a" * 32
    assert door.post(maria, idempotency_key=key).status_code == 200
    assert reason(door.post(maria, a_body("another"), idempotency_key=key)) == "conflict"
    assert stored(door) == 1


def test_a_request_seen_before_is_refused(door: Door, maria: SecretKey) -> None:
    """Replayed: byte for byte, and with the nonce of one that was refused."""
    body = a_body()
    head = door.headers(maria, body)
    assert door.request("POST", "/v1/captures", head, body).status_code == 200
    assert reason(door.request("POST", "/v1/captures", head, body)) == "replayed"
    other = a_body("another")
    refused = door.headers(maria, other, runner_agent="nobody")
    assert reason(door.request("POST", "/v1/captures", refused, other)) == "not_for_you"
    assert reason(door.request("POST", "/v1/captures", refused, other)) == "replayed"


def test_a_nonce_is_remembered_as_long_as_its_request_could_come_again(door: Door, maria: SecretKey) -> None:
    head = door.headers(maria, a_body())
    assert door.request("POST", "/v1/captures", head, a_body()).status_code == 200
    door.now += WINDOW - 1
    assert reason(door.request("POST", "/v1/captures", head, a_body())) == "replayed"
    door.now += 2
    assert reason(door.request("POST", "/v1/captures", head, a_body())) == "clock"


@pytest.mark.parametrize("drift", [-WINDOW - 1, WINDOW + 1])
def test_a_clock_that_is_off_is_told_so_to_a_known_key_only(door: Door, maria: SecretKey, drift: float) -> None:
    """Expired, or from the future."""
    mine, theirs = door.headers(maria, a_body()), door.headers(ed25519.make(), a_body())
    door.now -= drift
    answer = door.request("POST", "/v1/captures", mine, a_body())
    assert (reason(answer), f"{drift:+.0f} s" in answer.text) == ("clock", True)
    answer = door.request("POST", "/v1/captures", theirs, a_body())
    assert (answer.status_code, answer.json()) == STRANGER


def test_a_known_key_hears_why_and_nothing_is_stored(door: Door, maria: SecretKey) -> None:
    """Issue 8: retired, too large, paused; an agent that does not list it is one that there is not."""
    door.publish(name="private", contacts=())
    door.publish(name="old")
    with door.store.begin() as conn:
        profiles.retire(conn, "old", who=ANNA, now=door.now)
    before = stored(door)
    for agent, why, status in (("private", "not_for_you", 403), ("nobody", "not_for_you", 403), ("old", "retired", 410)):
        answer = door.post(maria, a_body(agent=agent), runner_agent=agent)
        assert (reason(answer), answer.status_code) == (why, status)
    unlisted, absent = (door.post(maria, runner_agent=name).content for name in ("private", "nobody"))
    assert unlisted == absent
    with door.store.begin() as conn:
        pausing.pause(conn, who=ANNA, reason="away", now=door.now)
    assert reason(door.post(maria)) == "paused"
    assert stored(door) == before == 0


def test_what_is_too_large_is_refused_before_it_is_uploaded(door: Door, maria: SecretKey) -> None:
    digest = hashlib.sha256(b"x").hexdigest()
    path = f"/v1/captures/check?agent=tester&key={'a' * 32}&digest={digest}&length={BOUNDS.wire_bytes + 1}"
    assert reason(door.get(maria, path)) == "too_large"
    path = path.replace(str(BOUNDS.wire_bytes + 1), "5").replace("a" * 32, "b" * 32)
    assert door.get(maria, path).json() == {"state": "welcome"}


def test_the_next_one_over_twenty_in_an_hour_waits_for_the_first_to_be_an_hour_old(door: Door, maria: SecretKey) -> None:
    """R24, and the same for people; another contact is not held up by it."""
    door.publish(contacts=("maria", "ben"))
    for number in range(20):
        assert door.post(maria, a_body(f"{number}")).status_code == 200
        door.now += 10
    answer = door.post(maria, a_body("20"))
    assert (reason(answer), answer.status_code) == ("rate", 429)
    assert answer.json()["error"]["retry_after"] == 3600 - 200 == int(answer.headers["retry-after"])
    assert door.post(door.meet("ben")).status_code == 200
    door.now += 3401
    assert door.post(maria, a_body("20")).status_code == 200


class NoPictures:
    """Decoders that make nothing of any picture, and count how often they are asked."""

    asked = 0

    async def clean(self, capture: Capture, *, sender: Sender) -> Capture:
        """Never."""
        assert sender.kind is not SenderKind.OWNER
        self.asked += bool(capture.images)
        raise CaptureError("cannot take image 1: it cannot be decoded")


def test_captures_that_cannot_be_decoded_are_counted_too(door: Door, maria: SecretKey, monkeypatch: pytest.MonkeyPatch) -> None:
    """R24: what never arrives would count nowhere; the 21st is refused before a byte of it is uploaded, another's is not."""
    door.reception.pictures = decoders = NoPictures()
    image = {"name": "x", "media_type": "image/png", "data": base64.b64encode(pictures.png()).decode()}
    door.publish(contacts=("maria", "ben"))
    codes = [reason(door.post(maria, a_body(f"{number}", images=[image]))) for number in range(22)]
    assert codes == ["malformed"] * 20 + ["rate"] * 2
    assert decoders.asked == 20
    digest = hashlib.sha256(b"x").hexdigest()
    assert reason(door.get(maria, f"/v1/captures/check?agent=tester&key={'a' * 32}&digest={digest}&length=5")) == "rate"
    assert reason(door.post(door.meet("ben"), a_body(images=[image]))) == "malformed"
    door.now += 3600
    door.reception.pictures = AsTheyCame()
    taken = [door.post(maria, a_body(f"{number}", images=[image])).status_code for number in range(20)]
    assert taken == [200] * 20


def strangers(door: Door, maria: SecretKey) -> Iterator[tuple[str, int, object]]:
    """What everybody who is not proven to be a contact is answered."""
    body, nobody = a_body(), ed25519.make()
    good = door.headers(maria, body)
    blocked = door.meet("mallory")
    asyncio.run(door.contacts.block("mallory", blocked=True, who=ANNA))
    tries: dict[str, tuple[str, str, dict[str, str]]] = {
        "no signature": ("POST", "/v1/captures", {"content-type": "application/json"}),
        "unknown key": ("POST", "/v1/captures", door.headers(nobody, body)),
        "unknown key, unknown agent": ("POST", "/v1/captures", door.headers(nobody, body, runner_agent="nobody")),
        "blocked": ("POST", "/v1/captures", door.headers(blocked, body)),
        "agent changed": ("POST", "/v1/captures", good | {"runner-agent": "other"}),
        "digest changed": ("POST", "/v1/captures", good | {"content-digest": signing.digest_header(b"0" * 32)}),
        "key for it changed": ("POST", "/v1/captures", good | {"idempotency-key": "f" * 32}),
        "signature of another": ("POST", "/v1/captures", good | {"Signature": door.headers(nobody, body)["Signature"]}),
        "garbage": ("POST", "/v1/captures", good | {"Signature-Input": "sig=(;;", "Signature": "sig=:"}),
        "two labels": ("POST", "/v1/captures", good | {"Signature": good["Signature"] + ", b=:AAAA:"}),
        "another path": ("GET", "/v1/captures/check", door.sign("GET", "/v1/captures/c_1", {}, key=maria)),
        "no such place": ("GET", "/v1/runs", door.sign("GET", "/v1/runs", {}, key=maria)),
        "no such method": ("PUT", "/v1/captures", good),
        "many headers": ("POST", "/v1/captures", good | {f"x-{number}": "1" for number in range(40)}),
        "somebody's capture": ("GET", "/v1/captures/c_0123456789abcdef", {}),
    }
    for name, (method, path, head) in tries.items():
        answer = door.request(method, path, head, body if method != "GET" else None)
        yield name, answer.status_code, answer.json()


def test_a_stranger_learns_nothing_whatever_is_wrong(door: Door, maria: SecretKey) -> None:
    """Issue 8: same status, same body; counted, and nothing else kept."""
    with door.store.reading() as conn:
        before = audit.length(conn)
    found = {name: (status, body) for name, status, body in strangers(door, maria)}
    assert {name: answer for name, answer in found.items() if answer != STRANGER} == {}
    with door.store.reading() as conn:
        events = [row.event for row in audit.after(conn, before, 100)]
    assert (events, stored(door)) == (["contact.add", "contact.block"], 0)
    assert sum(door.tally._refused.values()) == len(found)


def test_a_key_that_nobody_has_is_checked_like_one_that_somebody_has(
    door: Door, maria: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work that tells a contact's key from none is the same: one signature is verified either way."""
    checked: list[str] = []
    real = ed25519.verify
    monkeypatch.setattr(ed25519, "verify", lambda key, *rest: checked.append(key) or real(key, *rest))
    bad = door.headers(maria, a_body()) | {"runner-agent": "other"}
    door.request("POST", "/v1/captures", bad, a_body())
    door.post(ed25519.make())
    assert len(checked) == 2
    assert checked[0] == maria.public


def test_a_signature_for_another_purpose_or_another_place_does_not_fit(
    door: Door, maria: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signing, "TAG", "something-else")
    other = door.headers(maria, a_body())
    monkeypatch.undo()
    assert door.request("POST", "/v1/captures", other, a_body()).status_code == 404
    here, door.origin = door.origin, "https://another.example"
    elsewhere = door.headers(maria, a_body())
    door.origin = here
    assert door.request("POST", "/v1/captures", elsewhere, a_body()).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"agent": "tester"}',
        b'{"agent": "tester", "note": 1}',
        b'{"agent": "tester", "note": "a", "note": "b"}',
        b'{"agent": "tester", "note": "a", "sender": "you"}',
        b'{"agent": "tester", "note": ' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"agent": "other", "note": "x"}',
        b'{"agent": "tester", "note": "\\ud800"}',
        b'{"agent": "tester", "images": [{"name": "x", "media_type": "image/png", "data": "AAAA"}]}',
    ],
)
def test_a_capture_that_is_none_is_refused_and_leaves_nothing(door: Door, maria: SecretKey, body: bytes) -> None:
    """Issue 8 bad input: malformed, nested, mistyped, badly encoded; S3: who sent it is no field of it."""
    answer = door.post(maria, body)
    assert (reason(answer), answer.status_code, stored(door)) == ("malformed", 400, 0)


def test_bytes_that_are_not_the_signed_ones_are_refused(door: Door, maria: SecretKey) -> None:
    body = a_body("look at that")
    head = door.headers(maria, body)
    answer = door.request("POST", "/v1/captures", head, a_body("look at thus"))
    assert (reason(answer), stored(door)) == ("malformed", 0)


@pytest.mark.parametrize(
    "change",
    [
        {"content_type": "text/plain"},
        {"content_encoding": "gzip"},
        {"idempotency_key": "short"},
        {"idempotency_key": "../" * 12},
        {"runner_agent": "Tester"},
        {"content_digest": "sha-512=:" + "A" * 86 + "==:"},
    ],
)
def test_a_head_in_no_form_of_ours_is_refused(door: Door, maria: SecretKey, change: dict[str, str]) -> None:
    answer = door.post(maria, **change)
    assert (reason(answer), stored(door)) == ("malformed", 0)


def test_only_its_own_sender_hears_of_a_capture(door: Door, maria: SecretKey) -> None:
    """Received, answered or closed, and nothing finer; another contact's is none at all."""
    ben = door.meet("ben")
    mine = door.post(maria).json()["capture"]
    assert door.get(maria, f"/v1/captures/{mine}").json() == {"capture": mine, "state": "received", "reply": None}
    others, none = door.get(ben, f"/v1/captures/{mine}"), door.get(ben, "/v1/captures/c_0123456789abcdef")
    assert (others.status_code, others.content) == (none.status_code, none.content)
    assert reason(others) == "not_found"
    prefix = door.get(maria, f"/v1/captures/{mine[:10]}")
    assert reason(prefix) == "not_found"


def test_a_run_that_ended_without_a_reply_is_closed_to_its_sender(door: Door, maria: SecretKey) -> None:
    mine = door.post(maria).json()["capture"]
    asyncio.run(door.contacts.block("maria", blocked=True, who=ANNA))
    asyncio.run(door.contacts.block("maria", blocked=False, who=ANNA))
    assert door.get(maria, f"/v1/captures/{mine}?wait=1").json()["state"] == "closed"


def test_a_block_and_a_removal_hold_from_the_next_request_on(door: Door, maria: SecretKey) -> None:
    assert door.post(maria).status_code == 200
    asyncio.run(door.contacts.block("maria", blocked=True, who=ANNA))
    assert door.post(maria, a_body("2")).status_code == 404
    asyncio.run(door.contacts.block("maria", blocked=False, who=ANNA))
    assert door.post(maria, a_body("3")).status_code == 200
    asyncio.run(door.contacts.remove("maria", who=ANNA))
    assert door.post(maria, a_body("4")).status_code == 404
    assert stored(door) == 2


def test_a_contact_blocked_behind_this_process_s_back_is_refused_by_the_rows(door: Door, maria: SecretKey) -> None:
    """Another supervisor on the same database may have blocked it: what is kept of keys here decides nothing."""
    assert door.post(maria).status_code == 200
    with door.store.begin() as conn:
        conn.exec_driver_sql("UPDATE contacts SET blocked = 1.0")
    assert door.post(maria, a_body("2")).status_code == 404


def test_a_sender_nobody_verified_is_told_no_more_than_others_and_waits_as_a_stub(door: Door) -> None:
    """R22, R32, C22."""
    key = door.meet("carl", verified=False)
    door.publish(contacts=("carl",))
    receipt = door.post(key).json()
    assert receipt["state"] == "received"
    with door.store.reading() as conn:
        assert captures.find(conn, receipt["capture"]).state is CaptureState.STUB
    assert door.queued == []


def test_a_contact_that_asks_too_often_is_slowed(door: Door, maria: SecretKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.api.ingress_gate.PACE", 3)
    path = f"/v1/captures/c_{'0' * 16}"
    assert [reason(door.get(maria, path)) for _ in range(5)] == ["not_found"] * 3 + ["rate"] * 2
    assert door.get(ed25519.make(), path).status_code == 404


def test_what_is_under_way_together_is_bounded(door: Door, maria: SecretKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.api.ingress.IN_FLIGHT", 10)
    answer = door.post(maria)
    assert (reason(answer), answer.status_code, stored(door)) == ("busy", 503, 0)


def test_a_database_that_fails_is_busy_to_everybody(door: Door, maria: SecretKey, monkeypatch: pytest.MonkeyPatch) -> None:
    from runner.errors import StoreError

    def broken(_: object) -> None:
        raise StoreError("cannot use the database: gone", details="/secret/path")

    monkeypatch.setattr(type(door.reception), "keys", broken)
    answer = door.post(maria, idempotency_key=os.urandom(16).hex())
    assert (reason(answer), "secret" in answer.text) == ("busy", False)


def test_a_flood_of_refusals_is_slowed_and_told_nothing_by_it(
    door: Door, maria: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond so many in a second each waits, contacts' too; what it is answered stays the same."""
    monkeypatch.setattr("runner.api.ingress.FLOOD", 2)
    answers = [door.request("POST", "/v1/captures", {}, b"") for _ in range(30)]
    assert {(answer.status_code, answer.content) for answer in answers} == {(404, answers[0].content)}
    assert 0 < len(door.rests) <= 28
    assert door.post(maria).status_code == 200
