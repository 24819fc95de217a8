"""inbox: everything that needs a person on one full screen (V1, V4, V5, V7).

Owns the refusal where no person can see and type. Textual is loaded only once that is settled, and only in this package.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from runner.cli.credential import chosen_signer, keyed
from runner.cli.shared import DECISIONS, connect
from runner.errors import UsageError
from runner.render import Screen
from runner.render.values import objects_at

if TYPE_CHECKING:
    from runner.api.client import Client

#: What to use where no full screen can be drawn.
_INSTEAD = "runner todo lists what waits, runner approve ID shows one call and asks"


def register(app: typer.Typer) -> None:
    """Add this package's command."""
    app.command(rich_help_panel=DECISIONS, epilog="Example: runner inbox")(keyed(inbox))


def inbox() -> None:
    """Review everything that needs you on a full screen: read, approve, deny, undo; ? lists the keys.

    Leaving it, however abruptly, decides nothing.
    """
    refuse_bad_terminal(Screen())
    # A stale width in the environment would hide what stands beyond it.
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    with connect() as client:
        _unlock(client)
        from runner.cli.inbox.app import run  # noqa: PLC0415 - drawing is loaded where there is a screen to draw on
        from runner.cli.inbox.office import Office  # noqa: PLC0415 - as above

        run(Office(client, connect))


def _unlock(client: Client) -> None:
    """Ask for the key's passphrase while there is still a line to ask on; without a key the inbox is for looking."""
    signer = chosen_signer()
    if objects_at(client.record("approvers"), "keys") and signer.path.exists():
        signer.ready()


def refuse_bad_terminal(screen: Screen) -> None:
    """Nothing is drawn where it could not be seen or answered.

    Raises:
        UsageError: stdin, stdout or stderr is no terminal, or the terminal cannot draw a full screen.
    """
    if not screen.interactive:
        raise UsageError("cannot open the inbox: stdin, stdout and stderr must be a terminal", resolution=_INSTEAD)
    kind = os.environ.get("TERM", "")
    if kind in {"", "dumb", "unknown"}:
        raise UsageError(f"cannot open the inbox: a terminal of kind {kind!r} draws no full screen", resolution=_INSTEAD)
    encoding = (sys.stderr.encoding or "").lower().replace("-", "")
    if encoding != "utf8":
        raise UsageError(
            f"cannot open the inbox: this terminal is set to {encoding or 'no encoding'}, not UTF-8",
            resolution=f"set LANG=C.UTF-8; or {_INSTEAD}",
        )
