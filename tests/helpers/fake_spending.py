"""Books over plain dicts: what they were asked for is kept."""

from __future__ import annotations

from runner.approvals import Approver
from runner.model import JsonObject


class FakeSpending:
    """Implements `runner.api.service.Spending`."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self.asked = asked
        self.waiting: list[JsonObject] = []

    async def usage(self, *, by: str, days: int) -> JsonObject:
        """One row."""
        self.asked.append(("usage", (by, days)))
        name = "sc\x1b[31mribe" if by == "agent" else "2026-11-30"
        row: JsonObject = {"name": name, "requests": 3, "input_tokens": 1200, "output_tokens": 80, "usd": 0.0123}
        return {"by": by, "since": "2026-11-01", "rows": [row]}

    async def holds(self) -> JsonObject:
        """What waits."""
        return {"holds": [*self.waiting]}

    async def raise_budget(self, ref: str, *, tokens: int, usd: float, who: Approver) -> JsonObject:
        """The run goes on."""
        self.asked.append(("raise", (ref, tokens, usd, who.uid)))
        return {"id": ref, "state": "queued"}
