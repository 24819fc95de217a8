"""runner doctor --quarantine and --new-database: a person's words, one at a time, with no supervisor at work (L7)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.cli.main import main
from runner.supervisor.lock import hold


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory with an empty, thus damaged, database."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / "runner.db").touch()
    monkeypatch.setenv("RUNNER_STATE_DIR", str(folder))
    return folder


def test_a_damaged_database_is_put_aside_and_given_up_step_by_step(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--quarantine"]) == 0
    assert "restore a backup" in capsys.readouterr().out
    assert main(["doctor", "--quarantine"]) == 2
    capsys.readouterr()
    assert main(["doctor", "--new-database", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"made": str(state / "runner.db")}
    assert main(["doctor", "--new-database"]) == 2


def test_what_was_moved_is_told_to_programs(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--quarantine", "--json"]) == 0
    (moved,) = json.loads(capsys.readouterr().out)["moved"]
    assert Path(moved).exists()


def test_both_at_once_is_no_thought(state: Path) -> None:
    assert main(["doctor", "--quarantine", "--new-database"]) == 2
    assert (state / "runner.db").exists()


def test_nothing_is_moved_beneath_a_supervisor(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with hold(state):
        assert main(["doctor", "--quarantine"]) == 9
    assert "another supervisor" in capsys.readouterr().err
    assert (state / "runner.db").exists()


def test_a_server_has_its_own_tools(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_DATABASE_URL", "postgresql+psycopg://nobody@/x")
    assert main(["doctor", "--quarantine"]) == 2


def test_without_a_state_directory_there_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_STATE_DIR", str(tmp_path / "none"))
    assert main(["doctor", "--new-database"]) == 2
    assert not (tmp_path / "none").exists()
