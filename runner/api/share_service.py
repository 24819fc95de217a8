"""What the API needs of the supervisor about files that the owner hands to contacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runner.approvals import Approver
from runner.model import JsonObject


class Shares(Protocol):
    """A share is `{"id", "to", "sender", "state", "note", "files", "bytes", "warnings", "digest", "created", "expires", …}`."""

    async def plan(self, petname: str, files: Sequence[tuple[str, bytes]], *, note: str, seconds: float | None) -> JsonObject:
        """What would be shared and what it would give away, with the `digest` that a yes names; nothing is shared."""
        ...

    async def share(self, digest: str, *, who: Approver) -> JsonObject:
        """Let its contact fetch exactly what was shown under this digest; the answer is as of `shown`."""
        ...

    async def listed(self, *, state: str | None) -> list[JsonObject]:
        """Those that can be fetched, or those in a state, or `all`; newest first."""
        ...

    async def shown(self, ref: str) -> JsonObject:
        """One, with its `history`."""
        ...

    async def withdraw(self, ref: str, *, reason: str | None, who: Approver) -> JsonObject:
        """Take one back; the answer is as of `shown`."""
        ...
