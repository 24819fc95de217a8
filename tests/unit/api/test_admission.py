"""What is asked of a request that releases something: an approver's key and no tripwire (W2, W3)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.api.access import Access
from runner.api.admission import Admission
from runner.api.client import Client
from runner.api.credential import LIFETIME, WINDOW, Credentials, sign
from runner.api.markers import MARKERS
from runner.api.routes import ROUTES
from runner.api.tripwire import agent_program
from runner.captures import ed25519
from runner.errors import CredentialNeededError, DigestMismatchError, NotAllowedError
from runner.model import JsonObject
from tests.helpers.fake_service import APPROVAL, DIGEST, FakeService, served

ANNA, BEN = ed25519.make(), ed25519.make()
ACT = f"approvals/{APPROVAL}/approve"
BODY: JsonObject = {"digest": DIGEST, "reason": "fine"}
#: Requests that change something and release nothing: a no, a stop, a look, more time, a new question.
RELEASES_NOTHING = {
    ("POST", f"/v1/{path}")
    for path in (
        "captures",
        "contacts/{ref}/captures",
        "threads/{ref}/captures",
        "replies/{ref}/deny",
        "contacts/{ref}/block",
        "contacts/{ref}/unverify",
        "contacts/{ref}/remove",
        "captures/{ref}/dismiss",
        "runs/{ref}/resume",
        "runs/{ref}/stop",
        "approvals/{ref}/deny",
        "approvals/{ref}/deny-and-save",
        "approvals/{ref}/extend",
        "approvals/{ref}/edit",
        "notices/test",
        "grants/plan",
        "grants/{ref}/revoke",
        "approvals/{ref}/shown",
        "replies/{ref}/shown",
        "batch/deny",
        "profiles/{ref}/retire",
        "shares/plan",
        "shares/{ref}/withdraw",
        "pause",
    )
}


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def credentials(clock: Clock) -> Credentials:
    numbers = itertools.count()
    return Credentials({"anna": ANNA.public}, clock=clock, nonces=lambda: f"nonce-{next(numbers)}")


def signed(credentials: Credentials, clock: Clock, key: ed25519.SecretKey = ANNA, **changes: Any) -> JsonObject:
    """The body with a credential for a fresh challenge; `changes` are of what is signed."""
    said = {"act": ACT, "body": BODY, "time": int(clock.now), "nonce": credentials.challenge()} | changes
    return {**BODY, "credential": sign(key, said["act"], said["body"], time=said["time"], nonce=said["nonce"])}


def test_a_signature_over_this_very_request_is_accepted_once(credentials: Credentials, clock: Clock) -> None:
    """W2: replay is refused."""
    body = signed(credentials, clock)
    proof = credentials.check(ACT, body)
    assert (proof.name, proof.key_id) == ("anna", ed25519.fingerprint(ANNA.public))
    with pytest.raises(NotAllowedError, match="unknown, spent or too old"):
        credentials.check(ACT, body)


@pytest.mark.parametrize(
    ("act", "body"),
    [
        (f"approvals/{APPROVAL}/settle", BODY),
        ("approvals/a_another/approve", BODY),
        (ACT, {**BODY, "digest": DIGEST[:-1] + "0"}),
        (ACT, {**BODY, "reason": "other words"}),
        (ACT, {**BODY, "reason": None}),
        (ACT, {**BODY, "verdict": "allow"}),
        (ACT, {"digest": DIGEST}),
    ],
)
def test_a_signature_over_anything_else_is_refused(act: str, body: JsonObject, credentials: Credentials, clock: Clock) -> None:
    """W2: verb, id, digest, reason and every other field are signed."""
    with pytest.raises(NotAllowedError, match="not one over this request"):
        credentials.check(ACT, signed(credentials, clock, act=act, body=body))


def test_a_key_that_is_not_listed_signs_nothing(credentials: Credentials, clock: Clock) -> None:
    with pytest.raises(NotAllowedError, match="none of the approvers'"):
        credentials.check(ACT, signed(credentials, clock, BEN))


def test_a_listed_name_with_anothers_signature_is_refused(credentials: Credentials, clock: Clock) -> None:
    body = signed(credentials, clock, BEN)
    forged: Any = body["credential"]
    forged["key"] = ANNA.public
    with pytest.raises(NotAllowedError, match="not one over this request"):
        credentials.check(ACT, body)


@pytest.mark.parametrize("off", [WINDOW + 1, -WINDOW - 1])
def test_an_old_signature_and_one_from_the_future_are_refused(off: float, credentials: Credentials, clock: Clock) -> None:
    with pytest.raises(NotAllowedError, match="signed more than"):
        credentials.check(ACT, signed(credentials, clock, time=int(clock.now + off)))


def test_a_challenge_is_ours_and_lasts_a_while(credentials: Credentials, clock: Clock) -> None:
    with pytest.raises(NotAllowedError, match="unknown, spent or too old"):
        credentials.check(ACT, signed(credentials, clock, nonce="nonce-made-up"))
    kept = credentials.challenge()
    clock.now += LIFETIME
    with pytest.raises(NotAllowedError, match="unknown, spent or too old"):
        credentials.check(ACT, signed(credentials, clock, nonce=kept))


def test_a_refused_signature_spends_its_challenge(credentials: Credentials, clock: Clock) -> None:
    """Nobody gets to try twice on one challenge."""
    nonce = credentials.challenge()
    with pytest.raises(NotAllowedError):
        credentials.check(ACT, signed(credentials, clock, BEN, nonce=nonce))
    with pytest.raises(NotAllowedError, match="spent"):
        credentials.check(ACT, signed(credentials, clock, nonce=nonce))


@pytest.mark.parametrize(
    "junk",
    [
        7,
        "x",
        [],
        {},
        {"key": 1, "time": 1, "nonce": 1, "signature": 1},
        {"key": "k", "time": True, "nonce": "n", "signature": "s"},
    ],
)
def test_junk_in_its_place_is_refused(junk: Any, credentials: Credentials) -> None:
    with pytest.raises(NotAllowedError):
        credentials.check(ACT, {**BODY, "credential": junk})


def test_every_request_that_could_release_something_asks_for_it() -> None:
    """W2: a route is marked, or stands on the short list above; a new one has to choose."""
    changing = {(route.method, route.path) for route in ROUTES if route.method != "GET"}
    marked = {(route.method, route.path) for route in ROUTES if route.releases}
    assert changing - marked == RELEASES_NOTHING
    assert all(route.cap and route.access is not Access.READ for route in ROUTES if route.releases)


Serve = Callable[[Admission], tuple[FakeService, Path]]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """A control socket with an admission of the test's own."""
    open_ones: list[Any] = []

    def served_with(admission: Admission) -> tuple[FakeService, Path]:
        service = FakeService()
        manager = served(service, tmp_path / "run", admission=admission)
        open_ones.append(manager)
        return service, manager.__enter__()

    yield served_with
    for manager in open_ones:
        manager.__exit__(None, None, None)


def test_over_the_socket_a_yes_without_a_key_releases_nothing_and_one_with_it_is_the_keys_owner(
    serve: Serve, credentials: Credentials, clock: Clock
) -> None:
    """W2, W4: and a no needs none."""
    service, path = serve(Admission(credentials=credentials, signs=None))
    with Client(path) as bare, pytest.raises(CredentialNeededError) as caught:
        bare.post("approvals", APPROVAL, "approve", body=BODY)
    assert caught.value.exit_code == 7

    def anna(act: str, body: JsonObject, nonce: str) -> JsonObject:
        return sign(ANNA, act, body, time=int(clock.now), nonce=nonce)

    def ben(act: str, body: JsonObject, nonce: str) -> JsonObject:
        return sign(BEN, act, body, time=int(clock.now), nonce=nonce)

    with Client(path, signer=ben) as other, pytest.raises(NotAllowedError, match="none of the approvers'"):
        other.post("approvals", APPROVAL, "approve", body=BODY)
    assert service.decisions == []
    assert [name for name, _ in service.asked] == ["approval.credential"]
    with Client(path, signer=anna) as client:
        client.post("approvals", APPROVAL, "approve", body=BODY)
    who: Any = service.asked[-1][1]
    assert (who[2].name, who[2].method, who[2].key_id) == ("anna", "key", ed25519.fingerprint(ANNA.public))
    assert who[2].host
    service.approval_row["state"] = "pending"
    with Client(path) as bare:
        bare.post("approvals", APPROVAL, "deny", body={"reason": None, "stop": False})
    assert service.decisions == ["approve", "deny"]


@pytest.mark.parametrize("marker", MARKERS)
def test_a_yes_from_within_an_agents_shell_is_refused_and_on_record(
    marker: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W3: exit 7; a no is taken from anywhere."""
    for name in MARKERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(marker, "1")
    none = Credentials({}, clock=lambda: 0.0, nonces=lambda: "n")
    service, path = serve(Admission(credentials=none, signs=lambda pid: ()))
    with Client(path) as client:
        with pytest.raises(NotAllowedError, match="agent's shell") as caught:
            client.post("approvals", APPROVAL, "approve", body=BODY)
        client.post("approvals", APPROVAL, "deny", body={"reason": None, "stop": False})
    assert caught.value.exit_code == 7
    assert service.decisions == ["deny"]
    name, facts = service.asked[0]
    assert (name, facts[:3]) == ("approval.tripwire", (ACT, APPROVAL, marker))  # type: ignore[index]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (["claude", "-p"], True),
        (["/usr/local/bin/claude"], True),
        (["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"], True),
        (["node", "/usr/bin/codex"], True),
        (["python3.11", "/home/u/.local/bin/aider"], True),
        (["bash", "claude"], False),
        (["vim", "/home/u/claude"], False),
        (["node", "server.js"], False),
        (["/home/claude/bin/zsh"], False),
        ([], False),
    ],
)
def test_agent_programs_are_known_by_their_names(command: list[str], found: bool) -> None:
    assert (agent_program(command) is not None) is found


def test_a_profile_that_changed_after_it_was_checked_is_not_published(serve: Serve, tmp_path: Path) -> None:
    """W2: the signature is over the digest of what was checked."""
    none = Credentials({}, clock=lambda: 0.0, nonces=lambda: "n")
    service, path = serve(Admission(credentials=none, signs=None))
    (tmp_path / "agent").mkdir()
    file = tmp_path / "agent.toml"
    lines = ['schema = 1\nname = "x"\ndescription = "d"\nkind = "claude-sdk"\nmodel = "m"\nsystem_prompt = "s"\n']
    file.write_text("".join([*lines, f'cwd = "{tmp_path}/agent"\ntools = ["Read"]\n']))
    with Client(path) as client:
        with pytest.raises(DigestMismatchError):
            client.post("profiles", body={"path": str(file), "digest": DIGEST})
        assert service.decisions == []
        client.post("profiles", body={"path": str(file)})
    assert service.decisions == ["publish"]
