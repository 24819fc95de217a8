"""The one door to keys: what is signed verifies, what is not does not, and nothing raises on junk (W2)."""

from __future__ import annotations

import pytest

from runner.captures import ed25519

KEY = ed25519.make()


def test_a_signature_fits_one_message_and_one_key() -> None:
    signature = KEY.sign(b"this")
    assert ed25519.verify(KEY.public, signature, b"this")
    assert not ed25519.verify(KEY.public, signature, b"that")
    assert not ed25519.verify(ed25519.make().public, signature, b"this")


@pytest.mark.parametrize(
    "junk", ["", "x", "é", "ed25519:", "ed25519:" + "A" * 42, "ed25519:" + "A" * 43, "a" * 86, "\0", "=" * 4]
)
def test_junk_verifies_nothing(junk: str) -> None:
    assert not ed25519.verify(junk, KEY.sign(b"m"), b"m")
    assert not ed25519.verify(KEY.public, junk, b"m")


@pytest.mark.parametrize(
    "text",
    ["", KEY.public.removeprefix("ed25519:"), KEY.public + "=", KEY.public[:-1], KEY.public + "A"],
    ids=["nothing", "no-scheme", "padded", "short", "long"],
)
def test_a_key_is_written_in_one_way(text: str) -> None:
    with pytest.raises(ed25519.KeyUnusableError):
        ed25519.fingerprint(text)


def test_a_secret_key_does_not_show_itself() -> None:
    assert repr(KEY) == f"SecretKey({ed25519.fingerprint(KEY.public)})"


@pytest.mark.parametrize("pem", [b"", b"junk", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_what_holds_no_key_says_so(pem: bytes) -> None:
    with pytest.raises(ed25519.KeyUnusableError):
        ed25519.unseal(pem, None)


@pytest.mark.parametrize("figures", [b"n=65537 r=8", b"n=0 r=8", b"n=99999999 r=8", b"n=65536 r=900"])
def test_figures_that_nobody_wrote_cost_nothing(figures: bytes) -> None:
    """A key file from elsewhere makes nobody's machine work for hours."""
    pem = b"runner-key scrypt " + figures + b" salt=" + b"0" * 32 + b"\n" + KEY.sealed(b"x").partition(b"\n")[2]
    with pytest.raises(ed25519.KeyUnusableError, match="scrypt figures"):
        ed25519.unseal(pem, b"x")
