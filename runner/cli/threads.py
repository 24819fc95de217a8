"""threads: the conversations that `send --thread` continues."""

from __future__ import annotations

import typer

from runner.cli.shared import CAPTURES, JsonFlag, as_list, connect, now
from runner.render import Screen
from runner.render.threads import show_threads


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner threads --json")(threads)


def threads(*, json: JsonFlag = False) -> None:
    """List threads: with which agent, after which run each goes on, what from outside is in it, and which cannot go on."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_list(client.get("threads"))
    if json:
        screen.document({"threads": [*found]})
        return
    show_threads(screen, found, now=now())
