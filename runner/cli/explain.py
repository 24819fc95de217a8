"""explain: the decision the gate would take, without running anything and without a supervisor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.api import explaining
from runner.api.explaining import Explained
from runner.cli.completion import agents
from runner.cli.shared import PROFILES, JsonFlag, now, read_input
from runner.errors import UsageError
from runner.model import JsonObject, Profile, SenderKind, Verdict
from runner.policy import Cell, Column
from runner.render import Screen, Styled, show_card
from runner.render.screen import Part
from runner.sandbox.view import holds_anything
from runner.settings import load_settings

_STYLES = {Verdict.ALLOW: "green", Verdict.ASK: "yellow", Verdict.DENY: "red"}
_WORDS = {Verdict.ALLOW: "run", Verdict.ASK: "ask", Verdict.DENY: "deny"}
#: Far more than the gate lets a call be; what is larger is not read at all.
_MAX_INPUT = 8 * 1024 * 1024


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    example = """Example: runner explain scribe Write '{"file_path": "out.md", "content": "x"}' --from contact"""
    app.command(rich_help_panel=PROFILES, epilog=example)(explain)


def explain(  # noqa: PLR0913 - each is a flag of the contract
    profile: Annotated[str, typer.Argument(help="A profile's file, or a published name.", autocompletion=agents)],
    tool: Annotated[str | None, typer.Argument(help="The tool; without one, the matrix of all of them.")] = None,
    arguments: Annotated[str | None, typer.Argument(metavar="JSON|@FILE|-", help="The call's input.")] = None,
    *,
    cwd: Annotated[Path | None, typer.Option(metavar="DIR", help="Judge paths in this directory instead.")] = None,
    sender: Annotated[SenderKind, typer.Option("--from", help="Whose capture it would be.")] = SenderKind.OWNER,
    unattended: Annotated[bool, typer.Option("--unattended", help="As if nobody could answer.")] = False,
    tainted: Annotated[bool, typer.Option("--tainted", help="As if untrusted content were in the conversation.")] = False,
    json: JsonFlag = False,
    card: Annotated[bool, typer.Option("--card", help="The approval card that a person would be shown.")] = False,
) -> None:
    """Say what the gate would answer to a call, and why; nothing is run.

    With a published name, the verdicts saved for it count. Every verdict exits with 0: a deny is an answer.
    """
    if (tool is None) != (arguments is None) or (card and (json or tool is None)):
        raise UsageError(
            "cannot explain: give a tool and its input, or neither; --card needs them and stands alone",
            resolution="runner explain --help",
        )
    subject = explaining.subject_of(profile, load_settings())
    chosen = explaining.unattended(subject.profile) if unattended else subject.profile
    folder = (cwd or chosen.cwd).absolute()
    screen = Screen(json=json)
    if not folder.is_dir():
        screen.progress(Styled(f"note: {folder} is no directory; judged as if it were empty", "dim"))
    with explaining.viewing(folder) as view:
        context = explaining.context_of(subject, view, sender=sender, tainted=tainted, sensitive=holds_anything(folder))
        if tool is None or arguments is None:
            _show_matrix(screen, chosen, explaining.matrix(chosen, context))
            return
        call = explaining.call_of(tool, _input(arguments))
        found = explaining.explain(call, chosen, context)
        if card:
            _show_card(screen, found, chosen, folder=folder, sender=sender)
        else:
            _show(screen, found)


def _input(given: str) -> str:
    if given != "-" and not given.startswith("@"):
        return given
    data = read_input(given.removeprefix("@"), option="the input", limit=_MAX_INPUT)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("cannot explain the call: its input is not UTF-8 text", resolution="JSON is UTF-8") from None


def _show(screen: Screen, found: Explained) -> None:
    if screen.json:
        screen.document(found.document())
        return
    decision = found.decision
    document = found.document()
    verdict = Styled(_WORDS[decision.verdict], f"bold {_STYLES[decision.verdict]}")
    screen.say(verdict, f" {found.call.tool}  ", Styled(f"rank {decision.rank}, rule {decision.rule}", "dim"))
    _field(screen, "why", decision.reason)
    for path in decision.paths:
        _field(screen, "path", path.asked, " leads to ", Styled(str(path.resolved), "bold"))
    metadata = document["tool"]
    if isinstance(metadata, dict):
        _field(screen, "tool", ", ".join(_words(metadata)))
    _field(screen, "run", "strict" if decision.strict else "not strict")
    _field(screen, "digest", str(decision.call_digest or "none: the input cannot be read"))


def _words(metadata: JsonObject) -> list[str]:
    said = [str(metadata["class"]), "reversible" if metadata["reversible"] else "irreversible"]
    said += ["returns untrusted text"] if metadata["returns_untrusted"] else []
    return said + (["can carry data out"] if metadata["egress"] else [])


def _field(screen: Screen, name: str, *parts: Part) -> None:
    screen.say("  ", Styled(name, "dim", 8), *parts)


def _show_matrix(screen: Screen, profile: Profile, cells: tuple[Cell, ...]) -> None:
    if screen.json:
        screen.document(explaining.matrix_document(profile, cells))
        return
    by_tool: dict[str, dict[Column, Cell]] = {}
    for cell in cells:
        by_tool.setdefault(cell.tool, {})[cell.column] = cell
    rows: list[list[Part]] = [
        [Styled(name, "bold"), *(_cell(row[column]) for column in Column)] for name, row in by_tool.items()
    ]
    screen.say(Styled(profile.name, "bold cyan"), ": what each tool is answered, every path supposed to be inside")
    screen.table(["tool", *(column.value for column in Column)], rows)


def _cell(cell: Cell) -> Styled:
    return Styled(f"{_WORDS[cell.verdict]} ({cell.word})", _STYLES[cell.verdict])


def _show_card(screen: Screen, found: Explained, profile: Profile, *, folder: Path, sender: SenderKind) -> None:
    """The card of the approval that the call would become; a call that would not wait has none."""
    from runner.api.carding import card_of  # noqa: PLC0415 - the broker is needed for cards only

    if found.decision.verdict is not Verdict.ASK:
        _show(screen, found)
        screen.progress("nobody would be asked, so there is no card")
        return
    drawn = card_of(found, profile, folder=folder, sender=sender, now=now().timestamp())
    if isinstance(drawn, str):
        screen.say(Styled("deny", "bold red"), f" {found.call.tool}  ", Styled("rule impossible", "dim"))
        _field(screen, "why", drawn)
        return
    show_card(screen, drawn, now=now())
