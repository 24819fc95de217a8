"""What set-up believes about the machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts import machine
from scripts.progress import SetupError


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ('ID=debian\nVERSION_ID="12"\n', True),
        ("ID=ubuntu\nID_LIKE=debian\n", True),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', True),
        ("ID=fedora\n", False),
        ('NAME="not debian"\nID=arch\n', False),
        ("", False),
    ],
)
def test_debian_and_its_children_are_recognised(release: str, *, expected: bool) -> None:
    assert machine.is_debian(release) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", True), ("true", True), ("yes", True), ("0", False), ("False", False), ("no", False), ("", False), (None, False)],
)
def test_a_variable_says_yes_or_it_does_not(value: str | None, *, expected: bool) -> None:
    assert machine.is_true(value) is expected


def test_without_root_nothing_is_installed_and_the_hint_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SetupError) as caught:
        machine.install(["mmdebstrap"], logs=tmp_path)
    assert (caught.value.what, caught.value.hint) == (
        "cannot install mmdebstrap: this needs root on Debian or Ubuntu",
        "run: sudo apt-get install -y --no-install-recommends mmdebstrap    then the same command again",
    )
    assert list(tmp_path.iterdir()) == []
