"""The docs say what is true: rooms, states, tests and commands they name exist, and what is made from code is up to date."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import typer

from runner.cli.main import make_app
from runner.lifecycle import APPROVAL, APPROVAL_ENDS, RUN, ApprovalState, RunState
from scripts.make_cli_docs import cli_page
from scripts.make_diagrams import arrows, diagram, endings, filled, life, states_page
from tests.architecture.tree import ROOT, every_test

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
THREATS = (ROOT / "docs/threat-model.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
INVARIANTS = 14


def named_tests(text: str) -> list[str]:
    """Names of tests in a document: a name in backticks that starts as tests do."""
    return re.findall(r"`(test_\w+)`", text)


def rows(text: str, heading: str) -> list[list[str]]:
    """Cells of each row of the table under a heading, without its head."""
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


@cache
def known_tests() -> frozenset[str]:
    """Names of all tests."""
    return frozenset(test.rpartition("::")[2] for test in every_test())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_a_page_names_exists(page: Path) -> None:
    assert set(named_tests(page.read_text(encoding="utf-8"))) - known_tests() == set()


def test_every_invariant_has_a_line_with_a_test() -> None:
    """design.md §5."""
    found = {int(cells[0]): bool(named_tests(cells[2])) for cells in rows(ARCHITECTURE, "Invariants")}
    assert found == dict.fromkeys(range(1, INVARIANTS + 1), True)


def test_every_stopped_attack_names_the_test_that_tries_it() -> None:
    found = rows(THREATS, "What is tried and what stops it")
    assert len(found) > 10
    assert [cells[0] for cells in found if len(cells) != 3 or not named_tests(cells[2])] == []


def test_what_is_not_stopped_is_said_plainly() -> None:
    assert len(re.findall(r"^- ", THREATS.partition("\n## What this does not stop\n")[2], re.MULTILINE)) > 5


def test_the_map_names_every_room() -> None:
    rooms = {path.name.removesuffix(".py") for path in (ROOT / "runner").iterdir() if path.suffix == ".py" or path.is_dir()}
    named = set(re.findall(r"`(\w+)`", " ".join(cells[0] for cells in rows(ARCHITECTURE, "Rooms"))))
    assert rooms - {"__init__", "__pycache__"} == named


def test_made_parts_of_the_map_are_up_to_date() -> None:
    """Run `make diagrams` when this fails."""
    assert filled(ARCHITECTURE) == ARCHITECTURE


def test_the_states_page_is_up_to_date() -> None:
    """Invariant 12. Run `make diagrams` when this fails."""
    assert (ROOT / "docs/states.md").read_text(encoding="utf-8") == states_page()


def test_the_page_about_approvals_is_up_to_date_and_has_every_end() -> None:
    """Issue 5: the diagram and what the agent is told come from the code. Run `make diagrams` when this fails."""
    page = (ROOT / "docs/approvals.md").read_text(encoding="utf-8")
    assert life(page) == page
    told = [line.split("|")[1].strip() for line in endings().splitlines()[2:]]
    assert told == [state.value for state in ApprovalState if state in APPROVAL_ENDS]
    assert "(docs/approvals.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_command_line_page_is_up_to_date() -> None:
    """cli.md. Run `make diagrams` when this fails."""
    assert (ROOT / "docs/cli.md").read_text(encoding="utf-8") == cli_page()


def test_a_diagram_has_every_arrow_of_its_table() -> None:
    text = diagram(RUN, first=RunState.QUEUED, ends=frozenset({RunState.LOST}))
    drawn = set(re.findall(r"^    (\w+) --> (\w+): (.+)$", text, re.MULTILINE))
    assert {(before.value, after.value, event.value) for (before, event), after in RUN.items()} == drawn
    assert "    [*] --> queued" in text
    assert "    lost --> [*]" in text


def test_arrows_leave_out_nothing_that_can_be_left() -> None:
    lines = dict(line.split(" → ") for line in arrows(APPROVAL).splitlines())
    assert {before.strip() for before in lines} == {before.value for before, _ in APPROVAL}
    assert lines["unknown  "] == f"{ApprovalState.DONE.value}, {ApprovalState.FAILED.value}"


def test_a_page_without_its_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks"):
        filled("# Architecture")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_command_in_the_docs_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)(?:YES=1 )?make ([a-z-]+)", text, re.MULTILINE))
    assert named - targets == set()


def commands_in(text: str) -> list[list[str]]:
    """Lines of a page's blocks that call `runner`, split into words, without what a person puts in."""
    lines = re.findall(r"^runner ([^\n]*)", text, re.MULTILINE)
    return [line.partition("  ")[0].split() for line in lines]


@cache
def command_line() -> object:
    """All commands, put together once."""
    return typer.main.get_command(make_app())


def unknown_to_the_command_line(words: list[str]) -> list[str]:
    """Verbs and options of a call that `runner` does not have."""
    command: object = command_line()
    while words and (verb := getattr(command, "commands", {}).get(words[0])):
        command, words = verb, words[1:]
    if hasattr(command, "commands") and not getattr(command, "invoke_without_command", False):
        return words[:1] or ["(nothing)"]
    known = {option for parameter in command.params for option in parameter.opts}  # type: ignore[attr-defined]
    return [word for word in words if word.startswith("-") and word not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_runner_command_in_the_docs_exists(page: Path) -> None:
    found = commands_in(page.read_text(encoding="utf-8"))
    assert [" ".join(words) for words in found if unknown_to_the_command_line(words)] == []


@pytest.mark.parametrize(
    ("words", "unknown"),
    [
        ("run show r_1", []),
        ("send scribe --note x --wait", []),
        ("run", ["(nothing)"]),
        ("runs --no-such", ["--no-such"]),
        ("reboot now", ["reboot"]),
    ],
)
def test_a_command_that_does_not_exist_is_caught(words: str, unknown: list[str]) -> None:
    assert unknown_to_the_command_line(words.split()) == unknown


def test_make_help_lists_every_command() -> None:
    phony = MAKEFILE.partition(".PHONY: ")[2].partition("\n")[0].split()
    assert sorted(phony) == sorted(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))


def test_the_front_door_is_the_two_commands() -> None:
    """Nothing is asked for before them but git and make."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"apt-get install[^`\n]*", readme) == ["apt-get install -y git make"]
    assert {"demo", "test"} <= set(re.findall(r"^make (\w+)", readme, re.MULTILINE))
