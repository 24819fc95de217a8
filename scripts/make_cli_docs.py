"""Writes docs/cli.md from the commands themselves: usage, help, options and examples, and the errors with their exit codes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from runner.cli.main import FILES, make_app
from runner.errors import RunnerError, every_error

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
_HEAD = """# The command line

Made by `make diagrams` from the commands themselves; a test compares. `runner COMMAND --help` says the same at the terminal,
and `runner --install-completion` makes your shell complete commands, ids and names.

Ids may be shortened to their first six characters. Without `--json` output is for people: tables, colour on a terminal only and
not with `NO_COLOR`, progress on stderr. With `--json` stdout holds one JSON document and nothing else (`--json-lines`, and
`runner log --follow --json`: one a line), and an error is `{"error": {"code", "message", "hint"}}` on stderr. Which supervisor
a command talks to follows from `RUNNER_STATE_DIR`; the settings are in [operations.md](operations.md)."""


def cli_page() -> str:
    """The whole of docs/cli.md."""
    parts = [_HEAD]
    root = typer.main.get_command(make_app())
    shown = ""
    for name in sorted(
        (name for names in FILES.values() for name in names), key=lambda name: _panels().index(_panel(root, name))
    ):
        if _panel(root, name) != shown:
            shown = _panel(root, name)
            parts.append(f"## {shown}")
        parts.extend(_sections(_commands(root)[name], f"runner {name}"))
    return "\n\n".join([*parts, "## Errors and exit codes", _errors()]) + "\n"


def _commands(group: Any) -> dict[str, Any]:
    found: dict[str, Any] = getattr(group, "commands", {})
    return found


def _panel(root: Any, name: str) -> str:
    return str(_commands(root)[name].rich_help_panel)


def _panels() -> list[str]:
    """Panels in the order of the command's own help."""
    root = typer.main.get_command(make_app())
    return list(dict.fromkeys(_panel(root, name) for names in FILES.values() for name in names))


def _sections(command: Any, path: str) -> Iterator[str]:
    """A command, or each of a group's; a group that does something by itself comes first."""
    if _commands(command) and getattr(command, "invoke_without_command", False):
        yield from _section(command, path)
    if _commands(command):
        for name, inner in _commands(command).items():
            yield from _sections(inner, f"{path} {name}")
        return
    yield from _section(command, path)


def _section(command: Any, path: str) -> Iterator[str]:
    """One command: its words, its usage with an example, its options."""
    yield f"### {path}"
    yield inspect.cleandoc(command.help or "")
    with command.make_context(path, [], resilient_parsing=True) as context:
        pieces = ["[OPTIONS]"] if _commands(command) else command.collect_usage_pieces(context)
        usage = " ".join([path, *pieces])
        rows = [row for parameter in command.params if (row := _row(parameter, context))]
    example = str(command.epilog or "").removeprefix("Example: ")
    yield f"```\n{usage}\n\n{example}\n```" if example else f"```\n{usage}\n```"
    if rows:
        yield "\n".join(["| | |", "|---|---|", *rows])


def _row(parameter: Any, context: Any) -> str:
    """An argument or option as a row; `--help` is everybody's."""
    if "--help" in parameter.opts:
        return ""
    found = parameter.get_help_record(context)
    if found is None:
        return ""
    name, text = found
    return f"| `{_cell(name)}` | {_cell(text)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _errors() -> str:
    """Exit codes with the errors that end in them, from the errors' own words."""
    public = [kind for kind in every_error().values() if kind.__module__ == RunnerError.__module__]
    kinds = sorted(public, key=lambda kind: (kind.exit_code, kind.code))
    rows = [f"| {kind.exit_code} | `{kind.code}` | {inspect.getdoc(kind).splitlines()[0]} |" for kind in kinds]  # type: ignore[union-attr]
    done = "0: done. A question that is answered with no is no error: `runner explain` exits with 0 for every verdict."
    return "\n".join([done, "", "| exit code | error | when |", "|---|---|---|", *rows])


def main() -> int:
    """Write the page."""
    PAGE.write_text(cli_page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
