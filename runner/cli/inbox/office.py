"""The inbox's side of the control socket: it carries wants out and follows the log; the state knows no connection."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from runner.api.client import Client
from runner.cli.inbox.entries import Source
from runner.cli.inbox.others import SOURCES
from runner.cli.inbox.state import Want
from runner.cli.showing import report_shown
from runner.errors import RunnerError
from runner.model import JsonObject
from runner.render.values import objects_at, text_at

#: Seconds the supervisor may hold a request for news, and those before a lost supervisor is tried again.
_WAIT, _REST = 20.0, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What the log said: entries that changed, whether there are new ones, and trouble with following."""

    changed: tuple[str, ...] = ()
    news: bool = False
    trouble: str = ""


class Office:
    """Two connections: one for what a person does, one that waits for news.

    Args:
        client: For what a person does.
        connect: Makes another connection.
        sources: The kinds of entries.
    """

    def __init__(self, client: Client, connect: Callable[[], Client], *, sources: Sequence[Source] = SOURCES) -> None:
        self.client = client
        self.sources = sources
        self._connect = connect
        self._stopped = threading.Event()
        self._place: int | None = None

    def carry_out(self, want: Want) -> JsonObject:
        """Look, plan or do.

        Raises:
            RunnerError: As the supervisor refused it.
        """
        entry, act = want.entry, want.act
        if entry is None or (want.what != "look" and (act is None or want.record is None)):
            raise RunnerError("cannot do that: nothing is chosen")
        if act is None or want.record is None:
            return entry.source.look(self.client, entry.id)
        if want.what == "plan" and act.plan is not None:
            return act.plan(self.client, want.record)
        found = act.do(self.client, want.record, want.text)
        return found if want.what == "edit" else entry.source.look(self.client, entry.id)

    def shown(self, record: JsonObject, parts: list[list[str]]) -> None:
        """Have it put on record that all of a card was on the screen; where that cannot be, a decision still can (A2)."""
        if not text_at(record, "id").startswith(("a_", "p_")):
            return  # only what is decided by digest is recorded as shown
        with suppress(RunnerError):
            report_shown(self.client, record, surface="inbox", parts=parts)

    def mark(self) -> None:
        """Follow from here: before the list is read, so that what happens in between is told."""
        with suppress(RunnerError):  # who follows says what is wrong
            self._place = self._next(self.client, None, lambda _: None)

    def follow(self, heard: Callable[[Followed], None]) -> None:
        """Tell what happens, from a thread of its own, until stopped."""
        thread = threading.Thread(target=self._follow, args=(heard,), name="inbox-log", daemon=True)
        thread.start()

    def stop(self) -> None:
        """Tell nothing more."""
        self._stopped.set()

    def _follow(self, heard: Callable[[Followed], None]) -> None:
        place = self._place
        while not self._stopped.is_set():
            try:
                with self._connect() as client:
                    while not self._stopped.is_set():
                        place = self._next(client, place, heard)
            except RunnerError as error:
                if not self._stopped.is_set():
                    heard(Followed(trouble=error.brief))
                # What happened meanwhile is in the log; a new supervisor may have another list.
                self._stopped.wait(_REST)
                if not self._stopped.is_set():
                    heard(Followed(news=True))

    def _next(self, client: Client, place: int | None, heard: Callable[[Followed], None]) -> int:
        """The place in the log behind what was told."""
        found = client.log(after=place, limit=1 if place is None else 1000, seconds=0.0 if place is None else _WAIT)
        behind = found.get("next")
        events = objects_at(found, "events") if place is not None else []
        if events and not self._stopped.is_set():
            known = {source.news for source in self.sources}
            news = any(text_at(event, "event") in known for event in events)
            heard(Followed(changed=tuple(dict.fromkeys(text_at(event, "subject") for event in events)), news=news))
        return behind if isinstance(behind, int) else 0
