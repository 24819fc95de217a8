"""RFC 9421 signatures of a sender's requests: what is covered cannot change, and nothing else verifies."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.captures import ed25519, keys, signing
from runner.captures.signing import SignatureError, Signed

KEY, OTHER = ed25519.make(), ed25519.make()
URL = "https://agents.example:8443/v1/captures"
BODY = b'{"agent":"scribe","note":"x"}'
HEAD = {
    "content-type": "application/json",
    "content-length": str(len(BODY)),
    "content-digest": signing.digest_header(hashlib.sha256(BODY).digest()),
    "runner-agent": "scribe",
    "idempotency-key": "a" * 32,
}
NONCE = "f" * 32


def signed(method: str = "POST", url: str = URL) -> dict[str, str]:
    return signing.sign(method, url, HEAD if method == "POST" else {}, key=KEY, nonce=NONCE, now=1_700_000_000.0)


def check(head: dict[str, str], *, method: str = "POST", url: str = URL, public: str = KEY.public) -> Signed:
    lines = [(name.lower(), value) for name, value in head.items()]
    return signing.verified(signing.message(method, url, lines), public=public, name=keys.shown(KEY.public))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_was_signed_verifies_and_says_when_and_which(method: str) -> None:
    head = signed(method)
    assert check(head, method=method) == Signed(nonce=NONCE, created=1_700_000_000.0)
    assert signing.claimed_key({name.lower(): value for name, value in head.items()}) == keys.shown(KEY.public)


@pytest.mark.parametrize("name", sorted(HEAD))
def test_no_covered_header_can_change_or_go(name: str) -> None:
    head = signed()
    for change in ({name: head[name] + "0"}, {name: f"x{head[name]}"}):
        with pytest.raises(SignatureError):
            check(head | change)
    with pytest.raises(SignatureError):
        check({key: value for key, value in head.items() if key != name})


def test_method_address_and_path_are_covered() -> None:
    head = signed()
    for url in (
        URL + "/check",
        URL + "?x=1",
        URL.replace("https", "http"),
        URL.replace("8443", "8444"),
        URL.replace("agents", "a"),
    ):
        with pytest.raises(SignatureError):
            check(head, url=url)
    with pytest.raises(SignatureError):
        check(head, method="PUT")


def test_another_key_does_not_verify() -> None:
    with pytest.raises(SignatureError):
        check(signed(), public=OTHER.public)


@pytest.mark.parametrize(
    "change",
    [
        ("created=1700000000;", ""),
        ("created=1700000000", "created=1700000001"),
        (f'nonce="{NONCE}"', 'nonce="short"'),
        (f';nonce="{NONCE}"', ""),
        ('tag="runner-capture"', 'tag="other"'),
        ('alg="ed25519"', 'alg="hmac-sha256"'),
        ('"@method" ', ""),
        ('"runner-agent" ', ""),
        ("sig=(", "sig=((("),
        ("created=1700000000", "created=1700000000.5"),
        ("created=1700000000", 'created="now"'),
        ("created=1700000000", "created=99999999999999999999"),
    ],
)
def test_parameters_cannot_change(change: tuple[str, str]) -> None:
    head = signed()
    before = head["Signature-Input"]
    after = before.replace(*change)
    assert after != before
    with pytest.raises(SignatureError):
        check(head | {"Signature-Input": after})


@given(garbage=st.text(max_size=80), field=st.sampled_from(["Signature", "Signature-Input", "both"]))
def test_garbage_is_a_refusal_and_never_an_accident(garbage: str, field: str) -> None:
    head = signed()
    head |= {name: garbage for name in ("Signature", "Signature-Input") if field in (name, "both")}
    if head == signed():
        return
    with pytest.raises(SignatureError):
        check(head)


def test_every_bit_of_a_signature_counts() -> None:
    head = signed()
    raw = bytearray(base64.b64decode(head["Signature"].removeprefix("sig=:").removesuffix(":")))
    for at in range(0, len(raw), 7):
        raw[at] ^= 1
        with pytest.raises(SignatureError):
            check(head | {"Signature": f"sig=:{base64.b64encode(raw).decode()}:"})
        raw[at] ^= 1


@pytest.mark.parametrize(
    "text", ["", "sha-256=", "sha-256=:AAAA:", "SHA-256=:" + "A" * 43 + "=:", "sha-512=:" + "A" * 43 + "=:"]
)
def test_a_digest_in_another_form_is_none(text: str) -> None:
    assert signing.digest_in(text) is None
