"""captures, accept, start and dismiss: what has come in and waits before any agent sees it."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.api.client import as_object
from runner.cli.shared import CAPTURES, JsonFlag, as_list, connect, need_ref, now
from runner.render import Screen, Styled
from runner.render.screen import Part
from runner.render.values import age, size, text_at

_Capture = Annotated[str, typer.Argument(metavar="CAPTURE", help="Id, or its first six characters.")]
_NEXT = {"stub": "runner accept", "stored": "runner start"}


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner captures --all")(captures)
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner accept c_7k3m9q")(accept)
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner start c_7k3m9q")(start)
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner dismiss c_7k3m9q")(dismiss)


def captures(
    *,
    state: Annotated[str | None, typer.Option(help="received, stub, stored, delivered or closed.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that have a run, too.")] = False,
    json: JsonFlag = False,
) -> None:
    """List captures that wait: stubs that nobody has let in, and those of agents that don't wake by themselves."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_list(client.get("captures", state="all" if everything else state))
    if json:
        screen.document({"captures": [*found]})
        return
    if not found:
        screen.say("no captures wait" if not everything and state is None else "no captures")
        return
    rows: list[list[Part]] = []
    for row in found:
        bytes_, verb = row.get("size"), _NEXT.get(text_at(row, "state"))
        rows.append(
            [
                Styled(text_at(row, "id"), "cyan"),
                text_at(row, "agent"),
                text_at(row, "sender"),
                Styled(text_at(row, "state"), "bold yellow" if verb else ""),
                size(bytes_) if isinstance(bytes_, int) else "",
                age(row.get("created"), now=now()),
                Styled(f"{verb} {text_at(row, 'id')}" if verb else "", "bold"),
            ]
        )
    screen.table(["capture", "for", "from", "state", "size", "came", "with"], rows)


def accept(capture: _Capture, *, json: JsonFlag = False) -> None:
    """Let a stub in: from now on its content can be shown, and its run is queued where its agent wakes by itself."""
    _do(capture, "accept", json=json)


def start(capture: _Capture, *, json: JsonFlag = False) -> None:
    """Queue the run of a capture that waits because its agent does not wake by itself."""
    _do(capture, "start", json=json)


def dismiss(capture: _Capture, *, json: JsonFlag = False) -> None:
    """Close a capture that waits; no run will have it."""
    _do(capture, "dismiss", json=json)


def _do(ref: str, verb: str, *, json: bool) -> None:
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.post("captures", need_ref(ref), verb, body={}))
    if json:
        screen.document(found)
        return
    run = text_at(found, "run")
    what = f"run {run}" if run else text_at(found, "state")
    screen.say("capture ", Styled(text_at(found, "capture"), "cyan"), ": ", Styled(what, "bold cyan" if run else "bold"))
    if found.get("state") == "stored":
        screen.progress("its agent does not wake by itself; ", Styled(f"runner start {text_at(found, 'capture')}", "bold"))
