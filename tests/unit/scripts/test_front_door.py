"""The Makefile and the CI entry do what README says, in that order."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def said_by(*command: str) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("target", "lines"),
    [
        ("demo", ["scripts/setup.sh", ".venv/bin/runner demo"]),
        (
            "test",
            ["scripts/setup.sh --for-tests", ".venv/bin/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -k one"],
        ),
    ],
)
def test_demo_and_test_set_up_first(target: str, lines: list[str]) -> None:
    assert said_by("make", "--dry-run", "--no-print-directory", target, "ARGS=-k one").splitlines() == lines


def test_make_alone_says_what_can_be_made() -> None:
    lines = said_by("make", "--no-print-directory").splitlines()
    assert [line.split()[1] for line in lines[:3]] == ["help", "setup", "demo"]


def test_yes_on_makes_command_line_reaches_set_up() -> None:
    made = said_by("make", "--no-print-directory", "-f", "Makefile", "--eval", "probe: ; @echo got-$$YES", "probe", "YES=1")
    assert made == "got-1\n"


@pytest.mark.parametrize("script", ["scripts/setup.sh", ".ci/run"])
def test_a_script_is_valid_bash_stops_at_errors_and_can_be_run(script: str) -> None:
    path = ROOT / script
    said_by("bash", "-n", str(path))
    assert "set -euo pipefail" in path.read_text(encoding="utf-8").splitlines()
    assert path.stat().st_mode & 0o111


def test_ci_sets_up_checks_and_tests_and_ends_with_the_tests() -> None:
    text = (ROOT / ".ci/run").read_text(encoding="utf-8")
    made = [line.split()[2] for line in text.splitlines() if line.startswith("make --no-print-directory")]
    assert made == ["setup", "check", "test"]
