"""approvals demo, played by somebody who does what it says (K5)."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.app import owner_label
from tests.helpers.supervisor_process import PATIENCE, SupervisorProcess, eventually, labelled

pytestmark = pytest.mark.docker


class Practice:
    """A practice that has begun: the commands it prints, and what is to be gone in the end."""

    def __init__(self, beside: SupervisorProcess) -> None:
        self.said = beside.home / "practice.txt"
        with self.said.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "runner", "approvals", "demo"],
                env=beside.variables,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )

    def begin(self) -> None:
        """Wait until it has said everything."""
        eventually(lambda: True if "It ends when" in self.text else None, lambda: self.text)
        self.commands = [line.removeprefix("  $ ") for line in self.text.splitlines() if line.startswith("  $ ")]
        self.home = Path(self.commands[0].split()[0]).parent
        self.label = f"runner.state={owner_label(self.home / 'state')}"

    @property
    def text(self) -> str:
        return self.said.read_text(errors="replace")

    def type(self, command: str) -> str:
        """What a command prints."""
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    def digest(self, shown: str) -> str:
        """The digest on a card."""
        found = re.search(r"digest +(sha256:[0-9a-f]{64})", shown)
        assert found, shown
        return found[1]

    def left(self) -> tuple[bool, list[str]]:
        """Whether its directory is still there, and its containers."""
        return self.home.exists(), labelled(self.label)


@pytest.fixture
def practice(supervisor: SupervisorProcess) -> Iterator[Practice]:
    """A practice under way, ended whatever the test did."""
    made = Practice(supervisor)
    try:
        made.begin()
        yield made
    finally:
        made.process.terminate()
        made.process.wait(PATIENCE)


def test_a_practice_is_decided_with_the_commands_it_prints_and_leaves_nothing(
    practice: Practice, supervisor: SupervisorProcess
) -> None:
    """K5: approve, edit and deny; the supervisor of the environment it is started from has nothing to do with it."""
    listing, showing, approving, editing, denying, inbox = practice.commands
    assert practice.type(listing).count("pending") == 3
    assert inbox.endswith(" inbox")
    practice.type(f"{approving} --yes --digest {practice.digest(practice.type(showing))}")
    edited = practice.type(editing.replace(" approve ", " show "))
    practice.type(f"{editing} --yes --digest {practice.digest(edited)}")
    assert "this line" in (practice.home / "state/agents/scribe/edit-me.md").read_text()
    practice.type(denying)
    assert practice.process.wait(PATIENCE) == 0, practice.text
    assert "PRACTICE: all three are decided." in practice.text
    assert (practice.left(), supervisor.state.exists()) == ((False, []), False)


def test_a_practice_that_is_broken_off_leaves_nothing(practice: Practice) -> None:
    """K5."""
    practice.process.send_signal(signal.SIGHUP)
    assert practice.process.wait(PATIENCE) == 0, practice.text
    assert practice.left() == (False, [])
