"""Grants as people are shown them: what they skip asking for, and for how long (D3)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from runner.model import JsonObject
from runner.render.screen import Part, Screen, Styled
from runner.render.values import age, objects_at, text_at, tool_name

_STATES = {"live": "bold yellow", "revoked": "red", "expired": "dim", "used up": "dim"}


def show_grants(screen: Screen, grants: Sequence[JsonObject], *, now: datetime) -> None:
    """A list of grants."""
    if not grants:
        screen.say("no grants: every call that has to be asked about is asked about")
        return
    rows: list[list[Part]] = [
        [
            Styled(text_at(row, "id"), "cyan"),
            text_at(row, "agent"),
            tool_name(text_at(row, "tool")),
            narrowed(row),
            Styled(text_at(row, "state"), _STATES.get(text_at(row, "state"), "bold")),
            f"{text_at(row, 'used')} of {text_at(row, 'uses')}",
            age(row.get("expires"), now=now),
            text_at(row, "granted_by"),
        ]
        for row in grants
    ]
    screen.table(["grant", "agent", "tool", "only", "state", "used", "ends", "by"], rows)


def show_grant(screen: Screen, grant: JsonObject, *, now: datetime) -> None:
    """One grant: what it skips asking for, its bounds, and calls of the past that look so."""
    if ref := text_at(grant, "id"):
        state = text_at(grant, "state")
        screen.say(Styled("grant ", "bold"), Styled(ref, "bold cyan"), "  ", Styled(state, _STATES.get(state, "bold")))
    screen.say(Styled("this will skip asking for: ", "bold"), text_at(grant, "says"))
    _field(screen, "ends", age(grant.get("expires"), now=now))
    _field(screen, "uses", f"{text_at(grant, 'used')} of {text_at(grant, 'uses')}")
    _field(screen, "profile", text_at(grant, "profile_digest"))
    _field(screen, "by", text_at(grant, "granted_by"))
    _field(screen, "revoked", text_at(grant, "revoked_by"))
    samples = objects_at(grant, "samples")
    for sample in samples:
        about = (Styled(text_at(sample, "id"), "cyan"), "  ", text_at(sample, "about"), f"  ({text_at(sample, 'state')})")
        _field(screen, "like", *about)
    if not samples:
        _field(screen, "like", "no call of this agent's past looks like that")


def narrowed(grant: JsonObject) -> str:
    """What a grant is narrowed to, in a word or two."""
    path, match = text_at(grant, "path"), grant.get("match")
    globs = [f"{key}={text_at(match, key)}" for key in match] if isinstance(match, dict) else []
    return ", ".join([*([f"beneath {path}"] if path else []), *globs])


def _field(screen: Screen, name: str, *parts: Part) -> None:
    if any((part.text if isinstance(part, Styled) else part) for part in parts):
        screen.say("  ", Styled(name, "dim", 9), *parts)
