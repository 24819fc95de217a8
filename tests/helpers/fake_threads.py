"""Threads over canned rows; what was asked goes into the service's `asked`."""

from __future__ import annotations

from runner.model import Capture, JsonObject

TAINT: JsonObject = {"says": "text of capture c_0", "kind": "text", "source": "c_0", "sender": "owner", "run": None}
THREAD: JsonObject = {
    "name": "taxes",
    "agent": "scribe",
    "runs": 2,
    "state": "replied",
    "last": "r_0123456789abcdef",
    "taint": [TAINT],
    "over": None,
    "created": 1_800_000_000.0,
    "updated": 1_800_000_060.0,
}


class FakeThreads:
    """One thread."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self.asked = asked
        self.rows = [THREAD]

    async def send(self, name: str, capture: Capture) -> JsonObject:
        """It is taken."""
        self.asked.append(("thread", (name, capture)))
        thread: JsonObject = {"name": name, "continues": "r_0123456789abcdef", "taint": [TAINT]}
        return {"capture": "c_0123456789abcdef", "run": "r_1123456789abcdef", "thread": thread}

    async def listed(self) -> list[JsonObject]:
        """The rows."""
        return [*self.rows]
