"""approvals stats: how people decided."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from runner.api.client import as_object
from runner.cli.shared import JsonFlag, connect
from runner.errors import UsageError
from runner.profiles import units
from runner.render import Screen, show_statistics


def stats(
    *,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Only the last, such as 7d or 12h.")] = None,
    json: JsonFlag = False,
) -> None:
    """Count what was decided, per person and tool: yes, no, taken back, expired; how long the card was looked at.

    A card counts from when it was shown to who decided. Many decisions in under two seconds were not read.
    """
    screen = Screen(json=json)
    start = 0
    if since is not None:
        try:
            start = max(int(time.time() - units.seconds(since)), 0)
        except ValueError as error:
            raise UsageError(f"cannot use --since {since}: {error}") from None
    with connect() as client:
        found = as_object(client.get("statistics", since=str(start)))
    if json:
        screen.document(found)
    else:
        show_statistics(screen, found)
