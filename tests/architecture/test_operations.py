"""The page for operators follows the code: every setting is on it, and every message it explains is one that is said."""

from __future__ import annotations

import re

import pytest

from runner.settings import Settings
from tests.architecture.test_docs import rows
from tests.architecture.tree import ROOT, files

PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
#: Messages that are not ours, or are no messages: of SQLite and of the shell.
FOREIGN = {"database or disk is full", "docker ps -a"}


def settings_named() -> set[str]:
    """Environment variables in the page's table of settings."""
    return {cells[0].strip("`") for cells in rows(PAGE, "Settings")}


def messages() -> list[str]:
    """What an operator sees, in the page's own quotes."""
    seen = [cells[0] for cells in rows(PAGE, "When something is wrong")]
    found = [quoted for cell in seen for quoted in re.findall(r"`([^`]+)`", cell)]
    return [one for one in found if " " in one and one not in FOREIGN]


def said() -> str:
    """All string constants of the package, with what is filled in left out."""
    return "\n".join(path.read_text(encoding="utf-8") for path in files("runner"))


def test_every_setting_is_on_the_page_and_no_other() -> None:
    aliases = {"api_key": "ANTHROPIC_API_KEY", "docker_host": "DOCKER_HOST", "auth_token": "CLAUDE_CODE_OAUTH_TOKEN"}
    assert settings_named() == {aliases.get(name, f"RUNNER_{name.upper()}") for name in Settings.model_fields}


def test_the_table_of_what_is_seen_is_read() -> None:
    """Without it the next test would pass on an empty page."""
    assert len(messages()) > 12


@pytest.mark.parametrize("message", messages())
def test_every_message_on_the_page_is_one_that_is_said(message: str) -> None:
    upstream = re.sub(r"answered \d+$", "answered {status}", message)
    assert upstream in said()
