"""What is counted about decisions, as the API tells it."""

from __future__ import annotations

from dataclasses import dataclass

from runner.model import JsonObject
from runner.store import Store, statistics
from runner.store.statistics import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Implements `runner.api.record_service.Statistics`."""

    store: Store

    async def decisions(self, *, since: float) -> JsonObject:
        """Per person and tool."""
        found = await self.store.query(statistics.decisions, since=since)
        return {"since": since, "rows": [_line(one) for one in found]}


def _line(one: Tally) -> JsonObject:
    middle, hasty = one.median, one.hasty
    return {
        "person": one.person,
        "tool": one.tool,
        "decided": one.decided,
        "approved": one.approved,
        "denied": one.denied,
        "undone": one.undone,
        "expired": one.expired,
        "timed": len(one.seconds),
        "median_seconds": None if middle is None else round(middle, 3),
        "under_two_seconds": None if hasty is None else round(hasty, 4),
    }
