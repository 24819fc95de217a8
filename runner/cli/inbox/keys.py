"""The keys, in one table: what is pressed, what it is called in the footer and in the help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.cli.inbox.entries import Act


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key, or two that mean the same."""

    keys: tuple[str, ...]
    shown: str
    does: str
    footer: str = ""  #: empty: only in the help


UP = Key(keys=("up", "k"), shown="up k", does="the entry before")
DOWN = Key(keys=("down", "j"), shown="down j", does="the next entry")
ON = Key(keys=("space", "pagedown"), shown="space", does="the next part of the card", footer="space more")
BACK = Key(keys=("b", "pageup"), shown="b", does="the part of the card before")
FILTER = Key(keys=("slash", "/"), shown="/", does="show only entries that hold a text; Esc shows all again", footer="/ filter")
CLEAR = Key(keys=("c",), shown="c", does="take away what is decided")
AGAIN = Key(keys=("r",), shown="r", does="look again: reads the entry and the list anew")
HELP = Key(keys=("question_mark", "?"), shown="?", does="this help", footer="? help")
QUIT = Key(keys=("q", "ctrl+c", "ctrl+q"), shown="q", does="leave; whatever is undecided stays so", footer="q quit")

MOVING = (UP, DOWN, ON, BACK, FILTER, CLEAR, AGAIN, HELP, QUIT)

#: What each key of an act does, for the help. The footer takes an act's own word.
ACTING = (
    ("a", "approve, or let in: a folder at once, a file after y, what runs or leaves this machine after its target is typed"),
    ("d", "deny, dismiss or stop; with a reason, Enter sends it"),
    ("e", "edit the input before it is approved; you see the result first"),
    ("u", "undo what was done to a file or folder; you see what that changes first"),
    ("x", "give a call that waits more time"),
    ("s m", "start a capture that waits; more budget for a run that spent its own"),
    ("h n", "of an effect nobody knows about: it happened, it did not"),
)
NOTES = (
    "A yes counts only once the whole card has been on the screen, and half a second after it appeared.",
    "It is sent for the id and digest on the screen: a call that changed since is refused.",
    "Enter alone approves nothing. Leaving, however abruptly, decides nothing.",
)


def footer(acts: Sequence[Act], width: int) -> str:
    """The footer's words for an entry: the help always, then as many whole words as there is room for, the acts first."""
    words, room = [], width - len(HELP.footer)
    for word in [*(f"{act.key} {act.word}" for act in acts), *(key.footer for key in (QUIT, ON, FILTER))]:
        if (room := room - len(word) - 2) < 0:
            break
        words.append(word)
    words.insert(min(len(acts), len(words)), HELP.footer)
    return "  ".join(words)
