"""doctor: everything the supervisor needs, looked at, each with its fix."""

from __future__ import annotations

import asyncio

import typer

from runner.cli.shared import SUPERVISOR, JsonFlag
from runner.model import Json
from runner.render import Screen, Styled
from runner.settings import load_settings

_STYLES = {"fine": "green", "note": "yellow", "wrong": "bold red"}


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command(rich_help_panel=SUPERVISOR, epilog="Example: runner doctor --json | jq '.checks[] | select(.fix)'")(doctor)


def doctor(*, json: JsonFlag = False) -> None:
    """Look at everything the supervisor needs and say what to do about it; exit code 1 when something is wrong.

    Works with and without a supervisor, changes nothing, and asks nobody on the network.
    """
    from runner.app import examine  # noqa: PLC0415 - everything it brings is needed by this command only

    screen = Screen(json=json)
    found = asyncio.run(examine(load_settings()))
    wrong = sum(check.level.value == "wrong" for check in found)
    if json:
        rows: list[Json] = [
            {"name": check.name, "level": check.level.value, "found": check.found, "fix": check.fix} for check in found
        ]
        screen.document({"ok": not wrong, "checks": rows})
    else:
        for check in found:
            level = check.level.value
            screen.say(Styled(level, _STYLES[level], 7), Styled(check.name, "bold", 28), check.found)
            if check.fix:
                screen.say(Styled("", "", 7), Styled("fix:", "cyan", 5), check.fix)
        said = "nothing is wrong" if not wrong else f"{wrong} wrong"
        screen.say(Styled(said, "bold red" if wrong else "bold green"))
    if wrong:
        raise typer.Exit(1)
