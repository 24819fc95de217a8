"""What one attempt's gateway noticed, on record: a lie at once, the first stranger at once, how many there were at the end.

Bounded whatever knocks: four rows an attempt. No run's state is touched here: a lie ends it since the gateway shuts its door.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from runner.errors import StoreError
from runner.model import Attempt, Json, JsonObject
from runner.store import AuditRow, Connection, Store, audit
from runner.supervisor.progress import Clock

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Doorkeeper:
    """Implements the gateway's `Watch`."""

    store: Store
    attempt: Attempt
    clock: Clock
    _strangers: int = 0
    _in_order: asyncio.Lock = field(default_factory=asyncio.Lock)
    _writing: set[asyncio.Task[None]] = field(default_factory=set)

    def stranger(self, pid: int, uid: int) -> None:
        """Write the first down; count the others."""
        self._strangers += 1
        if self._strangers == 1:
            self._begin(partial(self._append, event="gateway.stranger", data={"pid": pid, "uid": uid}))

    def lie(self, what: str) -> None:
        """Write it down."""
        self._begin(partial(self._append, event="gateway.mismatch", data={"found": what}))

    async def close(self, *, doubt: str | None = None) -> None:
        """Write down how many strangers came, once it is over.

        Args:
            doubt: What the desk found to be a lie, if it did.
        """
        if doubt is not None:
            self.lie(doubt)
        if self._strangers > 1:
            self._begin(partial(self._append, event="gateway.strangers", data={"count": self._strangers}))
        await asyncio.gather(*self._writing)

    def _begin(self, write: partial[None]) -> None:
        task = asyncio.create_task(self._written(write))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _written(self, write: partial[None]) -> None:
        try:
            async with self._in_order:
                await self.store.call(write)
        except StoreError as error:
            _log.error("cannot write down what the gateway of %s noticed: %s", self.attempt, error.brief)

    def _append(self, conn: Connection, *, event: str, data: Mapping[str, Json]) -> None:
        which: JsonObject = {"segment": self.attempt.segment, "attempt": self.attempt.number}
        audit.append(conn, time=self.clock(), event=event, subject=self.attempt.run, data=which | dict(data))


def noticed(history: Iterable[AuditRow]) -> JsonObject:
    """What a run's history says of its gateways: `strangers`, who was `first`, and every `found` lie."""
    facts = [(row.event, json.loads(row.data)) for row in history if row.event.startswith("gateway.")]
    first = [data for event, data in facts if event == "gateway.stranger"]
    counts = {(data["segment"], data["attempt"]): 1 for data in first}
    counts |= {(data["segment"], data["attempt"]): data["count"] for event, data in facts if event == "gateway.strangers"}
    return {
        "strangers": sum(counts.values()),
        "first": {"pid": first[0]["pid"], "uid": first[0]["uid"]} if first else None,
        "found": [data["found"] for event, data in facts if event == "gateway.mismatch"],
    }
