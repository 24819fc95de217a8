"""A supervisor of its own for each test, and the command line in this process or in another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from runner.cli.main import main
from tests.helpers.fake_service import FakeService, served


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory that no other test or person uses, and in which no supervisor answers."""
    for name in [name for name in os.environ if name.startswith(("RUNNER_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")  # what a table says is tested here, not where its lines break
    monkeypatch.setenv("RUNNER_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeService, Path]]:
    """One socket for all tests: a server takes longer to stop than most tests take."""
    fake = FakeService()
    directory = tmp_path_factory.mktemp("state")
    directory.chmod(0o700)
    with served(fake, directory):
        yield fake, directory


@pytest.fixture
def service(shared: tuple[FakeService, Path], state: Path, monkeypatch: pytest.MonkeyPatch) -> FakeService:
    """A supervisor that knows only what a new one knows."""
    fake, directory = shared
    vars(fake).clear()
    vars(fake).update(vars(FakeService()))
    monkeypatch.setenv("RUNNER_STATE_DIR", str(directory))
    return fake


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command in this process; its stdin is no terminal."""

    def ran(*arguments: str) -> Ran:
        code = main(arguments)
        found = capsys.readouterr()
        return Ran(code, found.out, found.err)

    return ran


def spawn(*arguments: str, **rest: Any) -> subprocess.CompletedProcess[str]:
    """Run a command as a process."""
    return subprocess.run(
        [sys.executable, "-m", "runner", *arguments], capture_output=True, text=True, timeout=60, check=False, **rest
    )
