"""What of a card has been on the screen, and since when keys count for it (V4, V7). Pure: the clock is an argument."""

from __future__ import annotations

#: Seconds after a card or a question appears in which keys don't count: they cannot mean what was not there yet.
ARM_DELAY = 0.5


class Reading:
    """One card on a screen of a certain height.

    Args:
        lines: How many lines the card has.
        room: How many of them fit.
        now: When it appeared.
    """

    def __init__(self, lines: int, room: int, *, now: float) -> None:
        self.lines = max(lines, 1)
        self.room = max(room, 1)
        self.offset = 0
        self.armed_at = now + ARM_DELAY
        self._seen = min(self.room, self.lines)

    @property
    def part(self) -> int:
        """Which part is on the screen, from 1."""
        return -(-self.offset // self.room) + 1

    @property
    def parts(self) -> int:
        """How many there are."""
        return -(-self.lines // self.room)

    @property
    def whole(self) -> bool:
        """Whether every line has been on the screen."""
        return self._seen >= self.lines

    def turn(self, by: int) -> None:
        """Go some parts on or back; what lies between two parts is never left out."""
        last = max(self.lines - self.room, 0)
        self.offset = min(max(self.offset + by * self.room, 0), last)
        if self.offset <= self._seen:
            self._seen = max(self._seen, min(self.offset + self.room, self.lines))

    def ask_again(self, *, now: float) -> None:
        """Something else appeared: keys count again in a while."""
        self.armed_at = now + ARM_DELAY

    def too_early(self, at: float) -> bool:
        """Whether a key pressed then cannot have meant what is on the screen."""
        return at < self.armed_at
