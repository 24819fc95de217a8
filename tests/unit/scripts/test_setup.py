"""Set-up refuses what it cannot do before it changes anything."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts import machine, setup
from scripts.engine import DEFAULT, Answer
from scripts.progress import SetupError

ROOT = Path(__file__).resolve().parents[3]
NONE = Answer(alive=False, where=DEFAULT, detail="no such file or directory")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_machine(monkeypatch: pytest.MonkeyPatch, *, root: bool, debian: bool, dockerd: bool) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.setattr(machine, "can_install", lambda: root and debian)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/sbin/{name}" if dockerd else None)


def test_a_dead_docker_host_ends_set_up_with_what_to_do(tmp_path: Path) -> None:
    where = f"unix://{tmp_path}/none.sock"
    ended = subprocess.run(
        [ROOT / "scripts/setup.sh"],
        env={**os.environ, "DOCKER_HOST": where, "CI": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"set-up: no Docker Engine answers at {where}: no such file or directory\n"
        "hint: DOCKER_HOST says to look there: start that engine, or unset DOCKER_HOST to have one set up\n"
    )


@pytest.mark.parametrize(("dockerd", "installs"), [(True, False), (False, True)])
def test_root_on_debian_installs_an_engine_only_where_none_is(
    monkeypatch: pytest.MonkeyPatch, *, dockerd: bool, installs: bool
) -> None:
    on_a_machine(monkeypatch, root=True, debian=True, dockerd=dockerd)
    assert setup._must_install(NONE) is installs


@pytest.mark.parametrize(
    ("root", "debian", "dockerd", "command"),
    [
        (False, True, False, "sudo apt-get install -y --no-install-recommends docker.io"),
        (False, True, True, "sudo systemctl start docker"),
        (True, False, False, "sudo apt-get install -y --no-install-recommends docker.io"),
    ],
)
def test_who_cannot_bring_an_engine_up_is_told_the_command(
    monkeypatch: pytest.MonkeyPatch, *, root: bool, debian: bool, dockerd: bool, command: str
) -> None:
    on_a_machine(monkeypatch, root=root, debian=debian, dockerd=dockerd)
    with pytest.raises(SetupError) as caught:
        setup._must_install(NONE)
    assert command in caught.value.hint


def test_an_engine_that_refuses_this_user_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_machine(monkeypatch, root=True, debian=True, dockerd=False)
    with pytest.raises(SetupError, match="cannot use the Docker Engine"):
        setup._must_install(NONE._replace(refused=True))


@pytest.mark.parametrize("answer", ["\n", "n\n", "no\n", "", "maybe\n"])
def test_on_a_terminal_anything_but_yes_installs_nothing(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    with pytest.raises(SetupError, match="no engine was installed"):
        setup._ask(NONE, yes=False)


@pytest.mark.parametrize("answer", ["y\n", "YES\n"])
def test_on_a_terminal_a_yes_goes_on_after_the_sizes_were_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    setup._ask(NONE, yes=False)
    assert "about 3 GB of disk" in capsys.readouterr().err


def test_off_a_terminal_set_up_announces_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    setup._ask(NONE, yes=False)
    assert capsys.readouterr().err.splitlines()[-1].strip() == "Going on: no terminal to ask on."


def test_a_full_disk_stops_set_up_even_after_a_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(SetupError, match="less than 3 GB"):
        setup._ask(NONE, yes=True)


def test_an_environment_is_made_again_when_the_declared_packages_change() -> None:
    assert setup.fingerprint(b"a") == setup.fingerprint(b"a") != setup.fingerprint(b"b")


@pytest.mark.parametrize(
    ("present", "root", "installed", "said"),
    [
        ("docker compose", False, [], "docker compose"),
        (None, True, ["docker-compose"], "installed"),
        (None, False, [], "sudo apt-get install -y --no-install-recommends docker-compose"),
    ],
)
def test_compose_is_installed_for_the_tests_only_where_none_is(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    present: str | None,
    root: bool,
    installed: list[str],
    said: str,
) -> None:
    on_a_machine(monkeypatch, root=root, debian=True, dockerd=True)
    monkeypatch.setattr(machine, "compose", lambda: present)
    asked: list[str] = []
    monkeypatch.setattr(machine, "install", lambda packages, logs: asked.extend(packages))
    setup._prepare_compose(5, 5)
    assert asked == installed
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("there", "root", "installed", "said"),
    [
        (True, False, [], "installed"),
        (False, True, ["tmux", "faketime", "expect", "iproute2", "postgresql", "runsc"], "installed"),
        (False, False, [], "sudo apt-get install -y --no-install-recommends tmux faketime expect iproute2 postgresql runsc"),
    ],
)
def test_what_tests_drive_is_installed_where_one_of_them_is_missing(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    there: bool,
    root: bool,
    installed: list[str],
    said: str,
) -> None:
    on_a_machine(monkeypatch, root=root, debian=True, dockerd=True)
    monkeypatch.setattr(shutil, "which", lambda tool: f"/usr/bin/{tool}" if there or tool == "tmux" else None)
    asked: list[str] = []
    monkeypatch.setattr(machine, "install", lambda packages, logs: asked.extend(packages))
    setup._prepare_test_tools(6, 6)
    assert asked == installed
    assert said in capsys.readouterr().err
