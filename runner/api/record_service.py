"""What the API needs of the supervisor to tell people and to count what they did; parts of `Service`."""

from __future__ import annotations

from typing import Protocol

from runner.approvals import Approver
from runner.model import JsonObject


class Notices(Protocol):
    """Telling people that something needs them."""

    async def summary(self) -> JsonObject:
        """`{"channels": [{"name", "waiting", "dead", "delivered", "error"}], "dead"}`."""
        ...

    async def test(self, *, who: Approver) -> JsonObject:
        """Send a test everywhere, at once: `{"channels": [{"name", "delivered", "error"}]}`."""
        ...


class Statistics(Protocol):
    """How people decided."""

    async def decisions(self, *, since: float) -> JsonObject:
        """`{"since", "rows": [{"person", "tool", "decided", "approved", "denied", "undone", …}]}`."""
        ...
