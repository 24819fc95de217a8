"""policy table, get and set: how calls are decided, and the owner's default (R66-R75)."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.api.client import as_object
from runner.cli.credential import keyed
from runner.cli.shared import PROFILES, JsonFlag, connect
from runner.model import Json, JsonObject, Policy, Verdict
from runner.policy.precedence import TABLE, Row
from runner.render import Screen, Styled
from runner.render.screen import Part
from runner.render.values import text_at

_STYLES = {Verdict.ALLOW: "green", Verdict.ASK: "yellow", Verdict.DENY: "red"}


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    group = typer.Typer(no_args_is_help=True, help="How tool calls are decided, and your default for them.")
    group.command(epilog="Example: runner policy table --json")(table)
    group.command(epilog="Example: runner policy get")(get)
    group.command(name="set", epilog="Example: runner policy set read_only --ceiling read_only")(keyed(choose))
    app.add_typer(group, name="policy", rich_help_panel=PROFILES)


def table(*, json: JsonFlag = False) -> None:
    """Show the precedence table: the first row that fits decides; strict mode and ceilings only make it stricter."""
    screen = Screen(json=json)
    if json:
        rows: list[Json] = [_document(row) for row in TABLE]
        screen.document({"table": rows})
        return
    shown: list[list[Part]] = [
        [
            str(row.rank),
            ", ".join(name if wanted else f"not {name}" for name, wanted in row.when.items()),
            Styled(row.verdict.value, _STYLES[row.verdict]),
            Styled(row.unattended.value, _STYLES[row.unattended]),
            row.says,
        ]
        for row in TABLE
    ]
    screen.table(["rank", "when", "answer", "unattended", "because"], shown, limit=120)


def _document(row: Row) -> JsonObject:
    return {
        "rank": row.rank,
        "rule": row.rule,
        "when": dict(row.when),
        "verdict": row.verdict.value,
        "unattended": row.unattended.value,
        "reason": row.says,
    }


def get(*, json: JsonFlag = False) -> None:
    """Show your default policy, for agents whose profile names none, and the ceilings on every policy."""
    screen = Screen(json=json)
    with connect() as client:
        found = client.record("policy")
    _show(screen, found)


def choose(
    policy: Annotated[Policy, typer.Argument(help="The default for agents whose profile names no policy.")],
    *,
    ceiling: Annotated[
        Policy | None, typer.Option(help="The loosest policy any agent may have; one above it asks for every call.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Choose your default policy; running runs meet it at their next call."""
    screen = Screen(json=json)
    body: JsonObject = {"policy": policy.value, "ceiling": None if ceiling is None else ceiling.value}
    with connect() as client:
        found = as_object(client.post("policy", body=body))
    _show(screen, found)


def _show(screen: Screen, found: JsonObject) -> None:
    if screen.json:
        screen.document(found)
        return
    since = "" if found.get("set") else " (never set)"
    screen.say("default  ", Styled(text_at(found, "policy"), "bold"), since)
    screen.say("ceiling  ", Styled(text_at(found, "ceiling"), "bold"), f" (this host's: {text_at(found, 'host_ceiling')})")
