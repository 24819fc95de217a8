"""What is done with waiting calls besides deciding one, over the fake service's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.approvals import Approver
from runner.model import JsonObject

if TYPE_CHECKING:
    from tests.helpers.fake_service import FakeService


class FakeQueue:
    """Works on the service's one approval."""

    def __init__(self, service: FakeService) -> None:
        self._service = service

    async def extend(self, ref: str, *, seconds: float, who: Approver) -> JsonObject:
        """Its deadline moves."""
        row = await self._service.approval(ref)
        self._service.asked.append(("extend", (seconds, who)))
        row["expires"] = float(str(row["expires"])) + seconds
        return row
