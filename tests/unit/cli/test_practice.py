"""approvals demo: what it plays on, without playing it (K5); the commands of the contract (K1)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from runner.cli.main import FILES, main
from runner.cli.practice import LABEL, turns
from runner.cli.stage import Stage
from tests.helpers.fake_service import FakeService


def test_everything_that_is_made_up_says_so() -> None:
    """K5: text, content and last word; three calls in one turn, so that they can be decided in any order."""
    calling, ending = (json.dumps(turn) for turn in turns())
    assert calling.count('"tool_use"') == 3
    assert calling.count(LABEL) == 1 + 3
    assert LABEL in ending


def test_the_door_of_a_practice_knows_no_other_supervisor(
    service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K5: a real supervisor answers, and its key and settings are in the environment; the door finds none of it."""
    for name, value in {"RUNNER_APPROVER_KEY": "/real/key", "RUNNER_NOTIFY": "[]", "XDG_RUNTIME_DIR": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    door = Stage(tmp_path, turns()).door()
    done = subprocess.run([door, "deny", "a_2v8xk1"], capture_output=True, text=True, check=False)
    assert (done.returncode, service.asked) == (9, []), done.stderr
    text = door.read_text()
    assert all(f"-u {name}" in text for name in ("RUNNER_APPROVER_KEY", "RUNNER_NOTIFY", "XDG_RUNTIME_DIR"))
    assert door.stat().st_mode & 0o777 == 0o700


def test_every_command_of_the_contract_is_there() -> None:
    """K1."""
    wanted = "approvals show approve deny extend grants grant revoke settle watch inbox audit pause resume undo todo"
    assert set(wanted.split()) <= {name for names in FILES.values() for name in names}


@pytest.mark.parametrize("command", ["approvals demo", "approvals stats", "audit verify", "audit export"])
def test_commands_beneath_a_command_have_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """K1."""
    assert main([*command.split(), "--help"]) == 0
    assert f"Example: runner {command}" in " ".join(capsys.readouterr().out.split())
