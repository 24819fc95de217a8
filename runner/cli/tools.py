"""tools list, set and reset: standing verdicts for single tools of an agent (R72-R74, R126)."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.api.client import as_object
from runner.cli.completion import agents
from runner.cli.credential import keyed
from runner.cli.shared import PROFILES, JsonFlag, connect
from runner.model import Json, JsonObject
from runner.policy import SavedVerdict
from runner.render import Screen, Styled
from runner.render.screen import Part
from runner.render.values import objects_at, text_at, texts_at

_VERDICTS = {"allow": ("run", "green"), "ask": ("ask", "yellow"), "deny": ("deny", "red")}

_Agent = Annotated[str, typer.Argument(metavar="AGENT", help="A published name.", autocompletion=agents)]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    group = typer.Typer(no_args_is_help=True, help="Standing verdicts for the tools of an agent.")
    group.command(name="list", epilog="Example: runner tools list scribe --json")(list_all)
    group.command(name="set", epilog="Example: runner tools set scribe Write block")(keyed(set_one))
    group.command(epilog="Example: runner tools reset scribe Write")(keyed(reset))
    app.add_typer(group, name="tools", rich_help_panel=PROFILES)


def list_all(agent: _Agent, *, json: JsonFlag = False) -> None:
    """List an agent's tools: what they can do, what is saved, what a call would be answered."""
    screen = Screen(json=json)
    with connect() as client:
        found = client.record("profiles", agent, "tools")
    if json:
        screen.document(found)
        return
    screen.say(Styled(agent, "bold cyan"), ", strict" if found.get("strict") else ", not strict")
    rows: list[list[Part]] = [_row(tool) for tool in objects_at(found, "tools")]
    screen.table(["tool", "class", "can be undone", "gives untrusted text", "can carry data out", "saved", "answer"], rows)


def _row(tool: JsonObject) -> list[Part]:
    verdict, style = _VERDICTS.get(text_at(tool, "verdict"), (text_at(tool, "verdict"), "bold"))
    saved = text_at(tool, "saved")
    by = text_at(tool, "set_by")
    return [
        Styled(text_at(tool, "name"), "bold"),
        text_at(tool, "class"),
        *(_yes(tool.get(key)) for key in ("reversible", "returns_untrusted", "egress")),
        f"{saved} by {by}" if saved else "",
        Styled(f"{verdict} ({text_at(tool, 'word')})", style),
    ]


def _yes(value: Json) -> str:
    return "yes" if value else ""


def set_one(
    agent: _Agent,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The profile's name for the tool.")],
    verdict: Annotated[SavedVerdict, typer.Argument(help="What its calls are answered from now on.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Save a verdict for a tool; running runs meet it at their next call.

    A block always wins. An allow counts only where strict is off, and never for a contact's capture.
    """
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.post("profiles", agent, "tools", body={"tool": tool, "verdict": verdict.value}))
    if json:
        screen.document(found)
        return
    screen.say(Styled("saved ", "bold green"), f"{verdict.value} for {tool} of {agent}")
    if note := text_at(found, "note"):
        screen.progress(Styled("note: ", "yellow"), note)


def reset(
    agent: _Agent,
    tool: Annotated[str | None, typer.Argument(metavar="TOOL", help="One tool; without it, all of them.")] = None,
    *,
    json: JsonFlag = False,
) -> None:
    """Forget what is saved; the next call is decided by the agent's policy alone."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.post("profiles", agent, "tools", "reset", body={"tool": tool}))
    if json:
        screen.document(found)
        return
    gone = texts_at(found, "reset")
    screen.say(
        f"forgotten for {agent}: {', '.join(gone)}" if gone else f"nothing was saved for {tool or 'any tool'} of {agent}"
    )
