"""The whole screen as lines, from the state alone: head, list, card, question, keys. Every line is `render`'s (V3).

The list is bounded, what is being decided never is: the card is cut into parts, and each part is shown whole (V4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.cli.inbox import keys
from runner.render import Sheet, Styled, line

if TYPE_CHECKING:
    from runner.cli.inbox.entries import Entry
    from runner.cli.inbox.state import Inbox
    from runner.render import Line, Part

MIN_WIDTH, MIN_HEIGHT = 40, 12
#: Lines of a question or a message; and all that is neither list nor card: head, rule, those, keys.
_BOTTOM = 3
_OURS = 3 + _BOTTOM
_WORDS = {
    "pending": "waits",
    "stub": "waits",
    "stored": "waits",
    "budget": "waits",
    "held": "waits",
    "unknown": "unknown",
    "executing": "doing",
    "approved": "doing",
}
#: How to go on reading, as much of it as there is room for.
_MORE = ("  space shows more; a yes waits for the end", "  space shows more", "  space")
_STYLES = {"waits": "bold yellow", "unknown": "bold red", "done": "green", "denied": "red", "failed": "bold red"}


def list_height(size: tuple[int, int]) -> int:
    """Lines of the list."""
    return max(3, size[1] // 5)


def room_for_card(size: tuple[int, int]) -> int:
    """Lines of the card."""
    return max(size[1] - _OURS - list_height(size), 1)


def frame(inbox: Inbox) -> list[Line]:
    """Every line of the screen, from the top; none is wider than it."""
    width, height = inbox.size
    if not inbox.fits:
        return _too_small(width, height)
    if inbox.help:
        return _help(inbox)
    drawn = [_head(inbox), *_list(inbox), _rule(inbox), *_card(inbox), *_bottom(inbox)]
    return [*drawn, line(keys.footer(() if inbox.busy else inbox.acts, width), width=width, style="dim")]


def _head(inbox: Inbox) -> Line:
    book = inbox.book
    fresh = len(book.fresh)
    parts: list[Part] = [Styled("runner inbox", "bold"), f"  {book.waiting} to decide, {book.decided} dealt with"]
    if fresh:
        parts.append(Styled(f", {fresh} new below", "bold yellow"))
    if book.filter:
        parts.append(f"  only: {book.filter}")
    return line(*parts, width=inbox.size[0], style="reverse")


def _list(inbox: Inbox) -> list[Line]:
    height, width = list_height(inbox.size), inbox.size[0]
    entries = inbox.book.shown
    place = next((n for n, entry in enumerate(entries) if entry.id == inbox.book.selected), 0)
    start = min(max(place - height // 2, 0), max(len(entries) - height, 0))
    rows = [_row(inbox, entry, width) for entry in entries[start : start + height]]
    if not rows:
        rows = [line("nothing here holds that" if inbox.book.filter else "nothing needs you", width=width)]
    return rows + [line(width=width)] * (height - len(rows))


def _row(inbox: Inbox, entry: Entry, width: int) -> Line:
    at = entry.line
    state = _WORDS.get(_text(at.get("state")), _text(at.get("state")))
    selected = entry.id == inbox.book.selected
    sender = _text(at.get("sender"))
    who = _text(at.get("agent")) if sender == "owner" else f"{_text(at.get('agent'))} for {sender}"
    mark = ">" if selected else "*" if entry.id in inbox.book.fresh else " "
    what = _text(at.get("does")) or _text(at.get("tool"))
    parts = (
        f"{mark} ",
        Styled(state, _STYLES.get(state, ""), 9),
        Styled(what, "", limit=400),
        "  ",
        Styled(who, "dim", limit=80),
    )
    return line(*parts, width=width, style="bold" if selected else "")


def _rule(inbox: Inbox) -> Line:
    card, width = inbox.card, inbox.size[0]
    if card is None:
        return line(Styled("--", "dim"), width=width)
    reading = card.reading
    place = f"  part {reading.part}/{reading.parts}"
    parts: list[Part] = [Styled("-- ", "dim"), Styled(card.id, "cyan"), place]
    if not reading.whole:
        room = width - len(f"-- {card.id}{place}")
        parts.append(Styled(next((words for words in _MORE if len(words) <= room), _MORE[-1]), "bold yellow"))
    return line(*parts, width=width)


def _card(inbox: Inbox) -> list[Line]:
    room, width = room_for_card(inbox.size), inbox.size[0]
    shown: list[Line] = []
    if inbox.card is not None:
        shown = [*inbox.card.visible()]
    elif inbox.book.shown:
        shown = [line("looking", width=width)]
    return shown + [line(width=width)] * (room - len(shown))


def _bottom(inbox: Inbox) -> list[Line]:
    """The question and what was typed, of which the end stays in sight; or the message."""
    width = inbox.size[0]
    if inbox.prompt is not None:
        prompt = inbox.prompt
        typed = prompt.typed[-max(width // 2, 10) :] if prompt.takes_text else ""
        drawn = _folded(prompt.words, width, "bold yellow")[: _BOTTOM - 1]
        if prompt.takes_text:
            drawn.append(line(Styled("> ", "bold"), f"{typed}_", width=width))
        elif prompt.about:
            drawn.append(line(Styled("> ", "bold"), prompt.about, width=width))
    else:
        drawn = _folded(inbox.message, width, "bold red" if inbox.trouble else "green")[:_BOTTOM]
    return drawn + [line(width=width)] * (_BOTTOM - len(drawn))


def _folded(text: str, width: int, style: str) -> list[Line]:
    sheet = Sheet(width)
    sheet.say(Styled(text, style))
    return [*sheet.drawn] if text else []


def help_parts(size: tuple[int, int]) -> list[list[Line]]:
    """The help, in as many parts as the screen needs for it."""
    sheet, room = Sheet(size[0]), size[1] - 1
    sheet.say(Styled("runner inbox: what the keys do", "bold"))
    for key in keys.MOVING:
        sheet.say(Styled(key.shown, "bold", 8), key.does)
    for shown, does in keys.ACTING:
        sheet.say(Styled(shown, "bold", 8), does)
    for note in keys.NOTES:
        sheet.say(Styled(note, "dim"))
    return [sheet.drawn[start : start + room] for start in range(0, len(sheet.drawn), room)]


def _help(inbox: Inbox) -> list[Line]:
    width, height = inbox.size
    parts = help_parts(inbox.size)
    place = min(inbox.help, len(parts))
    drawn = parts[place - 1] + [line(width=width)] * (height - 1 - len(parts[place - 1]))
    words = "any key goes back" if place == len(parts) else f"space: part {place + 1} of {len(parts)}; any other goes back"
    return [*drawn, line(Styled(words, "reverse"), width=width)]


def _too_small(width: int, height: int) -> list[Line]:
    sheet = Sheet(max(width, 1))
    sheet.say(Styled("too small to decide", "bold red"))
    sheet.say(f"needs {MIN_WIDTH} x {MIN_HEIGHT}, is {width} x {height}; q leaves")
    return sheet.drawn[:height] + [line(width=max(width, 1))] * (height - len(sheet.drawn))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
