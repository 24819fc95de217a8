"""notify: whether people can be told."""

from __future__ import annotations

import typer

from runner.api.client import as_object
from runner.cli.shared import SUPERVISOR, JsonFlag, connect
from runner.errors import UsageError
from runner.render import Screen, Styled
from runner.render.values import objects_at, text_at


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    group = typer.Typer(no_args_is_help=True, help="Notices to people: see that they arrive.")
    group.command(epilog="Example: runner notify test", name="test")(try_out)
    app.add_typer(group, name="notify", rich_help_panel=SUPERVISOR)


def try_out(*, json: JsonFlag = False) -> None:
    """Send a test notice to every channel that is set up, at once; exit 1 when one did not take it.

    A channel is named by its kind and a few digits, never by its URL: that is a secret.
    """
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.post("notices", "test", body={}))
    channels = objects_at(found, "channels")
    if not channels:
        raise UsageError(
            "cannot test notices: no channel is set up", resolution="[notify] in config.toml: docs/notices.md has examples"
        )
    if json:
        screen.document(found)
    else:
        for number, one in enumerate(channels, start=1):
            taken = bool(one.get("delivered"))
            said = Styled("delivered", "bold green") if taken else Styled("not delivered", "bold red")
            screen.say(f"{number}. ", Styled(text_at(one, "name"), "cyan", 24), " ", said, *_why(text_at(one, "error")))
    if not all(one.get("delivered") for one in channels):
        raise typer.Exit(1)


def _why(error: str) -> list[str]:
    return [f": {error}"] if error else []
