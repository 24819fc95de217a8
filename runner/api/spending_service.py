"""What the API needs of the supervisor for budgets and usage (M11)."""

from __future__ import annotations

from typing import Protocol

from runner.approvals import Approver
from runner.model import JsonObject


class Spending(Protocol):
    """The books, and who may spend more."""

    async def usage(self, *, by: str, days: int) -> JsonObject:
        """`{"by", "since", "rows": [{"name", "requests", "input_tokens", "output_tokens", "usd"}]}`."""
        ...

    async def holds(self) -> JsonObject:
        """Runs that wait for a budget: `{"holds": [{"run", "agent", "sender", "says", "scope", "what", "created"}]}`."""
        ...

    async def raise_budget(self, ref: str, *, tokens: int, usd: float, who: Approver) -> JsonObject:
        """Let a run spend more, and go on if it waits for that; the answer is the run as it then is."""
        ...
