"""What an ingress needs of the supervisor. Every method may raise a `DeliveryError`, which its sender may hear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from runner.captures.delivery import Delivery
from runner.model import Capture, JsonObject


class Reception(Protocol):
    """Answers about somebody who proved to have a key."""

    async def keys(self) -> Mapping[str, str]:
        """Public keys by fingerprint, of everybody who may send at all."""
        ...

    async def admit(self, delivery: Delivery) -> JsonObject | None:
        """See whether a capture may come; the receipt, where it has come already."""
        ...

    async def take(self, capture: Capture, delivery: Delivery) -> JsonObject:
        """Take a capture: `{"capture", "state"}`, the receipt."""
        ...

    async def state(self, fingerprint: str, nonce: str, expires: float, ref: str, *, seconds: float) -> JsonObject:  # noqa: PLR0917
        """What its own sender may know of a capture: `{"capture", "state", "reply"}`."""
        ...
