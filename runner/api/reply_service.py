"""What the API needs of the supervisor about replies that wait for review."""

from __future__ import annotations

from typing import Protocol

from runner.approvals import Approver
from runner.model import JsonObject


class Replies(Protocol):
    """Replies to whoever is not the owner. A line is `{"id", "run", "agent", "sender", "state", "does", "digest", …}`."""

    async def listed(self, *, state: str | None) -> list[JsonObject]:
        """Those that wait, or those in a state, or `all`; oldest first."""
        ...

    async def shown(self, ref: str) -> JsonObject:
        """One, with its whole `text`, what it `reveals`, its `warnings` and `history`."""
        ...

    async def approve(self, ref: str, *, digest: str, reason: str | None, who: Approver) -> JsonObject:
        """Let exactly this text go out, once; the answer is the reply as it then is."""
        ...

    async def deny(self, ref: str, *, reason: str | None, who: Approver) -> JsonObject:
        """Keep it back; its sender hears that the capture is closed."""
        ...
