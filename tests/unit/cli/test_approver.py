"""approver: keys made so that only their owner can use them (W2)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.captures import ed25519
from tests.helpers.fake_service import FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]
WORDS = b"correct horse"


def typed(data: bytes) -> str:
    """A file descriptor that has these bytes."""
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    return str(read)


def test_a_key_is_sealed_private_and_its_public_half_is_said(run: Run, tmp_path: Path) -> None:
    ran = run("approver", "keygen", "--passphrase-fd", typed(WORDS + b"\n"), "--json")
    file = tmp_path / ".config" / "runner" / "approver.key"
    assert (ran.code, ran.json["file"]) == (0, str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    pem = file.read_bytes()
    assert ed25519.is_sealed(pem)
    assert ed25519.unseal(pem, WORDS).public == ran.json["key"]
    assert ran.json["fingerprint"] == ed25519.fingerprint(ran.json["key"])
    for wrong in (None, b"", b"correct hors", WORDS + b"\n"):
        with pytest.raises(ed25519.KeyUnusableError):
            ed25519.unseal(pem, wrong)


def test_a_key_that_is_there_is_not_written_over(run: Run, tmp_path: Path) -> None:
    out = str(tmp_path / "a.key")
    assert run("approver", "keygen", "--no-passphrase", "--out", out).code == 0
    before = Path(out).read_bytes()
    ran = run("approver", "keygen", "--no-passphrase", "--out", out)
    assert (ran.code, "exists" in ran.err, Path(out).read_bytes() == before) == (2, True, True)


@pytest.mark.parametrize("words", [b"", b"\n", b"short\n"])
def test_an_empty_or_short_passphrase_makes_no_key(words: bytes, run: Run, tmp_path: Path) -> None:
    ran = run("approver", "keygen", "--passphrase-fd", typed(words), "--out", str(tmp_path / "a.key"))
    assert (ran.code, (tmp_path / "a.key").exists()) == (2, False)


def test_an_open_key_is_made_with_a_warning(run: Run, tmp_path: Path) -> None:
    ran = run("approver", "keygen", "--no-passphrase", "--out", str(tmp_path / "a.key"))
    assert (ran.code, "warning: whatever can read" in ran.err) == (0, True)
    assert not ed25519.is_sealed((tmp_path / "a.key").read_bytes())


def test_without_a_terminal_a_passphrase_cannot_be_asked_for(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W2: never from stdin, where anything could be written."""
    real = os.open

    def no_terminal(path: object, *rest: int, **more: int) -> int:
        if path == "/dev/tty":
            raise OSError(6, "No such device or address")
        return real(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", no_terminal)
    ran = run("approver", "keygen", "--out", str(tmp_path / "a.key"))
    assert (ran.code, "there is no terminal" in ran.err, (tmp_path / "a.key").exists()) == (7, True, False)


def test_who_may_decide_is_what_the_supervisor_says(run: Run, service: FakeService) -> None:
    ran = run("approver", "list")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()] == ["uids", "keys", "tripwires"]
    assert run("approver", "list", "--json").json == {"uids": [0], "keys": [], "tripwires": True}
