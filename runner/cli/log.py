"""log: who did what, and when."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.cli.shared import RECORD, JsonFlag, connect
from runner.render import Screen, show_event
from runner.render.values import objects_at

#: Seconds of one question while nothing happens.
_WAIT = 20.0


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command(rich_help_panel=RECORD, epilog="Example: runner log --follow --json | jq .event")(log)


def log(
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens, until Ctrl-C.")] = False,
    count: Annotated[int, typer.Option("--lines", "-n", min=1, max=1000, help="How many of the newest.", metavar="N")] = 50,
    json: JsonFlag = False,
) -> None:
    """Show the audit: every capture, decision, effect and setting, oldest first; times are UTC.

    It holds facts and digests, never what a call would write. With --follow, --json prints one event per line.
    """
    screen = Screen(json=json)
    with connect() as client:
        found = client.log(after=None, limit=count)
        if json and not follow:
            screen.document({"events": [*objects_at(found, "events")]})
            return
        while True:
            for event in objects_at(found, "events"):
                if json:
                    screen.document(event, compact=True)
                else:
                    show_event(screen, event)
            if not follow:
                return
            place = found.get("next")
            found = client.log(after=place if isinstance(place, int) else 0, limit=1000, seconds=_WAIT)
