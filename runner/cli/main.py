"""The command `runner`: all groups of verbs, and the one place where errors become words and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer
from typer.exceptions import TyperException

from runner.cli import decide, demo, image, profile, queue, runs, send, supervisor
from runner.errors import RunnerError, UsageError
from runner.render import Screen

_HELP = """Host AI agents that other people can write to: they read, people approve, only the supervisor acts.

Start with runner demo."""


def make_app() -> typer.Typer:
    """Every command, grouped as in the contract."""
    app = typer.Typer(
        name="runner",
        help=_HELP,
        no_args_is_help=True,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for group in (supervisor, demo, image, profile, send, runs, queue, decide):
        group.register(app)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code of the contract."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    before = given[: given.index("--")] if "--" in given else given
    screen = Screen(json="--json" in before or "--json-lines" in before)
    try:
        code = make_app()(args=given, prog_name="runner", standalone_mode=False)
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
