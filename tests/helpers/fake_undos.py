"""Undos over plain dicts: what they were asked for is kept."""

from __future__ import annotations

from runner.approvals import Approver
from runner.errors import ApprovalExpiredError
from runner.model import Json, JsonObject

UNDO = "a_vndvndvndvndvndv"


class FakeUndos:
    """Implements `runner.api.service.Undos`."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self.asked = asked
        self.drifted = False
        self.state = "done"  #: what becomes of an undo

    async def plan(self, ref: str) -> JsonObject:
        """A file that would go."""
        self._look(ref)
        return {
            "undoes": ref,
            "tool": "Write",
            "run": "r_0123456789abcdef",
            "agent": "scribe",
            "paths": self._paths(),
            "summary": "remove /workspace/summary.md",
            "preview": "--- /workspace/summary.md\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a \x1b[31mline\n",
            "warnings": ["the file is executable"],
        }

    async def undo(self, ref: str, *, who: Approver) -> JsonObject:
        """The undo's own approval."""
        self._look(ref)
        self.asked.append(("undo", (ref, who.uid)))
        return {
            "id": UNDO,
            "tool": "Undo",
            "state": self.state,
            "digest": "sha256:" + "3" * 64,
            "paths": self._paths(),
            "undoes": ref,
            "outcome": "Removed /workspace/summary.md.",
        }

    def _look(self, ref: str) -> None:
        if self.drifted:
            raise ApprovalExpiredError(f"cannot undo {ref}: /workspace/summary.md has changed since", resolution="look")

    def _paths(self) -> list[Json]:
        return [{"asked": "/workspace/summary.md", "resolved": "/workspace/summary.md"}]
