"""What the API needs of the supervisor for grants (D3)."""

from __future__ import annotations

from typing import Protocol

from runner.approvals import Approver
from runner.model import JsonObject
from runner.policy.grants import Wish


class Grants(Protocol):
    """Yeses given beforehand, each narrow and bounded."""

    async def plan(self, wish: Wish, *, who: Approver) -> JsonObject:
        """A grant as it would be, with `samples` of the past; nothing is granted."""
        ...

    async def give(self, wish: Wish, *, who: Approver) -> JsonObject:
        """Give it: `{"id", "agent", "tool", "path", "match", "says", "state", "uses", "used", "expires", "samples", …}`."""
        ...

    async def listed(self, agent: str | None, *, everything: bool) -> JsonObject:
        """`{"grants"}`, newest first; without `everything` those that live."""
        ...

    async def grant(self, ref: str) -> JsonObject:
        """One grant."""
        ...

    async def revoke(self, ref: str, *, who: Approver) -> JsonObject:
        """Take it back, at once; the answer is the grant as it then is."""
        ...
