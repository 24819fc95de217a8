"""The one question that may stand under a card, and how its keys are read (V7). Pure.

Enter alone never says yes; whatever is not a clear yes leaves everything as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from runner.cli.inbox.entries import Act
from runner.model import JsonObject

#: Characters of a line somebody types.
LONGEST = 1000


class Answer(Enum):
    """What a key said to a question."""

    OPEN = "open"  #: it still stands
    YES = "yes"
    NO = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A question. `expected`: what has to be typed for a yes; `free`: any line, Enter sends it; neither: the key y."""

    words: str
    about: str = ""  #: what it is asked about, once more, beneath the question
    act: Act | None = None  #: None: the filter
    record: JsonObject = field(default_factory=dict)
    expected: str | None = None
    free: bool = False
    typed: str = ""

    @property
    def takes_text(self) -> bool:
        """Whether what is typed is kept."""
        return self.free or self.expected is not None

    def pasted(self, text: str) -> Prompt:
        """With pasted text; a target must be typed, so there it counts for nothing."""
        clean = "".join(char for char in text if char.isprintable())
        return self.with_text(self.typed + clean) if self.free else self

    def with_text(self, text: str) -> Prompt:
        """With this text typed."""
        return replace(self, typed=text[:LONGEST])

    def press(self, key: str, character: str | None) -> tuple[Prompt, Answer]:
        """The question after a key, and what the key said to it."""
        if key == "escape":
            return self, Answer.NO
        if not self.takes_text:
            return self, Answer.YES if key == "y" else Answer.NO
        if key == "enter":
            return self, Answer.YES if self.expected in {None, self.typed} else Answer.OPEN
        return self.with_text(self._after(key, character)), Answer.OPEN

    def _after(self, key: str, character: str | None) -> str:
        """What is typed after a key."""
        if key == "backspace":
            return self.typed[:-1]
        if key == "ctrl+u":
            return ""
        return self.typed + character if character is not None and character.isprintable() else self.typed
