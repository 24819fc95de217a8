"""What the API needs of the supervisor for threads: conversations that the owner continues."""

from __future__ import annotations

from typing import Protocol

from runner.model import Capture, JsonObject


class Threads(Protocol):
    """Sending into one, and seeing which there are."""

    async def send(self, name: str, capture: Capture) -> JsonObject:
        """Take the owner's capture into a thread: `{"capture", "run", "thread": {"name", "continues", "taint"}}`."""
        ...

    async def listed(self) -> list[JsonObject]:
        """Threads: `{"name", "agent", "runs", "state", "last", "taint", "over", "created", "updated"}`, last moved first."""
        ...
