"""The approval card: what a person sees before deciding, built from the bound record alone (V1, V4, V5, V6, V8, V10).

Owns its layout, shared by terminal and `show`. Nothing on it is cut; every line of the call and of the preview has the gutter.
"""

from __future__ import annotations

from datetime import datetime

from runner.model import Json, JsonObject
from runner.render.block import CONTINUED, GUTTER, show_block, show_fields
from runner.render.screen import Part, Screen, Styled
from runner.render.values import age, objects_at, signed, text_at, texts_at, tool_name

_STATE_STYLES = {"pending": "bold yellow", "done": "green", "denied": "red", "failed": "red", "unknown": "bold red"}


def show_card(screen: Screen, approval: JsonObject, *, now: datetime) -> None:
    """The whole card on stdout.

    Args:
        screen: Where it is shown.
        approval: As `show --json` has it.
        now: For the time left.
    """
    _head(screen, approval, now)
    for warning in texts_at(approval, "warnings"):
        _field(screen, "warning", Styled(warning, "bold yellow"))
    screen.say(Styled("the call, exactly", "bold"))
    given = approval.get("input")
    screen.lines(show_fields(given if isinstance(given, dict) else {"input": given}, width=screen.width))
    _preview(screen, approval.get("preview"))
    _tail(screen, approval, now)


def show_change(screen: Screen, change: JsonObject, *, title: str) -> None:
    """What something would change, on stdout: its warnings and its preview, as on a card."""
    screen.say(Styled(title, "bold"))
    for warning in texts_at(change, "warnings"):
        _field(screen, "warning", Styled(warning, "bold yellow"))
    _preview(screen, change.get("preview"))


def _head(screen: Screen, approval: JsonObject, now: datetime) -> None:
    state = text_at(approval, "state")
    state_part = Styled(state, _STATE_STYLES.get(state, "bold"))
    left = age(approval.get("expires"), now=now) if state == "pending" else ""
    screen.say(Styled("approval ", "bold"), Styled(text_at(approval, "id"), "bold cyan"), "  ", state_part)
    _field(screen, "tool", Styled(tool_name(text_at(approval, "tool")), "bold"))
    _field(
        screen, "agent", text_at(approval, "agent"), ", run ", text_at(approval, "run"), ", from ", text_at(approval, "sender")
    )
    _field(screen, "asked", text_at(approval, "reason") or text_at(approval, "why"))
    for path in objects_at(approval, "paths"):
        _field(screen, "path", text_at(path, "asked"), " leads to ", Styled(text_at(path, "resolved"), "bold"))
    if under := signed(approval):
        _field(screen, "signed", Styled(under, "bold"))
    if left:
        _field(screen, "expires", left)


def _preview(screen: Screen, preview: Json) -> None:
    if not preview:
        screen.say(Styled("no preview could be made of this call", "bold yellow"))
        return
    screen.say(Styled("what it would change", "bold"))
    if isinstance(preview, str):
        _diff(screen, preview)
        return
    fields = preview if isinstance(preview, dict) else {"preview": preview}
    diff = fields.get("diff")
    screen.lines(show_fields({key: value for key, value in fields.items() if key != "diff"}, width=screen.width))
    if isinstance(diff, str):
        _diff(screen, diff)


def _diff(screen: Screen, diff: str) -> None:
    """A unified diff in the gutter. The colour is by the mark that the supervisor put before each line, never from the text."""
    style = ""
    for line in show_block(diff.removesuffix("\n"), width=screen.width):
        if not line.startswith(CONTINUED):
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[len(GUTTER) : len(GUTTER) + 1], "")
        screen.lines([line], style=style)


def _tail(screen: Screen, approval: JsonObject, now: datetime) -> None:
    outcome = approval.get("outcome")
    if outcome:
        screen.say(Styled("outcome", "bold"))
        screen.lines(show_fields(outcome if isinstance(outcome, dict) else {"outcome": outcome}, width=screen.width))
    if decided := text_at(approval, "decided_by"):
        said = text_at(approval, "decision_reason")
        _field(screen, "decided", "by ", decided, ", ", age(approval.get("decided_at"), now=now), ": " if said else "", said)
    for event in objects_at(approval, "history"):
        _field(screen, "history", text_at(event, "event"), " ", age(event.get("time"), now=now), _told(event.get("data")))
    _field(screen, "digest", Styled(text_at(approval, "digest"), "bold"))
    _field(screen, "call", text_at(approval, "call_digest"))


def _told(data: Json) -> str:
    """What an audit row says besides what the card shows already."""
    known = {"digest", "approval_digest", "call_digest", "tool", "agent"}
    told = data if isinstance(data, dict) else {}
    rest: JsonObject = {key: value for key, value in told.items() if key not in known and value}
    return ": " + ", ".join(f"{key} {text_at(rest, key)}" for key in rest) if rest else ""


def _field(screen: Screen, name: str, *parts: Part) -> None:
    if any((part.text if isinstance(part, Styled) else part) for part in parts):
        screen.say("  ", Styled(name, "dim", 9), *parts)
