"""What the CLI is started with."""

from __future__ import annotations

import json
import os

import pytest

from runner.agent import Start, argv, brokered_tools, bundled_cli, container_tools, environment, versions
from runner.agent.options import MAX_SYSTEM_PROMPT
from runner.errors import ConfigurationError
from tests.helpers.agent_gate import SESSION, a_start
from tests.helpers.builders import a_profile

EVERY_FLAG = (
    "claude",
    *("--output-format", "stream-json", "--input-format", "stream-json", "--verbose"),
    *("--permission-prompt-tool", "stdio", "--permission-mode", "default"),
    *("--restricted", "--safe-mode", "--strict-mcp-config", "--setting-sources=", "--disable-slash-commands"),
    *("--tools", "Read,Glob,Grep"),
    *("--settings", '{"permissions": {"ask": ["*"]}}'),
    *("--mcp-config", '{"mcpServers": {"runner": {"type": "sdk", "name": "runner"}}}'),
    *("--model=claude-sonnet-4-5", "--system-prompt=You are tested."),
    *("--session-mirror", f"--session-id={SESSION}"),
)


def test_the_cli_is_started_with_exactly_these_arguments() -> None:
    """R41, R43, R45, sdk.md §4; cases 66, 70, 82, 83: each closes something that was measured."""
    assert argv(a_start()) == EVERY_FLAG


def test_a_resumed_session_is_named_by_its_transcript_instead() -> None:
    assert argv(a_start(resume=True)) == (*EVERY_FLAG[:-1], f"--resume={SESSION}")


@pytest.mark.parametrize("never", ["--allowedTools", "--allowed-tools", "--dangerously-skip-permissions", "--add-dir", "-p"])
def test_nothing_that_loosens_is_ever_passed(never: str) -> None:
    """Cases 68, 69: an allow list would shadow the callback."""
    assert not [word for word in argv(a_start()) if word.startswith(never)]


def test_a_profile_without_brokered_tools_offers_no_server() -> None:
    line = argv(a_start(a_profile(tools=("Read",))))
    assert line[line.index("--mcp-config") + 1] == '{"mcpServers": {}}'
    assert line[line.index("--tools") + 1] == "Read"


def test_a_profile_without_container_tools_offers_none() -> None:
    """An absent `--tools` would offer all."""
    line = argv(a_start(a_profile(tools=("Write",))))
    assert line[line.index("--tools") + 1] == ""


def test_tools_are_split_by_where_they_are_carried_out_and_what_is_unknown_is_offered_nowhere() -> None:
    profile = a_profile(tools=("Write", "Grep", "Bash", "Task", "mcp__x__y", "Read", "Edit", "NoSuchTool"))
    assert container_tools(profile) == ("Grep", "Read")
    assert brokered_tools(profile) == ("Write", "Edit")


@pytest.mark.parametrize("words", ["--dangerously-skip-permissions", "-p", "", " ", "a=b", "\u202e--x\n--y"])
def test_no_word_of_a_profile_can_become_a_flag(words: str) -> None:
    line = argv(Start(profile=a_profile(model=words), session_id=SESSION, system_prompt=words))
    assert line[-4:-2] == (f"--model={words}", f"--system-prompt={words}")
    assert line[:-4] == EVERY_FLAG[:-4]


@pytest.mark.parametrize("size", [MAX_SYSTEM_PROMPT, MAX_SYSTEM_PROMPT - 1])
def test_a_prompt_that_fits_in_one_argument_is_passed(size: int) -> None:
    assert len(argv(a_start(system_prompt="a" * size))) == len(EVERY_FLAG)


@pytest.mark.parametrize("prompt", ["a" * (MAX_SYSTEM_PROMPT + 1), "é" * (MAX_SYSTEM_PROMPT // 2 + 1), "a\0b"])
def test_a_prompt_that_does_not_fit_is_refused_with_a_hint(prompt: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        argv(a_start(system_prompt=prompt))
    assert caught.value.resolution == "shorten system_prompt in the profile"


def test_the_whole_environment_is_this() -> None:
    """sdk.md §5, §7; G2, G4: the key is a placeholder, the base URL is no https."""
    assert environment() == {
        "HOME": "/home/agent",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "ANTHROPIC_UNIX_SOCKET": "/run/gateway/api.sock",
        "ANTHROPIC_BASE_URL": "http://gateway",
        "ANTHROPIC_API_KEY": "placeholder-the-gateway-has-the-key",
        "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
        "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
        "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_DISABLE_CRON": "1",
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
        "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "DISABLE_COMPACT": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }


def test_nothing_of_the_hosts_environment_gets_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """R54: the stock transport would copy all of it."""
    before = environment()
    for name in [*before, "CLAUDECODE", "ANTHROPIC_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY", "NODE_OPTIONS"]:
        monkeypatch.setenv(name, "CANARY-9d1f")
    assert environment() == before
    assert "CANARY-9d1f" not in json.dumps(argv(a_start()))


def test_the_cli_is_the_one_the_installed_sdk_brings() -> None:
    assert os.access(bundled_cli(), os.X_OK)
    assert versions() == ("0.2.189", "2.1.332")
