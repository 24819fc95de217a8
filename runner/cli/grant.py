"""grant, grants and revoke: a yes given beforehand to calls that look a certain way (D3)."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.api.client import as_object
from runner.cli.completion import agents
from runner.cli.credential import keyed
from runner.cli.decide import typed
from runner.cli.shared import DECISIONS, JsonFlag, connect, now, reach
from runner.errors import UsageError
from runner.model import Json, JsonObject
from runner.profiles import units
from runner.render import Screen, Styled
from runner.render.grants import show_grant, show_grants
from runner.render.values import objects_at, text_at


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    example = "Example: runner grant scribe Write --path out --match file_path='out/*.md' --for 1h --uses 10"
    app.command(rich_help_panel=DECISIONS, epilog=example)(keyed(grant))
    app.command(name="grants", rich_help_panel=DECISIONS, epilog="Example: runner grants --json")(list_all)
    app.command(rich_help_panel=DECISIONS, epilog="Example: runner revoke g_2v8xk1")(revoke)


def grant(  # noqa: PLR0913 - each is a flag of the contract
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="A published name.", autocompletion=agents)],
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The profile's name for the tool.")],
    *,
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="How long: 30m, 1h; at most 24h.")],
    path: Annotated[str | None, typer.Option(metavar="PREFIX", help="Only at or beneath this path of the workspace.")] = None,
    match: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=GLOB", help="Only where this argument looks so; may be repeated. * and ? as in file names."),
    ] = None,
    uses: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="For how many calls at most.")] = 20,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    json: JsonFlag = False,
) -> None:
    """Skip asking for calls of one tool that look a certain way, for a while.

    Never for a contact's run, nor for a tool that sends, executes or deletes; where strict is on, for confined reads only. It
    belongs to the profile as it is published now, and counts every call it lets run.
    """
    screen = Screen(json=json)
    body = _wish(agent, tool, seconds=_seconds(duration), uses=uses) | {"path": path, "match": _matches(match or [])}
    if not yes and (json or not screen.interactive):
        raise UsageError(
            "cannot grant without asking: that needs --yes", resolution="on a terminal it shows the grant and asks"
        )
    with connect() as client:
        if not yes:
            show_grant(screen, as_object(client.post("grants", "plan", body=body)), now=now())
            screen.ask(Styled(f"skip asking for these calls of {agent}?", "bold"), " [y/N]")
            if typed() not in {"y", "yes"}:
                screen.progress("nothing was granted")
                raise typer.Exit(1)
        found = as_object(client.post("grants", body=body))
    if json:
        screen.document(found)
        return
    if yes:
        show_grant(screen, found, now=now())
    ref = text_at(found, "id")
    screen.say(Styled("granted ", "bold green"), Styled(ref, "cyan"), "; ", Styled(f"runner revoke {ref}", "bold"), " ends it")


def list_all(
    *,
    agent: Annotated[str | None, typer.Option(help="Only of this agent.", autocompletion=agents)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Ended ones too.")] = False,
    json: JsonFlag = False,
) -> None:
    """List the grants that live, newest first."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.get("grants", agent=agent, all="1" if everything else None))
    if json:
        screen.document(found)
    else:
        show_grants(screen, objects_at(found, "grants"), now=now())


def revoke(
    ref: Annotated[str, typer.Argument(metavar="GRANT", help="A grant, or its beginning.")], *, json: JsonFlag = False
) -> None:
    """Take a grant back, at once: what it let in and has not begun is not carried out."""
    screen = Screen(json=json)
    with connect() as client:
        whole = reach(client, ref, "grant").id
        found = as_object(client.post("grants", whole, "revoke", body={}))
    if json:
        screen.document(found)
    else:
        screen.say(Styled("revoked ", "bold red"), Styled(whole, "cyan"), f": {text_at(found, 'says')}")


def _wish(agent: str, tool: str, *, seconds: int, uses: int) -> JsonObject:
    return {"agent": agent, "tool": tool, "seconds": seconds, "uses": uses}


def _seconds(text: str) -> int:
    try:
        return int(units.seconds(text))
    except ValueError as error:
        raise UsageError(f"cannot use --for {text}: {error}") from None


def _matches(texts: list[str]) -> Json:
    """KEY=GLOB, each key once."""
    found: JsonObject = {}
    for text in texts:
        key, mark, glob = text.partition("=")
        if not key or not mark or not glob or key in found:
            raise UsageError(
                f"cannot use --match {text}: it must be KEY=GLOB, each KEY once", resolution="--match 'file_path=out/*.md'"
            )
        found[key] = glob
    return found
