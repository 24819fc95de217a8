"""The pause switch over one value; what was asked goes into the service's `asked`."""

from __future__ import annotations

from runner.approvals import Approver
from runner.model import JsonObject


class FakeSwitch:
    """Paused or not."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self.asked = asked
        self.paused: JsonObject | None = None

    async def pause(self, *, reason: str | None, who: Approver) -> JsonObject:
        """It is paused."""
        self.asked.append(("pause", (reason, who)))
        self.paused = {"since": 1_800_000_000.0, "by": f"uid {who.uid}", "reason": reason}
        return {"paused": self.paused}

    async def resume(self, *, who: Approver) -> JsonObject:
        """It is not."""
        self.asked.append(("resume", who))
        was, self.paused = self.paused, None
        return {"paused": None, "was": was}
