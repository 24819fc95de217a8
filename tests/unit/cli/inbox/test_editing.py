"""The editor gets the exact input in a private file, and what it leaves is taken as it is (D2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.cli.inbox.editing import edit_input
from runner.errors import UsageError

RECORD = {"input": {"content": "a\x1b[2J\u202e", "n": [1, None]}}


def editor(tmp_path: Path, body: str) -> str:
    script = tmp_path / "editor"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    return str(script)


def test_the_input_is_handed_over_exactly_in_a_private_ascii_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv(
        "EDITOR", editor(tmp_path, f'cp "$1" {tmp_path}/seen; stat -c %a "$1" > {tmp_path}/mode; echo "{{}}" > "$1"')
    )
    assert edit_input(RECORD) == "{}\n"
    seen = (tmp_path / "seen").read_bytes()
    assert json.loads(seen) == RECORD["input"]
    assert seen.isascii()
    assert (tmp_path / "mode").read_text() == "600\n"


def test_what_is_left_alone_is_no_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "true")
    assert edit_input(RECORD) is None


@pytest.mark.parametrize(
    ("command", "cause"), [("false", "ended with 1"), ("/nowhere/vi", "does not start"), ('"', "does not start")]
)
def test_an_editor_that_fails_edits_nothing(command: str, cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", command)
    with pytest.raises(UsageError, match=cause):
        edit_input(RECORD)
