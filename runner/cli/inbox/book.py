"""The list: in the order of arrival for as long as it is open, so that nothing moves under the cursor. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from runner.cli.inbox.entries import Entry
from runner.model import JsonObject


class Book:
    """What there is to do and what was done; new arrivals go to the end."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self.selected: str | None = None
        self.filter = ""
        self.fresh: set[str] = set()  #: arrived since the list was opened and not looked at yet

    def __contains__(self, id: str) -> bool:
        return id in self._entries

    def __getitem__(self, id: str) -> Entry:
        return self._entries[id]

    @property
    def shown(self) -> list[Entry]:
        """The entries that pass the filter."""
        wanted = self.filter.casefold()
        return [entry for entry in self._entries.values() if wanted in entry.text.casefold()]

    @property
    def waiting(self) -> int:
        """How many still need a person."""
        return sum(1 for entry in self._entries.values() if entry.waits)

    @property
    def decided(self) -> int:
        """How many were dealt with while the list was open."""
        return len(self._entries) - self.waiting

    def take(self, entries: Iterable[Entry], *, first: bool) -> None:
        """Add what is new at the end and renew what is known where it stands."""
        for entry in entries:
            if entry.id not in self._entries and not first:
                self.fresh.add(entry.id)
            self._entries[entry.id] = entry
        if self.selected is None:
            self.selected = next((entry.id for entry in self.shown), None)

    def renew(self, id: str, record: JsonObject) -> None:
        """An entry as it is now."""
        if id in self._entries:
            self._entries[id] = self._entries[id].renewed(record)

    def move(self, by: int) -> None:
        """Move the cursor among what is shown."""
        ids = [entry.id for entry in self.shown]
        if not ids:
            return
        place = ids.index(self.selected) + by if self.selected in ids else 0
        self.selected = ids[min(max(place, 0), len(ids) - 1)]

    def next_waiting(self) -> None:
        """Move the cursor to the next entry that waits, from here on and then from the top; stay where none does."""
        entries = self.shown
        ids = [entry.id for entry in entries]
        place = ids.index(self.selected) if self.selected in ids else -1
        ahead = [*entries[place + 1 :], *entries[: max(place, 0)]]
        self.selected = next((entry.id for entry in ahead if entry.waits), self.selected)

    def refilter(self, text: str) -> None:
        """Show only what holds this text; the cursor stays on its entry where that is still shown."""
        self.filter = text
        if self.selected not in {entry.id for entry in self.shown}:
            self.selected = next((entry.id for entry in self.shown), None)

    def clear(self) -> None:
        """Take away what was dealt with."""
        kept = {id: entry for id, entry in self._entries.items() if entry.waits or id == self.selected}
        self._entries = kept

    def looked_at(self, id: str) -> None:
        """It is on the screen now."""
        self.fresh.discard(id)
