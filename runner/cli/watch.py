"""watch: what runs do, as they do it."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.api.client import Client
from runner.cli.completion import any_run
from runner.cli.follow import Teller, ended_well, follow_run, goes_on, has_ended, progress_of
from runner.cli.shared import CAPTURES, as_list, connect, need_ref
from runner.model import JsonObject
from runner.render import Screen, Styled, state_part
from runner.render.values import objects_at, text_at


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner watch r_7k3m9q --exit-status")(watch)


def watch(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="One run; default: all.", autocompletion=any_run)] = None,
    *,
    exit_status: Annotated[bool, typer.Option("--exit-status", help="Exit with 1 unless every one ends with a reply.")] = False,
    json_lines: Annotated[bool, typer.Option("--json-lines", help="JSON lines on stdout.")] = False,
) -> None:
    """Show what a run does until it ends; without RUN, all that are under way until the last one has ended.

    Ctrl-C leaves them running.
    """
    screen = Screen(json=json_lines)
    with connect() as client:
        if run is None:
            ended = _Watch(screen, client, lines=json_lines).until_all_have_ended()
        else:
            ended = [follow_run(screen, client, text_at(client.record("runs", need_ref(run)), "id"), lines=json_lines)]
    if not json_lines:
        for one in ended:
            screen.say("run ", Styled(text_at(one, "id"), "bold cyan"), " is ", state_part(text_at(one, "state")))
    if exit_status and not all(ended_well(one) for one in ended):
        raise typer.Exit(1)


class _Watch:
    """All runs at once: the log says which of them changed, and only those are asked for."""

    def __init__(self, screen: Screen, client: Client, *, lines: bool) -> None:
        self._screen = screen
        self._client = client
        self._lines = lines
        self._teller = Teller(screen, lines=lines)
        self._last: dict[str, JsonObject] = {}

    def until_all_have_ended(self) -> list[JsonObject]:
        """Show changes of the runs under way, and of those that begin meanwhile; the runs as they ended."""
        place = _place(self._client.log(after=None, limit=1))
        for row in reversed(as_list(self._client.get("runs"))):
            if not has_ended(row):
                self._look(text_at(row, "id"))
        if not self._last:
            self._screen.progress("no run is under way")
        with goes_on(self._screen, "what runs", command="runner watch"):
            while not all(has_ended(row) for row in self._last.values()):
                found = self._client.log(after=place, limit=1000, seconds=self._teller.rest)
                place = _place(found)
                for ref in dict.fromkeys(_run_of(event) for event in objects_at(found, "events")):
                    if ref:
                        self._look(ref)
                if self._teller.rest == 0:
                    self._still()
        return list(self._last.values())

    def _look(self, ref: str) -> None:
        """Say what a run does now, if that is another thing than before."""
        row = self._client.record("runs", ref)
        before = self._last.get(ref)
        self._last[ref] = row
        if before is None or progress_of(before) != progress_of(row):
            self._teller.tell(row, news=True, who=f"{ref} {text_at(row, 'agent')}: ")

    def _still(self) -> None:
        active = [row for row in self._last.values() if not has_ended(row)]
        for row in active if self._lines else active[:1]:
            more = f" and {len(active) - 1} more" if len(active) > 1 else ""
            self._teller.tell(row, news=False, who=f"{text_at(row, 'id')}{more}: ")


def _place(found: JsonObject) -> int:
    place = found.get("next")
    return place if isinstance(place, int) else 0


def _run_of(event: JsonObject) -> str:
    """The run an event is about; "" for what is about none, or follows from another event of its run."""
    subject, data = text_at(event, "subject"), event.get("data")
    if subject.startswith("r_"):
        return subject
    return text_at(data, "run") if isinstance(data, dict) else ""
