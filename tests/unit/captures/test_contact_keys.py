"""Keys of contacts: which identify somebody, how they are shown, and what two contacts must not share (S1, S2)."""

# ruff: noqa: RUF001 - a name in two scripts is among the subjects

from __future__ import annotations

import base64
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.captures import ed25519, keyfile, keys, petnames
from runner.captures.ed25519 import KeyUnusableError
from runner.errors import NotAllowedError, UsageError

P = 2**255 - 19
EIGHTH = 2707385501144840649318225287225658788936804267575313519463743609750303021540


@dataclass(frozen=True)
class Contact:
    petname: str
    key: str


def encoded(y: int, sign: int = 0) -> str:
    raw = (y | sign << 255).to_bytes(32, "little")
    return "ed25519:" + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def test_a_fingerprint_is_eighty_bits_in_four_groups() -> None:
    """S1: at least 64."""
    shown = keys.shown(ed25519.make().public)
    assert [len(part) for part in shown.split("-")] == [4, 4, 4, 4]
    assert set(shown) <= set("abcdefghijklmnopqrstuvwxyz234567-")


def test_a_key_that_was_made_is_fit() -> None:
    for _ in range(20):
        public = ed25519.make().public
        assert keys.checked(f" {public}\n") == public


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("y", [0, 1, P - 1, EIGHTH, P - EIGHTH, P, P + 1])
def test_a_key_under_which_anybody_can_sign_is_refused(y: int, sign: int) -> None:
    """The points of small order, in every spelling."""
    with pytest.raises(KeyUnusableError):
        keys.checked(encoded(y, sign))


def test_what_is_no_point_of_the_curve_is_refused() -> None:
    """About half of all 32 bytes are none."""
    fit = []
    for y in range(2, 60):
        try:
            keys.checked(encoded(y))
            fit.append(y)
        except KeyUnusableError:
            continue
    assert 10 < len(fit) < 48


@pytest.mark.parametrize(
    "text", ["", "ed25519:", "rsa:AAAA", "ed25519:" + "A" * 42, "ed25519:" + "A" * 44, "ed25519:" + "!" * 43]
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(KeyUnusableError):
        keys.checked(text)


def test_a_key_file_is_private_written_once_and_read_back(tmp_path: Path) -> None:
    path, key = tmp_path / "new" / "contact.key", ed25519.make()
    keyfile.write(path, key)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keyfile.read(path).public == key.public
    with pytest.raises(UsageError, match="there already"):
        keyfile.write(path, ed25519.make())
    assert keyfile.read(path).public == key.public


def test_a_key_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "contact.key"
    keyfile.write(path, ed25519.make())
    path.chmod(0o644)
    with pytest.raises(NotAllowedError, match="other users"):
        keyfile.read(path)


@pytest.mark.parametrize("content", [b"", b"not a key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_file_that_holds_no_key_is_said_to_hold_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "contact.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(UsageError, match="holds no private key"):
        keyfile.read(path)


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(UsageError):
        keyfile.write(tmp_path / "link", ed25519.make())
    assert not (tmp_path / "target").exists()


MARIA = Contact("maria", ed25519.make().public)


def test_a_changed_key_under_a_petname_is_refused_and_both_are_shown() -> None:
    """Item 73."""
    other = ed25519.make().public
    with pytest.raises(NotAllowedError) as refused:
        petnames.check_key("maria", other, [MARIA])
    assert keys.shown(MARIA.key) in refused.value.brief
    assert keys.shown(other) in refused.value.brief


def test_one_key_under_two_petnames_is_refused() -> None:
    with pytest.raises(NotAllowedError, match="maria"):
        petnames.check_key("ben", MARIA.key, [MARIA])


def test_a_fingerprint_that_begins_like_another_s_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Item 71: 32 bits the same, the rest not."""
    names = {MARIA.key: "abcd-efgh-2345-6723", "ed25519:x": "abcd-efga-aaaa-aaaa", "ed25519:y": "abcd-eaaa-aaaa-aaaa"}
    monkeypatch.setattr(petnames, "shown", names.__getitem__)
    with pytest.raises(NotAllowedError, match="begins like"):
        petnames.check_key("ben", "ed25519:x", [MARIA])
    petnames.check_key("ben", "ed25519:y", [MARIA])


@pytest.mark.parametrize("name", ["maria", "MARIA", "mаrіа", "rnaria", "mar-ia"])
def test_a_petname_that_is_or_imitates_another_s_is_refused(name: str) -> None:
    """Item 67, S2."""
    others: Iterable[Contact] = [MARIA, Contact("ben", "ed25519:b")]
    with pytest.raises((NotAllowedError, UsageError)):
        petnames.check_name(name, others)
    assert petnames.check_name("anna", others)
