"""What the API needs of the supervisor to hand captures on."""

from __future__ import annotations

from typing import Protocol

from runner.approvals import Approver
from runner.model import JsonObject


class Forwarding(Protocol):
    """What it asks of the supervisor."""

    async def forward(self, ref: str, *, to: str, note: str, who: Approver) -> JsonObject:
        """Hand a capture on: `{"capture", "run", "of", "via"}`."""
        ...
