"""Channels and counts of the fake service."""

from __future__ import annotations

from runner.approvals import Approver
from runner.model import JsonObject


class FakeNotices:
    """One channel that takes everything and one that takes nothing."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self._asked = asked
        self.channels: list[JsonObject] = [
            {"name": "ntfy-0123abcd", "delivered": True, "error": None},
            {"name": "webhook", "delivered": False, "error": "it answered 500"},
        ]

    async def summary(self) -> JsonObject:
        """Nothing on its way."""
        return {"channels": [], "dead": 0}

    async def test(self, *, who: Approver) -> JsonObject:
        """What became of a test."""
        self._asked.append(("notice test", who))
        return {"channels": [*self.channels]}


class FakeStatistics:
    """One person, one tool."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self._asked = asked

    async def decisions(self, *, since: float) -> JsonObject:
        """Their row, and the calls that nobody decided about."""
        self._asked.append(("statistics", since))
        row: JsonObject = {
            "person": "anna",
            "tool": "Write",
            "decided": 4,
            "approved": 3,
            "denied": 1,
            "undone": 1,
            "expired": 0,
        }
        row |= {"timed": 4, "median_seconds": 1.5, "under_two_seconds": 0.75}
        gone: JsonObject = {
            "person": "nobody",
            "tool": "Edit",
            "decided": 0,
            "approved": 0,
            "denied": 0,
            "undone": 0,
            "expired": 2,
        }
        gone |= {"timed": 0, "median_seconds": None, "under_two_seconds": None}
        return {"since": since, "rows": [row, gone]}
