"""Bad terminals, keys pressed too early, windows closed in the middle, others at the same call: no decision but a meant one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.cli.inbox.reading import ARM_DELAY
from tests.helpers.fake_service import APPROVAL, DIGEST, FakeService
from tests.helpers.terminal import Terminal, reset, stage

FOLDER = {"tool": "CreateFolder", "does": "Make the folder out", "input": {"path": "out"}, "preview": "+directory out\n"}
READY = "a approve"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeService, Path]]:
    with stage(tmp_path_factory) as staged:
        yield staged


@pytest.fixture
def service(shared: tuple[FakeService, Path], monkeypatch: pytest.MonkeyPatch) -> FakeService:
    fake = reset(shared, monkeypatch)
    fake.approval_row |= FOLDER
    return fake


def armed() -> None:
    """Keys count from here on."""
    time.sleep(ARM_DELAY + 0.2)


def test_a_folder_is_approved_by_one_key_that_was_meant(service: FakeService) -> None:
    with Terminal("inbox", columns=80, rows=40) as terminal:
        terminal.shows(READY)
        armed()
        terminal.type(b"a")
        terminal.shows("approved: Make the folder out")
        terminal.type(b"q")
        assert terminal.end() == 0
    assert [found[0] for name, found in service.asked if name == "approve"] == [DIGEST]  # type: ignore[index]


@pytest.mark.parametrize("keys", [b"a\n", b"a" * 50, b"y\na\ny\na\n", b"d\n"])
def test_what_was_typed_before_there_was_anything_to_see_does_not_count(keys: bytes, service: FakeService) -> None:
    """A39, V7: type-ahead is thrown away, and keys do not count for half a second after the card is there."""
    with Terminal("inbox", columns=80, rows=40, before=keys) as terminal:
        terminal.shows(READY)
        terminal.type(keys.replace(b"q", b""))
        terminal.settle()
        terminal.type(b"\x03")
        assert terminal.end() == 0
    assert service.decisions == []


def test_enter_alone_and_a_double_key_approve_at_most_what_was_meant(service: FakeService) -> None:
    """V7."""
    with Terminal("inbox", columns=80, rows=40) as terminal:
        terminal.shows(READY)
        armed()
        terminal.type(b"\r\n\r\n  \t")
        terminal.settle()
        assert service.decisions == []
        terminal.type(b"aa")
        terminal.shows("approved: Make the folder out")
        terminal.type(b"\x03")
        assert terminal.end() == 0
    assert service.decisions == ["approve"]


@pytest.mark.parametrize("how", ["hang up", "ctrl-c", "terminate", "kill"])
def test_a_window_that_is_closed_in_the_middle_of_a_question_decides_nothing(how: str, service: FakeService) -> None:
    """V7: SIGHUP, Ctrl-C, SIGTERM, SIGKILL."""
    service.approval_row |= {"tool": "Write", "class": "write", "does": "Write a new file"}
    with Terminal("inbox", columns=80, rows=40) as terminal:
        terminal.shows(READY)
        armed()
        terminal.type(b"a")
        terminal.shows("y does it")
        if how == "hang up":
            assert terminal.hang_up() != 0
        elif how == "ctrl-c":
            terminal.type(b"\x03")
            assert terminal.end() == 0
        else:
            os.kill(terminal.pid, signal.SIGTERM if how == "terminate" else signal.SIGKILL)
            assert terminal.end() != 0
    assert service.decisions == []


@pytest.mark.parametrize(
    ("environment", "cause"),
    [
        ({"TERM": "dumb"}, "a terminal of kind 'dumb' draws no full screen"),
        ({"TERM": ""}, "a terminal of kind '' draws no full screen"),
        ({"PYTHONIOENCODING": "ascii"}, "set to ascii, not UTF-8"),
        ({"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, "not UTF-8"),
    ],
)
def test_a_terminal_that_cannot_show_it_is_refused(environment: dict[str, str], cause: str, service: FakeService) -> None:
    """A40: exit 2, and what to use instead."""
    with Terminal("inbox", environment=environment) as terminal:
        assert terminal.end() == 2
    assert cause in terminal.text
    assert "runner approve ID" in terminal.text
    assert b"\x1b[?1049h" not in terminal.seen


@pytest.mark.parametrize("redirect", ["</dev/null", ">/dev/null", "2>/dev/null", "| cat"])
def test_a_pipe_is_refused(redirect: str, service: FakeService) -> None:
    """A40, issue 6 point 3: stdin, stdout and stderr must all be the terminal."""
    with Terminal("inbox", shell=redirect) as terminal:
        code = terminal.end()
    assert code == (0 if redirect == "| cat" else 2)  # of the pipe's last command
    assert b"\x1b[?1049h" not in terminal.seen
    assert service.asked == []


def test_no_colour_is_respected(service: FakeService) -> None:
    """A40."""
    with Terminal("inbox", columns=80, rows=40, environment={"NO_COLOR": "1"}) as terminal:
        terminal.shows(READY)
        terminal.type(b"q")
        assert terminal.end() == 0
    for found in terminal.styles:
        assert not {word for word in found.split(";") if word[:1] in {"3", "4", "9"} and len(word) == 2} - {"39", "49"}, found


def test_a_stale_width_in_the_environment_hides_nothing(service: FakeService) -> None:
    """V4: what is folded for 200 columns would be cut at 80."""
    with Terminal("inbox", columns=80, rows=40, environment={"COLUMNS": "200", "LINES": "9"}) as terminal:
        terminal.shows(READY)
        assert any("? help" in line for line in terminal.display[39:])
        terminal.type(b"q")
        assert terminal.end() == 0


def test_a_window_that_shrinks_below_the_least_says_so_and_comes_back(service: FakeService) -> None:
    """A40: 20 x 5."""
    with Terminal("inbox", columns=80, rows=40) as terminal:
        terminal.shows(READY)
        terminal.resize(20, 5)
        terminal.shows("too small to decide")
        armed()
        terminal.type(b"a")
        terminal.settle()
        assert service.decisions == []
        terminal.resize(60, 30)
        terminal.shows(READY)
        terminal.type(b"q")
        assert terminal.end() == 0


def test_two_terminals_and_a_script_race_and_one_wins(service: FakeService) -> None:
    """C5, L1: the others say who was first."""
    with Terminal("inbox", columns=100, rows=40) as one, Terminal("inbox", columns=100, rows=40) as other:
        one.shows(READY)
        other.shows(READY)
        armed()
        one.type(b"a")
        other.type(b"a")
        script = Terminal("approve", APPROVAL, "--yes", "--digest", DIGEST)
        with script:
            code = script.end()
        for terminal in (one, other):
            terminal.until(
                lambda terminal=terminal: any("approved: Make" in line or "already" in line for line in terminal.display),  # type: ignore[misc]
                what="an answer",
            )
        said = ["\n".join(terminal.display) for terminal in (one, other)]
        one.type(b"q")
        other.type(b"q")
        assert (one.end(), other.end()) == (0, 0)
    assert service.decisions == ["approve"]
    won = [code == 0, *("approved: Make" in text for text in said)]
    assert sum(won) == 1
    assert code in {0, 4}
    assert sum("cannot decide" in text and "already" in text for text in said) == 2 - sum(won[1:])
