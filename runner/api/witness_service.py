"""What the API needs of the supervisor to keep who looked and who was refused on record."""

from __future__ import annotations

from typing import Protocol

from runner.approvals import Approver
from runner.model import JsonObject


class Witness(Protocol):
    """Showings and refusals, on record."""

    async def shown(self, ref: str, card: JsonObject, *, who: Approver) -> JsonObject:
        """A card was shown for a decision: `card` is `{"surface", "digest", "parts", "render_digest"}`; `{"recorded"}`."""
        ...

    async def reply_shown(self, ref: str, card: JsonObject, *, who: Approver) -> JsonObject:
        """The same for a reply."""
        ...

    async def refused(self, event: str, *, act: str, ref: str, why: str, who: Approver) -> None:
        """A request was refused admission."""
        ...

    async def approvers(self) -> JsonObject:
        """Who may decide: `{"uids", "keys": [{"name", "key", "fingerprint"}], "tripwires"}`."""
        ...
