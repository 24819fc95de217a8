"""Where `runner up` puts the supervisor: a user's systemd where one answers, else a session of its own.

systemd is played by two scripts on PATH that write down what they are asked; the rest is real.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.cli import launching
from runner.cli.launching import launch, read_tail, unit_command, unit_name
from runner.errors import SupervisorUnavailableError
from runner.settings import default_state_dir, load_settings, private_directory
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]
SYSTEMCTL = """#!/bin/sh
case "$2" in
  show) echo Version=252 ;;
  is-active) cat "$STATE/active" ;;
esac
"""
SYSTEMD_RUN = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done > "$STATE/asked"
echo "$ANTHROPIC_API_KEY" > "$STATE/key"
exit "$(cat "$STATE/code")"
"""


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user manager that answers; what it was asked is in the folder."""
    folder = tmp_path / "systemd"
    folder.mkdir()
    for name, text in (("systemctl", SYSTEMCTL), ("systemd-run", SYSTEMD_RUN)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "code").write_text("0")
    (folder / "active").write_text("active\n")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("STATE", str(folder))
    return folder


def test_a_user_manager_that_answers_gets_the_supervisor_as_a_unit(
    systemd: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    private_directory(state)
    launched = launch(load_settings())
    asked = (systemd / "asked").read_text().splitlines()
    assert asked[-5:] == [*launching.serve_command()]
    assert f"--unit={unit_name(state)}" in asked
    assert {"--setenv=ANTHROPIC_API_KEY", "--setenv=RUNNER_STATE_DIR", "--setenv=RUNNER_MODEL", "--setenv=PATH"} <= set(asked)
    assert f"--property=StandardOutput=append:{state}/serve.log" in asked
    assert (systemd / "key").read_text() == "sk-secret\n"
    assert not launched.ended()
    (systemd / "active").write_text("failed\n")
    assert launched.ended()


def test_no_secret_stands_in_a_list_that_every_user_can_read(state: Path) -> None:
    """Only names are on the command line; the manager takes the values from the environment."""
    environment = {"ANTHROPIC_API_KEY": "sk-secret", "RUNNER_DATABASE_URL": "postgresql://u:pw@h/d", "AWS_SECRET": "other"}
    command = " ".join(unit_command("runner", log=Path("/state/serve.log"), environment=environment))
    assert "secret" not in command.replace("sk-secret", "").lower()
    assert all(value not in command for value in environment.values())
    assert "AWS" not in command


def test_a_manager_that_refuses_is_told_with_its_words(systemd: Path, state: Path) -> None:
    (systemd / "systemd-run").write_text("#!/bin/sh\necho 'Unit runner.service was already loaded' >&2\nexit 1\n")
    private_directory(state)
    with pytest.raises(SupervisorUnavailableError) as caught:
        launch(load_settings())
    assert caught.value.details == "Unit runner.service was already loaded"
    assert caught.value.exit_code == 9


def test_the_usual_state_directory_has_the_usual_unit_and_another_one_its_own(tmp_path: Path) -> None:
    assert unit_name(default_state_dir()) == "runner"
    others = {unit_name(tmp_path / "a"), unit_name(tmp_path / "b")}
    assert len(others) == 2
    assert all(name.startswith("runner-") for name in others)


def test_a_log_that_grew_is_put_aside_and_only_what_is_new_is_its_tail(
    systemd: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "MAX_LOG", 10)
    private_directory(state)
    log = state / "serve.log"
    log.write_text("old line\nold line\n")
    first = launch(load_settings())
    assert log.with_name("serve.log.1").read_text() == "old line\nold line\n"
    assert (log.stat().st_mode & 0o777, read_tail(first)) == (0o600, "")
    log.write_text("short\n")
    second = launch(load_settings())
    with log.open("a") as file:
        file.write("new\n")
    assert read_tail(second) == "new"


def test_a_link_in_place_of_the_log_is_refused(systemd: Path, state: Path, tmp_path: Path) -> None:
    private_directory(state)
    (state / "serve.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SupervisorUnavailableError):
        launch(load_settings())
    assert not (tmp_path / "elsewhere").exists()


def test_without_a_manager_it_is_a_process_of_its_own_session(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    tell = "import os, sys; print(os.getsid(0) == os.getpid(), os.getcwd(), sys.stdin.read() == '', os.environ['RUNNER_MODEL'])"
    monkeypatch.setattr(launching, "serve_command", lambda: (launching.sys.executable, "-c", tell))
    monkeypatch.setenv("RUNNER_MODEL", "scripted:here.json")
    private_directory(state)
    launched = launch(load_settings())
    until = time.monotonic() + 30
    while not launched.ended():
        assert time.monotonic() < until
        time.sleep(0.01)
    assert read_tail(launched) == f"True {state} True scripted:{Path.cwd()}/here.json"


def test_one_that_ends_before_it_is_ready_is_nine_with_its_last_words(
    run: Run, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """cli.md: 9 is supervisor unavailable; the log's end is shown, as text that cannot act."""
    monkeypatch.setenv("PATH", "/nowhere")
    cry = "import sys; sys.exit('cannot do it: \\x1b[2Jwhy')"
    monkeypatch.setattr(launching, "serve_command", lambda: (launching.sys.executable, "-c", cry))
    ran = run("up")
    assert (ran.code, ran.out) == (9, "")
    assert ran.err.splitlines() == [
        "runner: cannot start the supervisor: it ended",
        "hint: runner doctor looks for the cause",
        "│ cannot do it: \\u{1b}[2Jwhy",
    ]
    as_json = json.loads(run("up", "--json").err)
    assert as_json["error"]["code"] == "unavailable"


def test_there_is_nothing_to_stop_where_none_runs(run: Run, state: Path) -> None:
    ran = run("down")
    assert (ran.code, ran.out) == (9, "")
    assert ran.err.startswith("runner: cannot stop the supervisor: none runs in ")
    assert not state.exists()
