"""Twenty queued calls reviewed and decided from `runner inbox` in a real terminal, by what the screen says alone (issue 6)."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from runner.cli.inbox.reading import ARM_DELAY
from tests.helpers.supervisor_process import SupervisorProcess, text, use, write
from tests.helpers.tmux import Tmux

pytestmark = pytest.mark.docker

FOLDERS = [f"out{n:02}" for n in range(12)]
FILES = {f"note{n}.md": f"# Note {n}\n\n{'word ' * 40}\n" for n in range(7)}
REFUSED = "note3.md"


class Person:
    """Someone who reads what the screen says and does what it says; they know no key that is not on it.

    Args:
        window: Their terminal.
    """

    def __init__(self, window: Tmux) -> None:
        self.window = window
        self.read: list[str] = []

    def decide_everything(self) -> None:
        """Until nothing is left to decide."""
        until = time.monotonic() + 120
        while not self.sees("  0 to decide"):
            assert time.monotonic() < until, "\n".join(self.window.lines)
            self.step()

    def step(self) -> None:
        """One key, as the screen asks for it."""
        if self.sees("space shows more"):
            self.read += self.window.lines
            self.press("Space")
        elif self.sees("y does it"):
            self.press("y", slowly=True)
        elif self.sees("deny; why?"):
            self.window.type("not this one")
            self.press("Enter")
        elif self.sees("a approve"):
            self.read += self.window.lines
            time.sleep(ARM_DELAY + 0.1)
            if self.sees("a approve") and not self.sees("space shows more"):
                self.press("d" if self.on_card(REFUSED) else "a")

    def sees(self, words: str) -> bool:
        """Whether it stands on the screen."""
        return any(words in line for line in self.window.lines)

    def on_card(self, name: str) -> bool:
        """Whether the entry under the cursor is about this."""
        return any(line.startswith(">") and name in line for line in self.window.lines)

    def press(self, key: str, *, slowly: bool = False) -> None:
        """Press a key, and look what became of it."""
        if slowly:
            time.sleep(ARM_DELAY + 0.1)
        before = self.window.lines
        self.window.press(key)
        until = time.monotonic() + 2
        while self.window.lines == before and time.monotonic() < until:
            time.sleep(0.02)


def test_twenty_calls_are_reviewed_and_decided_without_the_manual(supervisor: SupervisorProcess, tmp_path: Path) -> None:
    """Done when, issue 6: each read whole, approved or denied by what the footer offers; one is taken back again."""
    calls = [use("mcp__runner__CreateFolder", path=f"/workspace/{name}") for name in FOLDERS]
    calls += [write(f"/workspace/{name}", content) for name, content in FILES.items()]
    calls.append(use("mcp__runner__Edit", file_path="/workspace/old.md", old_string="before", new_string="after"))
    (supervisor.cwd / "old.md").write_text("before\n")
    supervisor.script(calls, [text("All of it is done.")])
    supervisor.start()
    supervisor.publish(tools=' ["Read", "Write", "Edit", "CreateFolder"]')
    run = supervisor.send()
    supervisor.until(run, "held", "parked")
    assert len(supervisor.queue()) == 20
    environment = supervisor.variables | {"LANG": "C.UTF-8"}
    with Tmux("inbox", environment=environment, home=tmp_path, size=(110, 84)) as window:
        window.shows("20 to decide")
        person = Person(window)
        person.decide_everything()
        window.shows("20 dealt with")
        # The last one is shown as it is now, and the footer offers to take it back.
        window.shows("u undo")
        while person.sees("space shows more"):
            person.press("Space")
        person.press("u", slowly=True)
        window.shows("this would")
        person.press("y", slowly=True)
        window.shows("taken back")
        window.press("q")
        window.shows("ended with 0")
    found = supervisor.until(run, "replied", "failed")
    assert found["state"] == "replied"
    assert [name for name in FOLDERS if not (supervisor.cwd / name).is_dir()] == []
    written = {path.name: path.read_text() for path in supervisor.cwd.glob("note*.md")}
    assert written == {name: content for name, content in FILES.items() if name != REFUSED}
    assert (supervisor.cwd / "old.md").read_text() == "before\n"
    states = [row["state"] for row in supervisor.ask("approvals", "--all")["approvals"]]
    assert (states.count("done"), states.count("denied")) == (20, 1)  # the undo is the twentieth that was done
    assert any(re.search(r"\d+ of 20 in this turn", line) for line in person.read)
    assert supervisor.run("audit", "verify").returncode == 0
