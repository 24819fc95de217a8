"""doctor: everything the supervisor needs, looked at, each with its fix."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

import typer

from runner.cli.escaping import escape
from runner.cli.shared import SUPERVISOR, JsonFlag
from runner.errors import UsageError
from runner.model import Json
from runner.render import Screen, Styled
from runner.settings import load_settings

_STYLES = {"fine": "green", "note": "yellow", "wrong": "bold red"}


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command(rich_help_panel=SUPERVISOR, epilog="Example: runner doctor --json | jq '.checks[] | select(.fix)'")(doctor)


def doctor(
    *,
    quarantine: Annotated[
        bool, typer.Option("--quarantine", help="Put a damaged database aside, as it is; nothing else is done.")
    ] = False,
    new_database: Annotated[
        bool, typer.Option("--new-database", help="Give up what was put aside and begin with an empty database.")
    ] = False,
    escape_suite: Annotated[
        bool, typer.Option("--escape", help="Run the escape suite on this host: scripts that try to get out of a container.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Look at everything the supervisor needs and say what to do about it; exit code 1 when something is wrong.

    Works with and without a supervisor, changes nothing without an option, and asks nobody on the network. After
    --quarantine no supervisor starts until a backup stands in the place, or --new-database was said. --escape takes about
    a minute, and says how many of its scripts got out; what none of them tries it says nothing about.
    """
    if escape_suite:
        escape(Screen(json=json))
        return
    if quarantine or new_database:
        _salvage(Screen(json=json), quarantine=quarantine, new_database=new_database)
        return
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


def _salvage(screen: Screen, *, quarantine: bool, new_database: bool) -> None:
    """A damaged database, step by step: never both at once, so that giving it up is a thought of its own."""
    from runner.supervisor import salvage  # noqa: PLC0415 - for this alone

    if quarantine and new_database:
        raise UsageError("cannot do both at once", resolution="first --quarantine; restore a backup if there is one")
    settings = load_settings()
    if new_database:
        made = str(salvage.begin_anew(settings))
        if screen.json:
            screen.document({"made": made})
            return
        screen.say(Styled("made", "bold green"), f" an empty database: {made}")
        return
    moved: list[Json] = [str(path) for path in salvage.put_aside(settings, now=time.time())]
    if screen.json:
        screen.document({"moved": moved})
        return
    for path in moved:
        screen.say(Styled("put aside", "bold green"), f" {path}")
    screen.say(
        "now restore a backup in its place; without one, ", Styled("runner doctor --new-database", "bold"), " begins anew"
    )
