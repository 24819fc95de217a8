"""The approval card: what a person sees before deciding, built from the bound record alone (V1, V4, V5, V6, V8, V10).

Owns its layout, shared by terminal and `show`. Nothing on it is cut; every line of the call and of the preview has the gutter.
"""

from __future__ import annotations

from datetime import datetime

from runner.model import Json, JsonObject
from runner.render import card_words
from runner.render.block import CONTINUED, GUTTER, show_block, show_fields
from runner.render.concealed import what_was_hidden
from runner.render.screen import Page, Part, Styled
from runner.render.threads import thread_words
from runner.render.values import age, objects_at, signed, text_at, texts_at, tool_name

_STATE_STYLES = {"pending": "bold yellow", "done": "green", "denied": "red", "failed": "red", "unknown": "bold red"}


def show_card(page: Page, approval: JsonObject, *, now: datetime) -> None:
    """The whole card.

    Args:
        page: Where it is shown.
        approval: As `show --json` has it.
        now: For the time left.
    """
    _head(page, approval, now)
    for warning in card_words.warnings(approval, now=now):
        _field(page, "warning", Styled(warning, "bold yellow"))
    _turn(page, approval)
    acts, says = card_words.claims(approval)
    page.say(Styled("the call, exactly", "bold"))
    page.lines(show_fields(acts, width=page.width))
    if says:
        page.say(Styled("the agent says of it, and nobody checked", "bold"))
        page.lines(show_fields(says, width=page.width))
    _edit(page, approval.get("edit_diff"))
    _preview(page, approval.get("preview"))
    _tail(page, approval, now)


def show_change(page: Page, change: JsonObject, *, title: str) -> None:
    """What something would change: its warnings and its preview, as on a card."""
    page.say(Styled(title, "bold"))
    for warning in texts_at(change, "warnings"):
        _field(page, "warning", Styled(warning, "bold yellow"))
    _preview(page, change.get("preview"))


def _head(page: Page, approval: JsonObject, now: datetime) -> None:
    state = text_at(approval, "state")
    state_part = Styled(state, _STATE_STYLES.get(state, "bold"))
    left = age(approval.get("expires"), now=now) if state == "pending" else ""
    place = card_words.place_in_turn(approval)
    head = (Styled("approval ", "bold"), Styled(text_at(approval, "id"), "bold cyan"), "  ", state_part)
    page.say(*head, *((f"  {place}",) if place else ()))
    _field(page, "does", Styled(text_at(approval, "does"), "bold"))
    _field(page, "tool", Styled(tool_name(text_at(approval, "tool")), "bold"))
    _field(page, "agent", text_at(approval, "agent"), ", run ", text_at(approval, "run"))
    _field(page, "from", text_at(approval, "sender"))
    _field(page, "thread", thread_words(approval))
    _field(page, "has read", card_words.what_was_read(approval))
    _field(page, "outside", card_words.what_came_from_outside(approval))
    for hid in what_was_hidden(approval):
        _field(page, "hidden", Styled(hid, "bold yellow"))
    _field(page, "asked", text_at(approval, "reason") or text_at(approval, "why"))
    _field(page, "before", card_words.habit(approval))
    if edited := text_at(approval, "edited_by"):
        _field(page, "edited", Styled(f"by {edited}: this is what they made of it, not what was proposed", "bold yellow"))
    for path in objects_at(approval, "paths"):
        _field(page, "path", text_at(path, "asked"), " leads to ", Styled(text_at(path, "resolved"), "bold"))
    if under := signed(approval):
        _field(page, "signed", Styled(under, "bold"))
    if left:
        _field(page, "expires", left)


def _turn(page: Page, approval: JsonObject) -> None:
    """The calls that came together, each with its id where a person decides about it; none is decided with another."""
    turn = objects_at(approval, "turn")
    if len(turn) < 2:
        return
    page.say(Styled(f"this turn: {len(turn)} calls, each decided on its own", "bold"))
    for number, call in enumerate(turn, 1):
        ref, state = text_at(call, "id"), text_at(call, "state")
        own = (
            Styled("  (this one)", "bold")
            if ref and ref == text_at(approval, "id")
            else Styled(f"  {ref}" if ref else "", "cyan")
        )
        page.say(Styled(f"{number:>3}  ", "dim"), Styled(state, _STATE_STYLES.get(state, ""), 9), text_at(call, "does"), own)


def _edit(page: Page, difference: Json) -> None:
    """What a person changed of the call, argument by argument (D2)."""
    if isinstance(difference, str) and difference:
        page.say(Styled("from what was proposed to what would be carried out", "bold"))
        _diff(page, difference)


def _preview(page: Page, preview: Json) -> None:
    if not preview:
        page.say(Styled("no preview could be made of this call", "bold red"))
        return
    page.say(Styled("what it would change", "bold"))
    if isinstance(preview, str):
        _diff(page, preview)
        return
    fields = preview if isinstance(preview, dict) else {"preview": preview}
    diff = fields.get("diff")
    page.lines(show_fields({key: value for key, value in fields.items() if key != "diff"}, width=page.width))
    if isinstance(diff, str):
        _diff(page, diff)


def _diff(page: Page, diff: str) -> None:
    """A unified diff in the gutter. The colour is by the mark that the supervisor put before each line, never from the text."""
    style = ""
    for line in show_block(diff.removesuffix("\n"), width=page.width):
        if not line.startswith(CONTINUED):
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[len(GUTTER) : len(GUTTER) + 1], "")
        page.lines([line], style=style)


def _tail(page: Page, approval: JsonObject, now: datetime) -> None:
    outcome = approval.get("outcome")
    if outcome:
        page.say(Styled("outcome", "bold"))
        page.lines(show_fields(outcome if isinstance(outcome, dict) else {"outcome": outcome}, width=page.width))
    if decided := text_at(approval, "decided_by"):
        said = text_at(approval, "decision_reason")
        _field(page, "decided", "by ", decided, ", ", age(approval.get("decided_at"), now=now), ": " if said else "", said)
    for event in objects_at(approval, "history"):
        _field(page, "history", text_at(event, "event"), " ", age(event.get("time"), now=now), _told(event.get("data")))
    _field(page, "digest", Styled(text_at(approval, "digest"), "bold"))
    _field(page, "call", text_at(approval, "call_digest"))


def _told(data: Json) -> str:
    """What an audit row says besides what the card shows already."""
    known = {"digest", "approval_digest", "call_digest", "tool", "agent"}
    told = data if isinstance(data, dict) else {}
    rest: JsonObject = {key: value for key, value in told.items() if key not in known and value}
    return ": " + ", ".join(f"{key} {text_at(rest, key)}" for key in rest) if rest else ""


def _field(page: Page, name: str, *parts: Part) -> None:
    if any((part.text if isinstance(part, Styled) else part) for part in parts):
        page.say("  ", Styled(name, "dim", 9), *parts)
