"""An inbox without a terminal: its state, driven by keys at times of a test's choosing."""

from __future__ import annotations

from datetime import UTC, datetime

from runner.cli.inbox.entries import Approvals
from runner.cli.inbox.frame import frame
from runner.cli.inbox.state import Inbox, Want
from runner.model import Json, JsonObject
from tests.helpers.fake_service import an_approval

CLOCK = datetime(2027, 1, 15, tzinfo=UTC)
SOURCE = Approvals()


def ref(number: int) -> str:
    """The id of a test's entry."""
    return f"a_{number:016d}"


def a_call(number: int = 1, **changes: Json) -> JsonObject:
    """A pending write, one of many."""
    return an_approval(id=ref(number), does=f"Write a new file {number}.md, 1 line, 2 bytes") | changes


class Driven:
    """An open inbox of some records; `now` is what its clock says, and moves only when told to.

    Args:
        records: What waits.
        size: Columns and lines.
    """

    def __init__(self, *records: JsonObject, size: tuple[int, int] = (80, 60)) -> None:
        self.now = 100.0
        self.records = {str(record["id"]): record for record in records}
        self.inbox = Inbox(size)
        self.inbox.listed(SOURCE, list(records), first=True)
        self.did: list[Want] = []
        self.settle()
        self.later()

    def later(self, seconds: float = 1.0) -> None:
        """Time passes."""
        self.now += seconds

    def settle(self) -> None:
        """Carry looks out, and note everything else."""
        while self.inbox.wants:
            want = self.inbox.wants.pop(0)
            if want.what == "look" and want.entry is not None:
                self.inbox.looked(want.entry.id, self.records[want.entry.id], now=self.now, clock=CLOCK)
            else:
                self.did.append(want)

    def press(self, *names: str) -> None:
        """Press keys, each after the last has taken effect, all at this moment."""
        for name in names:
            self.inbox.press(name, name if len(name) == 1 else " " if name == "space" else None, at=self.now)
            self.settle()

    def type(self, text: str) -> None:
        """Type a text."""
        self.press(*text)

    def read(self) -> None:
        """Read the card to its end."""
        while self.inbox.card is not None and not self.inbox.card.reading.whole:
            self.press("space")

    @property
    def screen(self) -> list[str]:
        """What is on the screen."""
        return [line.plain for line in frame(self.inbox)]

    @property
    def decided(self) -> list[tuple[str, str, str, str]]:
        """What would have been sent: act, id, digest and text."""
        return [
            (want.act.word, str(want.record["id"]), str(want.record["digest"]), want.text)
            for want in self.did
            if want.what == "do" and want.act is not None and want.record is not None
        ]
