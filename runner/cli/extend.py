"""extend: more time for a call that waits (L4)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from runner.api.client import as_object
from runner.cli.completion import pending
from runner.cli.shared import DECISIONS, JsonFlag, connect, reach
from runner.errors import UsageError
from runner.profiles import units
from runner.render import Screen, Styled
from runner.render.values import text_at, tool_name


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command(rich_help_panel=DECISIONS, epilog="Example: runner extend a_2v8xk1 --for 1h")(extend)


def extend(
    ref: Annotated[str, typer.Argument(metavar="ID", help="An approval that waits, or its beginning.", autocompletion=pending)],
    *,
    more: Annotated[str, typer.Option("--for", metavar="TIME", help="How much later: 30m, 1h, 2d.")],
    json: JsonFlag = False,
) -> None:
    """Give a call that waits more time.

    Its deadline may be at most approvals.expires of its profile from now.
    """
    screen = Screen(json=json)
    try:
        seconds = int(units.seconds(more))
    except ValueError as error:
        raise UsageError(f"cannot use --for {more}: {error}") from None
    with connect() as client:
        whole = reach(client, ref, "approval").id
        found = as_object(client.post("approvals", whole, "extend", body={"seconds": seconds}))
    if json:
        screen.document(found)
        return
    expires = found.get("expires")
    until = f"{datetime.fromtimestamp(expires, UTC):%Y-%m-%d %H:%M:%S} UTC" if isinstance(expires, int | float) else "later"
    screen.say(
        Styled("extended ", "bold green"), f"{tool_name(text_at(found, 'tool'))} ", Styled(whole, "cyan"), f" until {until}"
    )
