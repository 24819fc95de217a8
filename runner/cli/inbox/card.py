"""One card as it is on the screen: the record it was drawn from, its lines, and how much of it was read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from runner.cli.inbox.reading import Reading
from runner.model import JsonObject
from runner.render import Sheet, show_change
from runner.render.values import text_at

if TYPE_CHECKING:
    from runner.render import Line, Page


class Draw(Protocol):
    """Draws a record on a page."""

    def __call__(self, page: Page, record: JsonObject, *, now: datetime) -> None:
        """All of it."""
        ...


#: What makes a record another one to whoever decides about it; that an agent was told an outcome does not.
_TELLING = ("id", "state", "digest", "expires", "signatures", "does")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What is on the screen. `planned`: it shows what an act would change, not the record itself.

    `basis`: the record as the supervisor keeps it, where the one shown is an edit of it that nobody has approved yet.
    """

    record: JsonObject
    basis: JsonObject
    draw: Draw
    planned: JsonObject | None
    clock: datetime
    lines: tuple[Line, ...]
    reading: Reading

    @classmethod
    def of(  # noqa: PLR0913 - one card, whole
        cls,
        record: JsonObject,
        draw: Draw,
        *,
        size: tuple[int, int],
        now: float,
        clock: datetime,
        planned: JsonObject | None = None,
    ) -> Card:
        """Draw a card.

        Args:
            record: As the supervisor has it.
            draw: Draws such a record.
            size: Columns, and lines on the screen.
            now: When it appears.
            clock: The time, for ages.
            planned: What an act would change, drawn instead.
        """
        sheet = Sheet(size[0])
        if planned is None:
            draw(sheet, record, now=clock)
        else:
            show_change(sheet, planned, title=f"this would {text_at(planned, 'summary')}")
        lines = tuple(sheet.drawn)
        reading = Reading(len(lines), size[1], now=now)
        return cls(record=record, basis=record, draw=draw, planned=planned, clock=clock, lines=lines, reading=reading)

    @property
    def id(self) -> str:
        """Whose card it is."""
        return text_at(self.record, "id")

    @property
    def key(self) -> tuple[str, str]:
        """What was decided about, if it is decided."""
        return self.id, text_at(self.record, "digest")

    def same(self, record: JsonObject) -> bool:
        """Whether this record, as the supervisor has it, is still the one that the card is about."""
        return all(self.basis.get(key) == record.get(key) for key in _TELLING)

    def about(self, basis: JsonObject) -> Card:
        """The same card as an edit of what the supervisor keeps: it stands for as long as that stays as it is."""
        return replace(self, basis=basis)

    def folded(self, size: tuple[int, int], *, now: float) -> Card:
        """The same card on a screen of another size; it is read anew."""
        drawn = Card.of(self.record, self.draw, size=size, now=now, clock=self.clock, planned=self.planned)
        return drawn.about(self.basis)

    def visible(self) -> tuple[Line, ...]:
        """The lines on the screen."""
        start = self.reading.offset
        return self.lines[start : start + self.reading.room]

    def parts(self) -> list[list[str]]:
        """Each part's lines as plain text, for the record of what was shown."""
        step = self.reading.room
        return [[line.plain for line in self.lines[start : start + step]] for start in range(0, len(self.lines), step)]
