"""undo: take a file effect back (issue 5 item 3)."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.api.client import as_object
from runner.cli.credential import keyed
from runner.cli.shared import DECISIONS, JsonFlag, connect, reach
from runner.lifecycle import ApprovalState
from runner.model import JsonObject
from runner.render import Screen, Styled, show_change
from runner.render.values import objects_at, text_at

#: Exit codes of an undo that was begun and came to something else than done.
_EXITS = {ApprovalState.DONE.value: 0, ApprovalState.STALE.value: 5}


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command(rich_help_panel=DECISIONS, epilog="Example: runner undo a_2v8xk1 --dry-run")(keyed(undo))


def undo(
    ref: Annotated[str, typer.Argument(metavar="ID", help="An approval that was carried out, or its beginning.")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what it would change, and change nothing.")] = False,
    json: JsonFlag = False,
) -> None:
    """Take back what an approved call did to a file or directory: what stood there before stands there again.

    Refused when what stands there now is not what the call left behind. An undo has an id of its own, and can be undone.
    """
    screen = Screen(json=json)
    with connect() as client:
        whole = reach(client, ref, "approval").id
        answer = client.get("approvals", whole, "undo") if dry_run else client.post("approvals", whole, "undo", body={})
    found = as_object(answer)
    if json:
        screen.document(found)
    elif dry_run:
        show_change(screen, found, title=f"runner undo {whole} would {text_at(found, 'summary')}")
    else:
        _say(screen, found, whole)
    code = 0 if dry_run else _EXITS.get(text_at(found, "state"), 1)
    if code:
        raise typer.Exit(code)


def _say(screen: Screen, found: JsonObject, undone: str) -> None:
    """What became of the undo, and how to take that back again."""
    state, fresh = text_at(found, "state"), text_at(found, "id")
    done = state == ApprovalState.DONE.value
    targets = ", ".join(text_at(path, "resolved") for path in objects_at(found, "paths"))
    screen.say(
        Styled("taken back " if done else "not taken back ", "bold green" if done else "bold red"),
        Styled(undone, "cyan"),
        f" on {targets}",
    )
    screen.say("  ", Styled("outcome", "dim", 9), text_at(found, "outcome") or text_at(found, "decision_reason"))
    screen.say("  ", Styled("undo", "dim", 9), Styled(fresh, "cyan"), f"; runner undo {fresh} does it again" if done else "")
    screen.say("  ", Styled("digest", "dim", 9), text_at(found, "digest"))
    screen.say("  ", Styled("state", "dim", 9), Styled(state, "green" if done else "yellow"))
