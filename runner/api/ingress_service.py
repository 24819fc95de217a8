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


class Handing(Protocol):
    """Hands files to the contact they were shared with. The first three arguments are of the verified request."""

    async def offered(self, fingerprint: str, nonce: str, expires: float) -> JsonObject:
        """What this key can fetch: `{"shares": [{"share", "note", "expires", "files": [{"n", "name", "size", "digest"}]}]}`."""
        ...

    async def described(self, fingerprint: str, nonce: str, expires: float, ref: str) -> JsonObject:  # noqa: PLR0917
        """One of these."""
        ...

    async def piece(  # noqa: PLR0913, PLR0917 - one request, whole
        self, fingerprint: str, nonce: str, expires: float, ref: str, n: int, part: int
    ) -> bytes:
        """A piece of one of its files."""
        ...
