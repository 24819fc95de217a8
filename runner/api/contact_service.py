"""What the API needs of the supervisor about senders: contacts, and captures that wait before any agent sees them."""

from __future__ import annotations

from typing import Protocol

from runner.approvals import Approver
from runner.model import Capture, JsonObject


class Contacts(Protocol):
    """Who may send. A contact is `{"petname", "fingerprint", "kind", "trust", "blocked", "created", "sender"}`."""

    async def add(self, petname: str, key: str, *, kind: str, verified: bool, who: Approver) -> JsonObject:
        """Add one; the answer is as of `shown`."""
        ...

    async def listed(self) -> list[JsonObject]:
        """All of them, by petname."""
        ...

    async def shown(self, petname: str) -> JsonObject:
        """One, with `key`, the `agents` that list it and what of it is `waiting`."""
        ...

    async def rename(self, petname: str, to: str, *, who: Approver) -> JsonObject:
        """Give it another petname; `before`, and in `lost` the agents that list the old one."""
        ...

    async def block(self, petname: str, *, blocked: bool, who: Approver) -> JsonObject:
        """Take nothing more from it, or take from it again; `cancelled` names its queued runs."""
        ...

    async def verify(self, petname: str, *, verified: bool, who: Approver) -> JsonObject:
        """Say whether the key is known to be theirs."""
        ...

    async def remove(self, petname: str, *, who: Approver) -> JsonObject:
        """Forget it; `cancelled` names its runs that were ended, `closed` its captures that will have none."""
        ...

    async def send_as(self, petname: str, capture: Capture) -> JsonObject:
        """Take a capture as if it had come from this contact: `{"capture", "run"}`."""
        ...


class Captures(Protocol):
    """Captures before any agent sees them. One is `{"id", "agent", "sender", "state", "size", "created"}`, no content."""

    async def listed(self, *, state: str | None) -> list[JsonObject]:
        """Those that wait, or those in a state, or `all`; newest first."""
        ...

    async def pictures(self, ref: str) -> list[JsonObject]:
        """Its pictures as the model is given them: `{"name", "media_type", "data"}`, base64; none of a stub."""
        ...

    async def accept(self, ref: str, *, who: Approver) -> JsonObject:
        """Let a stub become a capture like any other: `{"capture", "run", "state"}`."""
        ...

    async def start(self, ref: str, *, who: Approver) -> JsonObject:
        """Queue the run of a stored one: `{"capture", "run", "state"}`."""
        ...

    async def dismiss(self, ref: str, *, who: Approver) -> JsonObject:
        """Let it never have a run: `{"capture", "run", "state"}`."""
        ...
