"""What is done with waiting calls besides deciding one, over the fake service's rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runner.approvals import Approver
from runner.errors import DigestMismatchError
from runner.model import JsonObject

if TYPE_CHECKING:
    from tests.helpers.fake_service import FakeService


#: Of an edit, whatever it is.
EDITED_DIGEST = "sha256:" + "e" * 64


class FakeQueue:
    """Works on the service's one approval."""

    def __init__(self, service: FakeService) -> None:
        self._service = service

    async def plan_edit(self, ref: str, text: str, *, who: Approver) -> JsonObject:
        """The approval with that input, under a digest of its own; nothing changes."""
        row = await self._service.approval(ref)
        self._service.asked.append(("plan edit", (text, who)))
        return row | {
            "input": json.loads(text),
            "digest": EDITED_DIGEST,
            "proposed": {"input": row["input"]},
            "effective": {"input": json.loads(text)},
            "edited_by": "uid 0",
            "edit_diff": "--- content\n+++ content\n@@ -1,1 +1,1 @@\n-# Summary\n+# Better\n",
        }

    async def approve_edited(self, ref: str, text: str, *, digest: str, reason: str | None, who: Approver) -> JsonObject:
        """Pending becomes executing."""
        row = await self._service.approval(ref)
        if digest != EDITED_DIGEST:
            raise DigestMismatchError("cannot approve: this is not what is queued")
        self._service.asked.append(("approve edited", (text, digest, reason, who)))
        row |= {"state": "executing", "digest": EDITED_DIGEST, "input": json.loads(text)}
        return row

    async def extend(self, ref: str, *, seconds: float, who: Approver) -> JsonObject:
        """Its deadline moves."""
        row = await self._service.approval(ref)
        self._service.asked.append(("extend", (seconds, who)))
        row["expires"] = float(str(row["expires"])) + seconds
        return row

    async def listed(self, snapshot: str) -> JsonObject:
        """The one approval."""
        row = self._service.approval_row
        return {"calls": [{"id": row["id"], "digest": row["digest"]}]}

    async def approve_all(
        self, calls: Sequence[tuple[str, str]], snapshot: str | None, *, reason: str | None, who: Approver
    ) -> JsonObject:
        """Every call becomes executing."""
        self._service.asked.append(("approve all", ([*calls], snapshot, reason, who)))
        return self._all([id for id, _ in calls], "executing")

    async def deny_all(self, calls: Sequence[str], snapshot: str | None, *, reason: str | None, who: Approver) -> JsonObject:
        """Every call becomes denied."""
        self._service.asked.append(("deny all", ([*calls], snapshot, reason, who)))
        return self._all(calls, "denied")

    def _all(self, ids: Sequence[str], state: str) -> JsonObject:
        row = self._service.approval_row
        return {"approvals": [row | {"id": id, "state": state} for id in ids] or [row | {"state": state}]}
