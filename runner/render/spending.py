"""Usage as a table."""

from __future__ import annotations

from runner.model import JsonObject
from runner.render.screen import Part, Screen
from runner.render.values import objects_at, text_at

_COUNTS = ("requests", "input_tokens", "output_tokens")


def show_usage(screen: Screen, found: JsonObject) -> None:
    """A row per agent, contact or day."""
    rows = [_row(one) for one in objects_at(found, "rows")]
    if not rows:
        screen.say(f"nothing was spent since {text_at(found, 'since')}")
        return
    screen.table([text_at(found, "by"), "requests", "tokens in", "tokens out", "USD"], rows)


def _row(one: JsonObject) -> list[Part]:
    money = one.get("usd")
    shown = f"{money:.4f}" if isinstance(money, int | float) else ""
    return [text_at(one, "name"), *(text_at(one, name) for name in _COUNTS), shown]
