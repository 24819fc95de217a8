"""Channels of notices as people are shown them."""

from __future__ import annotations

from runner.model import JsonObject
from runner.render.screen import Screen, Styled
from runner.render.values import objects_at, text_at


def show_channels(screen: Screen, status: JsonObject) -> None:
    """A line per channel: what is on its way, what was given up, what the last try said where that failed."""
    said = status.get("notices")
    for one in objects_at(said, "channels") if isinstance(said, dict) else []:
        parts = [f"{text_at(one, 'waiting')} on their way", f"{text_at(one, 'dead')} given up"]
        failed = text_at(one, "error")
        shown = ", ".join([*parts, failed] if failed else parts)
        screen.say("  ", Styled("notices to", "dim", 19), text_at(one, "name"), ": ", Styled(shown, "yellow" if failed else ""))
