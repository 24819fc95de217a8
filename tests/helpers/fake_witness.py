"""A witness without a database: what it was told is in `asked`."""

from __future__ import annotations

from runner.approvals import Approver
from runner.model import JsonObject


class FakeWitness:
    """Implements `runner.api.witness_service.Witness`."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self.asked = asked

    async def shown(self, ref: str, card: JsonObject, *, who: Approver) -> JsonObject:
        """Remember it."""
        self.asked.append(("shown", (ref, card, who)))
        return {"recorded": True}

    async def reply_shown(self, ref: str, card: JsonObject, *, who: Approver) -> JsonObject:
        """Remember it."""
        self.asked.append(("reply shown", (ref, card, who)))
        return {"recorded": True}

    async def refused(self, event: str, *, act: str, ref: str, why: str, who: Approver) -> None:
        """Remember it."""
        self.asked.append((event, (act, ref, why, who)))

    async def approvers(self) -> JsonObject:
        """The operator alone."""
        return {"uids": [0], "keys": [], "tripwires": True}
