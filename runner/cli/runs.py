"""runs, run show, run resume, run raise and stop."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.api.client import as_object
from runner.cli.completion import agents, any_run
from runner.cli.shared import CAPTURES, JsonFlag, Reason, as_list, connect, need_ref, now
from runner.lifecycle import RunState
from runner.render import Screen, Styled, show_run, show_runs, state_part

_Run = Annotated[str, typer.Argument(metavar="RUN", help="Id, or its beginning.", autocompletion=any_run)]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner runs --agent scribe --state held")(runs)
    group = typer.Typer(no_args_is_help=True, help="One run.")
    group.command(name="show", epilog="Example: runner run show r_7k3m9q")(show)
    group.command(name="resume", epilog="Example: runner run resume r_7k3m9q")(resume)
    group.command(name="raise", epilog="Example: runner run raise r_7k3m9q --usd 2")(raise_budget)
    app.add_typer(group, name="run", rich_help_panel=CAPTURES)
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner stop r_7k3m9q --reason 'wrong folder'")(stop)


def runs(
    *,
    agent: Annotated[str | None, typer.Option(help="Only of this agent.", autocompletion=agents)] = None,
    state: Annotated[RunState | None, typer.Option(help="Only in this state.")] = None,
    json: JsonFlag = False,
) -> None:
    """List runs, newest first."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_list(client.get("runs", agent=agent, state=state.value if state else None))
    if json:
        screen.document({"runs": [*found]})
    else:
        show_runs(screen, found, now=now())


def show(run: _Run, *, json: JsonFlag = False) -> None:
    """Show a run: its calls with their verdicts, and the reply."""
    screen = Screen(json=json)
    with connect() as client:
        found = client.record("runs", need_ref(run))
    if json:
        screen.document(found)
    else:
        show_run(screen, found)


def resume(run: _Run, *, json: JsonFlag = False) -> None:
    """Let a failed run go on from its rows, in a fresh container."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.post("runs", need_ref(run), "resume", body={}))
    if json:
        screen.document(found)
    else:
        screen.say("run ", Styled(str(found.get("id")), "bold cyan"), " is ", state_part(str(found.get("state"))))


def raise_budget(
    run: _Run,
    *,
    usd: Annotated[float, typer.Option(min=0, help="Money to add, in US dollars.")] = 0.0,
    tokens: Annotated[int, typer.Option(min=0, help="Tokens to add.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Add to the budget that a run waits for; it goes on from where it stopped. runner stop ends it instead."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.post("runs", need_ref(run), "budget", body={"usd": usd, "tokens": tokens}))
    if json:
        screen.document(found)
    else:
        screen.say("run ", Styled(str(found.get("id")), "bold cyan"), " is ", state_part(str(found.get("state"))))


def stop(run: _Run, *, reason: Reason = None, json: JsonFlag = False) -> None:
    """End a run; what waits for a person in it is cancelled."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.post("runs", need_ref(run), "stop", body={"reason": reason}))
    if json:
        screen.document(found)
    else:
        screen.say("run ", Styled(str(found.get("id")), "bold cyan"), " is ", state_part(str(found.get("state"))))
