"""What stands beside a call, in sentences: its turn, what its run has read, how calls like it were decided (V1, V6).

From the supervisor's record alone; a field that is missing says nothing. Whoever shows a sentence escapes it.
"""

from __future__ import annotations

from datetime import datetime

from runner.model import Json, JsonObject
from runner.render.values import age, objects_at, text_at, texts_at

#: Names of files in one sentence; the run's own page has them all.
_NAMED = 8


def place_in_turn(approval: JsonObject) -> str:
    """`2 of 3 in this turn`; "" for a call that came alone."""
    turn = objects_at(approval, "turn")
    places = [number for number, call in enumerate(turn, 1) if text_at(call, "id") == text_at(approval, "id")]
    return f"{places[0]} of {len(turn)} in this turn" if places and len(turn) > 1 else ""


def what_was_read(approval: JsonObject) -> str:
    """What the run got to see of its directory before it asked."""
    read = approval.get("read")
    if not isinstance(read, dict):
        return ""
    files, searches = texts_at(read, "files"), read.get("searches")
    said = [", ".join(files[:_NAMED])] if files else []
    if len(files) > _NAMED:
        said.append(f"and {len(files) - _NAMED} files more")
    if isinstance(searches, int) and searches:
        said.append("a search of its files" if searches == 1 else f"{searches} searches of its files")
    return ", ".join(said) or "nothing yet"


def what_came_from_outside(approval: JsonObject) -> str:
    """Whose text is in the run besides the owner's own words (P4); "" where nothing is on record."""
    taint = approval.get("taint")
    if isinstance(taint, str):
        return taint
    return "; ".join(_source(one) for one in objects_at(approval, "taint"))


def habit(approval: JsonObject) -> str:
    """`as the 40 before it, all approved; differs: name, content`."""
    alike = approval.get("alike")
    if not isinstance(alike, dict):
        return ""
    count = alike.get("count")
    decided = "approved" if alike.get("approved") else "denied"
    before = f"as the one before it, {decided}" if count == 1 else f"as the {count} before it, all {decided}"
    differs = texts_at(alike, "differs")
    return f"{before}; differs: {', '.join(differs)}" if differs else f"{before}; nothing in it is new"


def warnings(approval: JsonObject, *, now: datetime) -> list[str]:
    """Every warning, those of the supervisor first."""
    found = texts_at(approval, "warnings")
    denied = approval.get("denied_before")
    if isinstance(denied, dict):
        by, why = text_at(denied, "by"), text_at(denied, "reason")
        when = age(denied.get("at"), now=now) + (f" by {by}" if by else "")
        found.append(f"a similar call was denied {when}: {text_at(denied, 'id')}" + (f", {why}" if why else ""))
    if not approval.get("preview"):
        found.append("high risk: what it would change could not be worked out")
    return found


def _source(taint: JsonObject) -> str:
    said = text_at(taint, "says") or f"{text_at(taint, 'kind')} {text_at(taint, 'source')}"
    sender = text_at(taint, "sender")
    return f"{said}, from {sender}" if sender and sender != "owner" else said


def claims(approval: JsonObject) -> tuple[JsonObject, JsonObject]:
    """The exact input in two: what is carried out, and what the agent only says of it (V1)."""
    given = approval.get("input")
    fields: JsonObject = given if isinstance(given, dict) else {"input": given}
    said = set(texts_at(approval, "claims"))
    acts: dict[str, Json] = {name: value for name, value in fields.items() if name not in said}
    return acts, {name: value for name, value in fields.items() if name in said}
