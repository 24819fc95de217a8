"""todo: everything that needs a person, in one list."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.api.client import as_object
from runner.cli.shared import DECISIONS, JsonFlag, as_list, connect, now
from runner.lifecycle import ApprovalState
from runner.model import Json, JsonObject
from runner.render import Screen, show_todo
from runner.render.values import objects_at, text_at


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command(rich_help_panel=DECISIONS, epilog="Example: runner todo -q || runner approvals")(todo)


def todo(
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only how many; exit with 1 when there are any.")] = False,
    json: JsonFlag = False,
) -> None:
    """List everything that needs a person: calls and replies to decide about, effects to settle, spent budgets, captures."""
    screen = Screen(json=json)
    with connect() as client:
        found = [_item(row) for row in objects_at(as_object(client.get("approvals")), "approvals")]
        found += [_budget(row) for row in objects_at(as_object(client.get("budgets")), "holds")]
        found += [_reply(row) for row in as_list(client.get("replies"))]
        found += [_capture(row) for row in as_list(client.get("captures"))]
    items = sorted(found, key=_asked)
    if json:
        listed: list[Json] = [] if quiet else [*items]
        screen.document({"count": len(items)} | ({} if quiet else {"items": listed}))
    elif quiet:
        screen.say(str(len(items)))
    else:
        show_todo(screen, items, now=now())
    if quiet and items:
        raise typer.Exit(1)


def _item(approval: JsonObject) -> JsonObject:
    """One thing to do, with the command that does it."""
    ref = text_at(approval, "id")
    unknown = text_at(approval, "state") == ApprovalState.UNKNOWN.value
    kept = {key: approval.get(key) for key in ("id", "run", "agent", "tool", "does", "sender", "why", "created", "expires")}
    command = f"runner settle {ref} happened|not-happened" if unknown else f"runner approve {ref}"
    return {"kind": "unknown" if unknown else "approval", **kept, "command": command}


def _reply(line: JsonObject) -> JsonObject:
    """A reply that waits for review."""
    ref = text_at(line, "id")
    kept = {key: line.get(key) for key in ("id", "run", "agent", "sender", "does", "why", "created", "expires")}
    return {"kind": "reply", **kept, "command": f"runner reply approve {ref}"}


def _capture(line: JsonObject) -> JsonObject:
    """A capture that no agent sees before it is let in or started."""
    ref, state = text_at(line, "id"), text_at(line, "state")
    kept = {key: line.get(key) for key in ("id", "agent", "sender", "created")}
    says = "a capture that waits to be let in" if state == "stub" else "a capture that waits to be started"
    return {"kind": state, **kept, "does": says, "command": f"runner {'accept' if state == 'stub' else 'start'} {ref}"}


def _budget(hold: JsonObject) -> JsonObject:
    """A run that waits for a budget to be raised, or to be stopped."""
    run = text_at(hold, "run")
    kept = {key: hold.get(key) for key in ("run", "agent", "sender", "created")}
    return {"kind": "budget", "id": run, **kept, "does": text_at(hold, "says"), "command": f"runner run raise {run}"}


def _asked(item: JsonObject) -> float:
    created = item.get("created")
    return float(created) if isinstance(created, int | float) else 0.0
