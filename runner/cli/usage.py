"""usage: what was spent, by agent, contact or day."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from runner.api.client import as_object
from runner.cli.shared import CAPTURES, JsonFlag, connect
from runner.render import Screen
from runner.render.spending import show_usage


class By(Enum):
    """What is added up."""

    AGENT = "agent"
    CONTACT = "contact"
    DAY = "day"


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner usage --by contact --days 7")(usage)


def usage(
    *,
    by: Annotated[By, typer.Option(help="What is added up.")] = By.AGENT,
    days: Annotated[int, typer.Option(min=1, max=3660, help="How many days, today included (UTC).")] = 30,
    json: JsonFlag = False,
) -> None:
    """Show what the models were asked and what it cost, as the gateway saw it; what is set aside counts as spent."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.get("usage", by=by.value, days=str(days)))
    if json:
        screen.document(found)
    else:
        show_usage(screen, found)
