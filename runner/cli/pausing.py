"""pause and resume: the owner's switch over everything new (R29-R31, L9)."""

from __future__ import annotations

import typer

from runner.api.client import as_object
from runner.cli.credential import keyed
from runner.cli.shared import SUPERVISOR, JsonFlag, Reason, connect
from runner.render import Screen, Styled
from runner.render.values import text_at


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command(rich_help_panel=SUPERVISOR, epilog="Example: runner pause --reason 'away until Monday'")(pause)
    app.command(rich_help_panel=SUPERVISOR, epilog="Example: runner resume")(keyed(resume))


def pause(*, reason: Reason = None, json: JsonFlag = False) -> None:
    """Let nothing new begin: captures and approvals are refused, queued runs wait; what runs finishes its turn.

    Denying and stopping work as ever. It lasts until runner resume, over restarts too.
    """
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.post("pause", body={"reason": reason}))
    if json:
        screen.document(found)
        return
    made = as_object(found.get("paused"))
    screen.say(Styled("paused", "bold yellow"), f" by {text_at(made, 'by')}; runner resume lets work go on")


def resume(*, json: JsonFlag = False) -> None:
    """Let work go on after runner pause; what was approved before it is judged again."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.post("resume", body={}))
    if json:
        screen.document(found)
    elif found.get("was") is None:
        screen.say("nothing was paused")
    else:
        screen.say(Styled("resumed", "bold green"), "; queued runs are taken again")
