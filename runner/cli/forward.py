"""forward: hand a contact's capture on to another agent (S4)."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.api.client import as_object
from runner.cli.completion import agents
from runner.cli.credential import keyed
from runner.cli.shared import CAPTURES, JsonFlag, connect, need_ref
from runner.render import Screen, Styled
from runner.render.values import text_at, texts_at


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    example = "Example: runner forward c_7k3m9q --to scribe --note 'Summarise it for me'"
    app.command(rich_help_panel=CAPTURES, epilog=example)(keyed(forward))


def forward(
    capture: Annotated[str, typer.Argument(metavar="CAPTURE", help="Id, or its first six characters.")],
    *,
    to: Annotated[str, typer.Option(metavar="AGENT", help="Which agent is to see it.", autocompletion=agents)],
    note: Annotated[str, typer.Option(metavar="TEXT", help="What you ask for: your own words.")] = "",
    json: JsonFlag = False,
) -> None:
    """Hand a contact's capture on: your note is the request, all of theirs stays data, and the run is strict.

    Whoever sent it hears nothing of it; what the agent answers is yours. Every hand it went through is listed for the agent.
    """
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.post("captures", need_ref(capture), "forward", body={"to": to, "note": note}))
    if json:
        screen.document(found)
        return
    screen.say("forwarded as ", Styled(text_at(found, "capture"), "cyan"), "; run ", Styled(text_at(found, "run"), "bold cyan"))
    screen.say("  ", Styled("via", "dim", 9), ", ".join(texts_at(found, "via")))
