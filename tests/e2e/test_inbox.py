"""The inbox in real terminals against a real supervisor: twenty calls decided, an edit, a race of three (issue 6)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.cli.inbox.reading import ARM_DELAY
from tests.helpers.supervisor_process import SupervisorProcess, text, use, write
from tests.helpers.tmux import Tmux

pytestmark = pytest.mark.docker

TWENTY, EDITED, RACED = "tester", "edited", "raced"

FOLDERS = [f"out{n:02}" for n in range(12)]
FILES = {f"note{n}.md": f"# Note {n}\n\n{'word ' * 40}\n" for n in range(7)}
REFUSED = "note3.md"
CALLS = [
    *(use("mcp__runner__CreateFolder", path=f"/workspace/{name}") for name in FOLDERS),
    *(write(f"/workspace/{name}", content) for name, content in FILES.items()),
    use("mcp__runner__Edit", file_path="/workspace/old.md", old_string="before", new_string="after"),
]
SCRIPTS = {
    TWENTY: [CALLS, [text("All of it is done.")]],
    EDITED: [[write("/workspace/greeting.md", "Helo\n" * 40)], [text("done")]],
    RACED: [[write("/workspace/race.md", "once\n")], [text("done")]],
}


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory, sandbox_image: object) -> Iterator[SupervisorProcess]:
    """One supervisor with an agent for each test; what it leaves behind is looked at in the end."""
    process = SupervisorProcess(tmp_path_factory.mktemp("inbox") / "home")
    process.script_file.write_text(json.dumps({"scripts": SCRIPTS}))
    process.start()
    (process.cwd / "old.md").write_text("before\n")
    for agent in SCRIPTS:
        process.publish(agent, tools=' ["Read", "Write", "Edit", "CreateFolder"]')
    yield process
    process.stop()
    assert process.containers() == []


def opened(supervisor: SupervisorProcess, home: Path, *, size: tuple[int, int] = (110, 84), **more: str) -> Tmux:
    """An inbox in a terminal of its own."""
    home.mkdir(exist_ok=True)
    return Tmux("inbox", environment=supervisor.variables | {"LANG": "C.UTF-8"} | more, home=home, size=size)


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
    run = supervisor.send(agent=TWENTY)
    supervisor.until(run, "held", "parked")
    assert len(supervisor.queue()) == 20
    with opened(supervisor, tmp_path) as window:
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


def test_an_edit_that_takes_reading_is_approved_at_sixty_columns(supervisor: SupervisorProcess, tmp_path: Path) -> None:
    """D2, V4: it stays on the screen while its showing goes on record, and is what is carried out."""
    run = supervisor.send(agent=EDITED)
    supervisor.until(run, "held", "parked")
    with opened(supervisor, tmp_path, size=(60, 24), EDITOR="sed -i s/Helo/Hello/g") as window:
        window.shows("1 to decide")
        window.shows("e edit")
        person = Person(window)
        person.press("e", slowly=True)
        window.shows("edited; nothing is approved yet")
        while person.sees("space shows more"):
            person.press("Space")
        until = time.monotonic() + 30
        while not shown(supervisor, run):
            assert time.monotonic() < until
        person.press("a", slowly=True)
        window.shows("y does it")
        person.press("y", slowly=True)
        window.shows("(done)")
        window.press("q")
        window.shows("ended with 0")
    assert supervisor.until(run, "replied", "failed")["state"] == "replied"
    assert (supervisor.home / f"agent-{EDITED}" / "greeting.md").read_text() == "Hello\n" * 40


def shown(supervisor: SupervisorProcess, run: str) -> bool:
    """Whether the edited card's showing is on record."""
    (call,) = supervisor.ask("approvals", "--run", run, "--all")["approvals"]
    history = supervisor.ask("show", call["id"])["history"]
    return any(
        event["event"] == "approval.shown" and json.loads(event["data"])["digest"] != call["digest"] for event in history
    )


def test_two_terminals_and_a_script_race_and_one_wins(supervisor: SupervisorProcess, tmp_path: Path) -> None:
    """C5, L1, B8: over the real socket, one decision is recorded, the effect happens once, and the others are told."""
    run = supervisor.send(agent=RACED)
    supervisor.until(run, "held", "parked")
    (call,) = supervisor.queue(run)
    command = [sys.executable, "-m", "runner", "approve", call["id"], "--yes", "--digest", call["digest"]]
    with opened(supervisor, tmp_path / "one") as one, opened(supervisor, tmp_path / "two") as two:
        for window in (one, two):
            window.shows("a approve")
            window.press("/")
            window.type("race.md")
            window.press("Enter")
            window.shows("does     Write a new file race.md")
            Person(window).press("a", slowly=True)
            window.shows("y does it")
        time.sleep(ARM_DELAY + 0.1)
        script = subprocess.Popen(command, env=supervisor.variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        one.press("y")
        two.press("y")
        said = script.communicate()[1]
        for window in (one, two):
            window.shows("  0 to decide")
        screens = ["\n".join(window.lines) for window in (one, two)]
    won = [script.returncode == 0, *("approved: Write a new file race.md" in screen for screen in screens)]
    assert won.count(True) == 1, (said, screens)
    assert script.returncode in {0, 4}
    told = [said, *screens]
    assert all(re.search(r"already|this changed while it was shown", told[n]) for n in range(3) if not won[n]), told
    assert supervisor.until(run, "replied", "failed")["state"] == "replied"
    assert (supervisor.home / f"agent-{RACED}" / "race.md").read_text() == "once\n"
    history = [event["event"] for event in supervisor.ask("show", call["id"])["history"]]
    assert history.count("approval.approve") == 1
    assert supervisor.run("audit", "verify").returncode == 0
