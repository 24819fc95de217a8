"""picture: a capture's picture as the model is given it, saved to a file; person and model see the same (I1)."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Annotated

import typer

from runner.captures import sniff
from runner.cli.shared import CAPTURES, JsonFlag, as_list, connect, reach
from runner.errors import NotFoundError, UsageError
from runner.render import Screen, Styled
from runner.render.values import text_at


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner picture c_7k2m9x 1 --out screenshot.png")(picture)


def picture(
    capture: Annotated[str, typer.Argument(metavar="ID", help="A capture, or its beginning.")],
    number: Annotated[int, typer.Argument(metavar="N", help="Which of its pictures; the first is 1.")] = 1,
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where it goes; a file that is there is left alone.")],
    json: JsonFlag = False,
) -> None:
    """Save a picture of a capture: the very bytes that the model is given.

    It was decoded apart and written anew; what it says is still its sender's word, and nobody has called it safe.
    """
    with connect() as client:
        reached = reach(client, capture, "capture")
        found = as_list(client.get("captures", reached.id, "images"))
    if not 1 <= number <= len(found):
        raise NotFoundError(
            f"cannot find picture {number} of {reached.id}: it has {len(found) or 'none'}",
            resolution=f"runner show {reached.id}",
        )
    data = base64.b64decode(text_at(found[number - 1], "data"))
    _save(out, data)
    facts = sniff(data)
    size = "" if facts is None else f"{facts.width} by {facts.height} pixels, "
    screen = Screen(json=json)
    if json:
        screen.document({"capture": reached.id, "picture": number, "file": str(out), "bytes": len(data)})
    else:
        screen.say(
            "saved ", Styled(str(out), "bold"), f": {size}{len(data)} bytes, called ", text_at(found[number - 1], "name")
        )


def _save(path: Path, data: bytes) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", resolution="name a file that is not there yet") from None
