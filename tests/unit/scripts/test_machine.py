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


@pytest.mark.parametrize(
    ("programs", "expected"),
    [
        ({}, None),
        ({"docker": "exit 1"}, None),
        ({"docker": "echo 'Usage:  docker [OPTIONS] COMMAND'"}, None),
        ({"docker": "echo 'Usage:  docker [OPTIONS] COMMAND'", "docker-compose": "true"}, "docker-compose"),
        ({"docker": "echo 'Docker Compose version v2.29.1'"}, "docker compose"),
        ({"docker": "echo 'Docker Compose version v2.29.1'", "docker-compose": "true"}, "docker compose"),
        ({"docker-compose": "true"}, "docker-compose"),
    ],
)
def test_compose_is_what_says_its_version_and_not_a_client_that_prints_its_usage(
    programs: dict[str, str], expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 3 item 4: a client without the plugin may exit 0."""
    for name, line in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.compose() == expected


def test_a_server_off_the_path_is_found_where_debian_keeps_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A command has its package's name, or one that is known; PostgreSQL's programs stand in a folder for each version."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(machine, "POSTGRESQL", tmp_path)
    assert not machine.has_tool("postgresql")
    assert not machine.has_tool("tmux")
    assert not machine.has_tool("iproute2")
    (tmp_path / "15/bin").mkdir(parents=True)
    for program in (tmp_path / "15/bin/initdb", tmp_path / "tmux", tmp_path / "ip"):
        program.touch(mode=0o755)
    assert machine.has_tool("postgresql")
    assert machine.has_tool("tmux")
    assert machine.has_tool("iproute2")
