"""Set-up shows what failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.progress import SetupError, run, tail


def test_a_command_that_works_leaves_its_output_in_the_log(tmp_path: Path) -> None:
    run(["sh", "-c", "echo $GREETING"], log=tmp_path / "sub/x.log", what="greeting", env={"GREETING": "hello"})
    assert (tmp_path / "sub/x.log").read_text() == "hello\n"


def test_a_command_that_fails_shows_its_code_and_the_end_of_its_output(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    with pytest.raises(SetupError) as caught:
        run(["sh", "-c", "echo one; echo two >&2; exit 3"], log=log, what="counting")
    assert caught.value.what == "counting failed with code 3:\n      | one\n      | two"
    assert caught.value.hint == f"the whole output is in {log}"


def test_a_command_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot run /no/such/tool"):
        run(["/no/such/tool"], log=tmp_path / "x.log", what="nothing")


def test_only_the_end_of_a_long_log_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("".join(f"{n}\n" for n in range(100)))
    assert tail(log, 2) == "      | 98\n      | 99"
