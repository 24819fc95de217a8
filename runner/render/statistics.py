"""How people decided, as a table."""

from __future__ import annotations

from runner.model import JsonObject
from runner.render.screen import Part, Screen, Styled
from runner.render.values import objects_at, text_at, tool_name

_COUNTS = ("decided", "approved", "denied", "undone", "expired")
#: From this share on it is worth a second look.
_MANY = 0.5


def show_statistics(screen: Screen, found: JsonObject) -> None:
    """A row per person and tool."""
    rows = [_row(one) for one in objects_at(found, "rows")]
    if not rows:
        screen.say("nothing was decided")
        return
    screen.table(["who", "tool", *_COUNTS, "median on the card", "under 2 s"], rows)


def _row(one: JsonObject) -> list[Part]:
    middle, share = one.get("median_seconds"), one.get("under_two_seconds")
    hasty = Styled("", "") if not isinstance(share, int | float) else Styled(f"{share:.0%}", "yellow" if share >= _MANY else "")
    shown = f"{middle:.1f} s" if isinstance(middle, int | float) else ""
    return [text_at(one, "person"), tool_name(text_at(one, "tool")), *(text_at(one, name) for name in _COUNTS), shown, hasty]
