"""Mistakes on the command line, help and completion."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer

from runner.api.server import bind_private
from runner.cli.main import FILES, make_app
from tests.helpers.fake_service import RUN, FakeService
from tests.unit.cli.conftest import Ran, spawn

Run = Callable[..., Ran]
COMMANDS = {
    "serve", "up", "down", "status", "demo", "doctor", "send", "runs", "run show", "stop", "watch", "todo", "inbox",
    "approvals", "show", "approver keygen", "approver list",
    "approve", "deny", "settle", "log", "run resume", "tools list", "tools set", "tools reset", "policy get", "policy set",
    "policy table", "explain", "profile new", "profile diff", "profile retire", "profile schema",
    "profile check", "profile publish", "profile list", "profile show", "image build", "image show",
    "grant", "grants", "revoke",
    "audit verify", "audit anchor", "audit export", "approvals stats", "notify test", "extend", "undo", "pause", "resume",
    "replies", "reply show", "reply approve", "reply deny", "forward",
    "contact keygen", "contact add", "contact list", "contact show", "contact verify", "contact rename",
    "contact block", "contact unblock", "contact remove", "captures", "accept", "start", "dismiss", "get",
    "fence", "usage", "run raise", "picture", "share", "shares", "approvals demo", "threads",
}  # fmt: skip


def commands() -> Iterator[tuple[str, typer.models.CommandInfo]]:
    app = make_app()
    for command in app.registered_commands:
        yield command.name or command.callback.__name__.replace("_", "-"), command  # type: ignore[union-attr]
    for group in app.registered_groups:
        own = group.typer_instance.registered_callback  # type: ignore[union-attr]
        if own is not None and group.typer_instance.info.invoke_without_command is True:  # type: ignore[union-attr]
            yield str(group.name), own  # type: ignore[misc]
        for command in group.typer_instance.registered_commands:  # type: ignore[union-attr]
            yield f"{group.name} {command.name or command.callback.__name__}", command  # type: ignore[union-attr]


def test_every_command_of_the_contract_is_there_with_an_example() -> None:
    found = dict(commands())
    assert set(found) == COMMANDS
    assert all((command.epilog or "").startswith("Example: ") for command in found.values())


def test_the_table_of_files_names_every_command_once() -> None:
    """A command that is typed is looked up there; one that is missing would load all of them."""
    listed = [name for names in FILES.values() for name in names]
    assert sorted(listed) == sorted({command.split()[0] for command in COMMANDS})


@pytest.mark.parametrize(("command", "together"), [(command, len(names)) for names in FILES.values() for command in names])
def test_a_command_is_found_without_the_other_files(command: str, together: int) -> None:
    app = make_app(command)
    alone = {info.name or info.callback.__name__ for info in app.registered_commands}  # type: ignore[union-attr]
    assert command in alone | {group.name for group in app.registered_groups}
    assert len(alone) <= together


def test_asking_for_the_status_loads_no_engine_no_database_and_no_tables() -> None:
    """What a command does not need costs its start nothing."""
    heavy = {"docker", "dbos", "claude_agent_sdk", "sqlalchemy", "runner.fence", "runner.app", "starlette", "uvicorn"}
    code = f"import sys; from runner.cli.main import main; main(['status']); print(sorted({heavy!r} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout == "[]\n"


def test_the_version_is_one_line(run: Run) -> None:
    ran = run("--version")
    assert (ran.code, ran.err) == (0, "")
    assert re.fullmatch(r"runner \d+\.\d+\.\d+\n", ran.out)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help(command: str, run: Run) -> None:
    ran = run(*command.split(), "--help")
    assert ran.code == 0
    assert "Example: " in ran.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("show",),
        ("runs", "--state", "flying"),
        ("runs", "--wrong"),
        ("send",),
        ("send", "scribe", "--text-file", "/nowhere"),
        ("send", "scribe", "--capture", "-", "--text-file", "-"),
        ("approve", "a_0123456789abcdef"),
        ("approve", "a_0123456789abcdef", "--yes"),
        ("approve", "a_0123456789abcdef", "--digest", "sha256:0"),
        ("approve", "a_012345", "a_123456", "--yes", "--digest", "sha256:0"),
    ],
)
def test_a_mistake_is_one_line_a_hint_and_two(arguments: tuple[str, ...], run: Run) -> None:
    """cli.md Output: exit code 2, "what: cause", hint; the same as JSON."""
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    first, second = ran.err.splitlines()
    assert first.startswith("runner: cannot ")
    assert second.startswith("hint: ")
    ran = run(*arguments, "--json")
    assert (ran.code, ran.out) == (2, "")
    assert set(json.loads(ran.err)["error"]) == {"code", "message", "hint"}


def test_a_mistake_cannot_draw_on_the_screen(run: Run) -> None:
    """V3: what was typed is data too."""
    ran = run("\x1b[2Jx\u202e")
    assert "\x1b" not in ran.err
    assert ran.err.splitlines()[0] == "runner: cannot run runner: no such command '\\\\x1b[2Jx\\\\u202e'"


def test_a_wrong_setting_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_MODEL", "gpt")
    ran = run("status")
    assert ran.code == 2
    assert ran.err.startswith("runner: cannot use setting RUNNER_MODEL: ")


def test_nothing_typed_shows_the_help() -> None:
    ran = spawn()
    assert "Usage: runner" in ran.stdout + ran.stderr
    assert ran.returncode == 2


def test_completion_offers_ids_that_cannot_act(service: FakeService) -> None:
    """V3: shell completion is a screen too."""
    service.profile_rows = [{"name": "scribe"}, {"name": "s$(reboot)"}, {"name": "s\x1b[2J"}]
    found = spawn(
        env={
            "_RUNNER_COMPLETE": "complete_bash",
            "COMP_WORDS": "runner send s",
            "COMP_CWORD": "2",
            "PATH": "/bin",
            "RUNNER_STATE_DIR": os.environ["RUNNER_STATE_DIR"],
        }
    )
    assert (found.stdout.split(), found.stderr) == (["scribe"], "")


def test_completion_is_silent_without_a_supervisor(state: Path) -> None:
    found = spawn(
        env={
            "_RUNNER_COMPLETE": "complete_bash",
            "COMP_WORDS": "runner send s",
            "COMP_CWORD": "2",
            "PATH": "/bin",
            "RUNNER_STATE_DIR": os.environ["RUNNER_STATE_DIR"],
        }
    )
    assert (found.stdout.split(), found.stderr) == ([], "")


def test_a_closed_pipe_is_quiet(service: FakeService, state: Path) -> None:
    """`runner runs | head` says nothing about pipes."""
    service.run_row["reply"] = "line\n" * 200_000
    command = f"{shlex.quote(sys.executable)} -m runner run show {RUN} | head -1"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (found.stdout, found.stderr) == (f"run {RUN}  needs you (held)\n", "")


def test_the_socket_of_a_dead_supervisor_is_nine(state: Path) -> None:
    state.mkdir(mode=0o700)
    bind_private(state / "control.sock").close()
    found = spawn("status")
    assert found.returncode == 9
    assert found.stderr.startswith("runner: cannot reach the supervisor at ")
