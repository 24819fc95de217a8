"""The command `runner`: all groups of verbs, and the one place where errors become words and exit codes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version as installed
from typing import Annotated

import typer
from typer.exceptions import TyperException

from runner.errors import RunnerError, UsageError
from runner.render import Screen

_HELP = """Host AI agents that other people can write to: they read, people approve, only the supervisor acts.

Start with runner demo."""

#: The file of this package that has a command, in the order of `runner --help`. Only the file of the command that is typed is
#: loaded, so that `runner status` starts at once.
FILES: Mapping[str, tuple[str, ...]] = {
    "supervisor": ("serve", "status"),
    "background": ("up", "down"),
    "demo": ("demo",),
    "doctor": ("doctor",),
    "notify": ("notify",),
    "image": ("image",),
    "profile": ("profile",),
    "tools": ("tools",),
    "policy": ("policy",),
    "explain": ("explain",),
    "fence": ("fence",),
    "send": ("send",),
    "get": ("get",),
    "picture": ("picture",),
    "waiting": ("captures", "accept", "start", "dismiss"),
    "forward": ("forward",),
    "threads": ("threads",),
    "share": ("share", "shares"),
    "contact": ("contact",),
    "runs": ("runs", "run", "stop"),
    "watch": ("watch",),
    "usage": ("usage",),
    "todo": ("todo",),
    "inbox": ("inbox",),
    "queue": ("approvals", "show"),
    "decide": ("approve", "deny", "settle"),
    "reply": ("replies", "reply"),
    "approver": ("approver",),
    "undo": ("undo",),
    "extend": ("extend",),
    "grant": ("grant", "grants", "revoke"),
    "pausing": ("pause", "resume"),
    "log": ("log",),
    "audit": ("audit",),
}


def make_app(command: str | None = None) -> typer.Typer:
    """The commands, grouped as in the contract.

    Args:
        command: Load only the file that has it; all of them when none has, or without a command.
    """
    app = typer.Typer(
        name="runner",
        help=_HELP,
        no_args_is_help=True,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=_HELP)(_options)
    for file in [file for file, names in FILES.items() if command in names] or FILES:
        importlib.import_module(f"runner.cli.{file}").register(app)
    return app


def _say_version(wanted: bool) -> None:  # noqa: FBT001 - typer hands it over so
    if wanted:
        Screen().say(f"runner {installed('hosted-agent-runner')}")
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is, and end.")
    ] = False,
) -> None: ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code of the contract."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    before = given[: given.index("--")] if "--" in given else given
    screen = Screen(json="--json" in before or "--json-lines" in before)
    try:
        code = make_app(given[0] if given else None)(args=given, prog_name="runner", standalone_mode=False)
    except RunnerError as error:
        screen.error(error)
        return error.exit_code
    except typer.Abort:
        return 130
    except TyperException as error:
        return _usage(screen, error)
    except KeyboardInterrupt:
        return 130
    return code if isinstance(code, int) else 0


def _usage(screen: Screen, error: TyperException) -> int:
    """A mistake on the command line, in the form of every other error."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "runner"
    message = error.format_message().rstrip(".") if hasattr(error, "format_message") else str(error)
    if not message:
        return 2
    lowered = message[:1].lower() + message[1:]
    screen.error(UsageError(f"cannot run {path}: {lowered}", resolution=f"{path} --help"))
    return 2
