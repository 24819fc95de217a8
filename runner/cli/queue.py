"""approvals and show: what waits, and what exactly it is."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.api.client import as_object
from runner.cli.completion import any_run, pending
from runner.cli.editing import EditFile, planned, read_edit
from runner.cli.practice import demo
from runner.cli.shared import DECISIONS, JsonFlag, Reached, connect, need_ref, now, reach
from runner.cli.stats import stats
from runner.errors import UsageError
from runner.lifecycle import ApprovalState
from runner.model import JsonObject
from runner.render import Screen, Styled, show_approvals, show_card, show_fields, show_run, what_was_hidden
from runner.render.grants import show_grant
from runner.render.replies import show_reply
from runner.render.shares import show_share
from runner.render.values import objects_at, text_at


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    group = typer.Typer(invoke_without_command=True)
    group.callback(epilog="Example: runner approvals --run r_7k3m9q --json")(approvals)
    group.command(epilog="Example: runner approvals stats --since 30d")(stats)
    group.command(epilog="Example: runner approvals demo")(demo)
    app.add_typer(group, name="approvals", rich_help_panel=DECISIONS)
    app.command(rich_help_panel=DECISIONS, epilog="Example: runner show a_2v8xk1")(show)


def approvals(  # noqa: PLR0913 -- typer reads the options from it
    context: typer.Context,
    *,
    run: Annotated[str | None, typer.Option(help="Only of this run.", autocompletion=any_run)] = None,
    state: Annotated[list[ApprovalState] | None, typer.Option(help="Only in this state; may be repeated.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Decided ones too.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many of the oldest.", metavar="N")] = 100,
    json: JsonFlag = False,
) -> None:
    """List the calls that wait for a person, oldest first."""
    if context.invoked_subcommand is not None:
        return
    screen = Screen(json=json)
    wanted = [item.value for item in (ApprovalState if everything else state or ())] or None
    with connect() as client:
        found = as_object(client.get("approvals", run=need_ref(run) if run else None, state=wanted, limit=str(limit)))
    if json:
        screen.document(found)
        return
    rows = objects_at(found, "approvals")
    show_approvals(screen, rows, now=now())
    total = found.get("total")
    if isinstance(total, int) and total > len(rows):
        screen.say(f"and {total - len(rows)} more; ", Styled(f"--limit {total}", "bold"), " lists them all")
    if any(row.get("state") == ApprovalState.PENDING.value for row in rows):
        screen.say(
            Styled("runner show ID", "bold"), " shows one whole; ", Styled("runner approve ID", "bold"), " shows it and asks"
        )
        token = text_at(found, "snapshot")
        screen.say(Styled(f"runner approve --all-shown {token}", "bold"), " asks about each of these and none that comes later")


def show(
    ref: Annotated[str, typer.Argument(metavar="ID", help="Any id, or its beginning.", autocompletion=pending)],
    *,
    raw: Annotated[bool, typer.Option("--raw", help="Only the exact input of the call, as JSON.")] = False,
    edit: EditFile = None,
    json: JsonFlag = False,
) -> None:
    """Show an approval, a run, a capture, a reply, a grant or a share, whole.

    With --edit: the approval as it would be with that input in place of the proposed one; nothing is changed.
    """
    screen = Screen(json=json)
    with connect() as client:
        reached = reach(client, ref, "approval", "run", "capture", "grant", "reply", "share")
        if (raw or edit is not None) and reached.kind != "approval":
            raise UsageError(f"cannot show the input of {ref}: only an approval has one", resolution=f"runner show {ref}")
        if edit is not None:
            found = planned(client, reached.id, read_edit(edit))
        elif reached.kind in {"capture", "grant", "reply", "share"}:
            found = client.record("find", reached.id)
        else:
            found = client.record(f"{reached.kind}s", reached.id)
    if raw:
        screen.document(found.get("input"))
    elif json:
        screen.document(found)
    else:
        _draw(screen, reached, found)


def _draw(screen: Screen, reached: Reached, found: JsonObject) -> None:
    """What an id names, for people."""
    match reached.kind:
        case "approval":
            show_card(screen, found, now=now())
            if found.get("state") == ApprovalState.UNKNOWN.value:
                screen.say("look what became of it, then ", Styled(f"runner settle {reached.id} happened|not-happened", "bold"))
        case "run":
            show_run(screen, found)
        case "reply":
            show_reply(screen, found, now=now())
        case "grant":
            show_grant(screen, found, now=now())
        case "share":
            show_share(screen, found, now=now())
        case _:
            screen.say(Styled("capture ", "bold"), Styled(reached.id, "bold cyan"))
            screen.lines(show_fields(found, width=screen.width))
            for hid in what_was_hidden(found):
                screen.say("  ", Styled(hid, "bold yellow"))
