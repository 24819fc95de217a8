"""What the CLI says of its start, held against what it was started with."""

from __future__ import annotations

import pytest

from runner.agent.drift import drift
from runner.model import Json
from tests.helpers.agent_stream import an_init
from tests.helpers.builders import a_profile

PROFILE = a_profile()
TOOLS: list[Json] = ["Read", "Glob", "Grep", "mcp__runner__Write", "mcp__runner__Edit"]
SERVER: dict[str, Json] = {"name": "runner", "status": "connected", "source": "sdk"}


@pytest.mark.parametrize("tools", [("Read",), ("Write",), ("Read", "Glob", "Grep", "Write", "Edit"), ()])
def test_a_start_as_asked_has_no_differences(tools: tuple[str, ...]) -> None:
    profile = a_profile(tools=tools)
    assert drift(an_init(profile), profile) == ()


def test_the_order_of_tools_says_nothing() -> None:
    assert drift(an_init(PROFILE, tools=[*reversed(TOOLS)]), PROFILE) == ()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tools", [*TOOLS, "Task"]),  # case 71: a tool the list does not know
        ("tools", [*TOOLS, "WebSearch"]),  # case 70
        ("tools", TOOLS[1:]),
        ("tools", [*TOOLS, "Read"]),
        ("tools", ["read", *TOOLS[1:]]),
        ("tools", None),
        ("tools", "Read"),
        ("mcp_servers", []),
        ("mcp_servers", [SERVER, SERVER]),
        ("mcp_servers", [{**SERVER, "name": "github"}]),
        ("mcp_servers", [{**SERVER, "status": "failed"}]),
        ("mcp_servers", [{**SERVER, "source": "project"}]),
        ("mcp_servers", ["runner"]),
        ("mcp_servers", None),
        ("permissionMode", "bypassPermissions"),  # case 69, R45
        ("permissionMode", "acceptEdits"),
        ("permissionMode", None),
        ("claude_code_version", "2.1.333"),
        ("cwd", "/"),
        ("model", "claude-opus-5"),
        ("apiKeySource", "apiKeyHelper"),  # case 82
        ("slash_commands", ["init"]),
        ("skills", ["canary"]),
        ("plugins", [{"name": "x", "path": "/workspace/.claude/plugins/x"}]),
        ("plugins", ["builtin"]),
        ("plugins", None),
    ],
)
def test_each_difference_is_found_and_named(key: str, value: Json) -> None:
    (found,) = drift(an_init(PROFILE, **{key: value}), PROFILE)
    assert found.startswith(f"{key} is ")


def test_a_server_nobody_asked_for_is_found() -> None:
    profile = a_profile(tools=("Read",))
    assert len(drift(an_init(profile, mcp_servers=[SERVER]), profile)) == 1


def test_several_differences_are_all_named_in_few_printable_words() -> None:
    found = drift(an_init(PROFILE, tools=["\x1b[2J" * 1000], model="x", cwd=None), PROFILE)
    assert [words.split(" ")[0] for words in found] == ["tools", "cwd", "model"]
    assert all(len(words) < 600 and words.isprintable() for words in found)


def test_an_empty_line_is_nothing_but_differences() -> None:
    assert len(drift({}, PROFILE)) == 10
