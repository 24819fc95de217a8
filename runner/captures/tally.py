"""Counts what an ingress took and refused. A refusal leaves a number behind and now and then a line."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from runner.model import JsonObject

_log = logging.getLogger(__name__)
#: Seconds between two lines of the log, however many refusals there are.
EVERY = 60.0


class Tally:
    """Numbers of one supervisor's ingress.

    Args:
        clock: Seconds; only differences count.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._taken = 0
        self._refused: Counter[str] = Counter()
        self._unsaid: Counter[str] = Counter()
        self._said = clock() - EVERY
        self.address: str | None = None  #: where it listens; None: nowhere

    def took(self) -> None:
        """A capture came in."""
        self._taken += 1

    def refuse(self, why: str) -> None:
        """A request was refused; `why` is a word of ours, never the sender's."""
        self._refused[why] += 1
        self._unsaid[why] += 1
        now = self._clock()
        if now - self._said >= EVERY:
            self._said = now
            _log.warning("refused at the ingress: %s", ", ".join(f"{word} {n}" for word, n in sorted(self._unsaid.items())))
            self._unsaid.clear()

    @property
    def view(self) -> JsonObject | None:
        """For `runner status`."""
        if self.address is None:
            return None
        return {"address": self.address, "taken": self._taken, "refused": dict(sorted(self._refused.items()))}
