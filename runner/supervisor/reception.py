"""What an ingress asks of the supervisor about somebody who proved to have a key: may they send, take it, what became of it.

Every answer is read from rows in the transaction that acts on it, so a block, a removal and a pause hold from the next request
on. A refusal is a `DeliveryError` and stores nothing; a capture that comes again is the same capture (issue 8).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from runner.captures.delivery import Delivery
from runner.captures.refusals import refused
from runner.errors import CaptureError, NotFoundError, SandboxError
from runner.fence import FenceError
from runner.model import Capture, CaptureId, JsonObject, Sender, SenderKind
from runner.store import CaptureRow, Connection, RunRow, Store, arrivals, captures, contacts, profiles, runs
from runner.store.arrivals import Arrival
from runner.store.contacts import ContactRow
from runner.supervisor import callers
from runner.supervisor.changes import Changes
from runner.supervisor.decodes import Attempts
from runner.supervisor.intake import Intake, admits
from runner.supervisor.parsing import parsed
from runner.supervisor.pictures import Pictures
from runner.supervisor.progress import Clock

HOUR = 3600.0
_log = logging.getLogger(__name__)
#: Seconds after which keys are read again all the same: another host may have changed them.
FRESH = 5.0


class Released(NamedTuple):
    """What its own sender is told of a capture: `received`, `answered` or `closed`, and nothing finer."""

    state: str
    reply: str | None = None


class ReplyGate(Protocol):
    """Decides what of a run its sender may hear."""

    def released(self, conn: Connection, capture: CaptureRow, run: RunRow | None) -> Released:
        """What is released by now. Blocking; on the connection of one consistent view."""
        ...


@dataclass(slots=True, kw_only=True)
class Reception:
    """Implements `runner.api.ingress_service.Reception`. `keys` are read again once somebody has changed a contact."""

    store: Store
    intake: Intake
    changes: Changes
    clock: Clock
    per_hour: int
    gate: ReplyGate
    pictures: Pictures
    _attempts: Attempts = field(init=False)
    _keys: Mapping[str, str] | None = None
    _changed: int = 0
    _until: float = 0.0

    def __post_init__(self) -> None:
        """Count what cannot be decoded by the same measure as what arrives."""
        self._attempts = Attempts(self.clock, most=self.per_hour)

    def forget(self) -> None:
        """Contacts have changed."""
        self._keys = None
        self._changed += 1

    async def keys(self) -> Mapping[str, str]:
        """Public keys by fingerprint, of every contact that is not blocked."""
        if self._keys is not None and self.clock() < self._until:
            return self._keys
        before = self._changed
        found = {row.fingerprint: row.key for row in await self.store.query(contacts.all) if row.blocked is None}
        if before == self._changed:  # else what was read may be older than the change
            self._keys, self._until = found, self.clock() + FRESH
        return found

    async def admit(self, delivery: Delivery) -> JsonObject | None:
        """See whether a capture may come; the receipt, where it has come already.

        Raises:
            DeliveryError: It may not.
        """
        known = await self.store.call(self._admit, delivery)
        if known is None:
            self._attempts.check(delivery.fingerprint)
        return known

    async def take(self, capture: Capture, delivery: Delivery) -> JsonObject:
        """Take a capture; the receipt.

        Raises:
            DeliveryError: What has changed since it was admitted, or it cannot be fenced.
        """
        began = self._attempts.begin(delivery.fingerprint) if capture.images else 0.0
        sender = Sender(kind=SenderKind.CONTACT, fingerprint=delivery.fingerprint)
        try:
            clean = await self.pictures.clean(capture, sender=sender)
        except CaptureError as error:
            raise refused("malformed", more=error.brief.removeprefix("cannot take ")) from None
        except SandboxError as error:
            _log.error("a capture's pictures cannot be decoded: %s", error.brief)
            raise refused("busy") from None
        receipt = await self.store.call(self._take, clean, delivery)
        self._attempts.arrived(delivery.fingerprint, began)
        self.changes.ring()
        return receipt

    async def state(self, fingerprint: str, nonce: str, expires: float, ref: str, *, seconds: float) -> JsonObject:  # noqa: PLR0917
        """What its own sender may know of a capture, as soon as that is more than that it came, or after a while.

        Raises:
            DeliveryError: It is not this sender's, or the request was seen before.
        """
        first = await self.store.call(self._asked, fingerprint, nonce, expires, ref)

        async def look() -> JsonObject | None:
            found = await self.store.query(self._state, fingerprint, ref)
            return None if found["state"] == "received" else found

        return first if first["state"] != "received" else await self.changes.until(look, seconds=seconds, every=1.0) or first

    def _admit(self, conn: Connection, delivery: Delivery) -> JsonObject | None:
        contact = self._contact(conn, delivery.fingerprint)
        self._once(conn, delivery.fingerprint, delivery.nonce, delivery.expires)
        known = self._known(conn, delivery)
        if known is None:
            self._check(conn, contact, delivery)
        return known

    def _take(self, conn: Connection, capture: Capture, delivery: Delivery) -> JsonObject:
        contact = self._contact(conn, delivery.fingerprint)
        known = self._known(conn, delivery)
        if known is not None:
            return known
        self._check(conn, contact, delivery)
        try:
            taken = self.intake.receive(conn, capture, contact.sender, verified=contact.verified)
        except FenceError:
            raise refused("malformed", more="its text cannot be fenced") from None
        arrivals.insert(conn, delivery.fingerprint, delivery.key, Arrival(taken.capture, delivery.digest), now=self.clock())
        return {"capture": taken.capture, "state": "received"}

    def _asked(self, conn: Connection, fingerprint: str, nonce: str, expires: float, ref: str) -> JsonObject:  # noqa: PLR0917
        self._contact(conn, fingerprint)
        self._once(conn, fingerprint, nonce, expires)
        return self._state(conn, fingerprint, ref)

    def _state(self, conn: Connection, fingerprint: str, ref: str) -> JsonObject:
        self._contact(conn, fingerprint)
        if not arrivals.of_sender(conn, fingerprint, ref):
            raise refused("not_found")
        row = captures.get(conn, CaptureId(ref))
        found = runs.of_capture(conn, row.id)
        released = self.gate.released(conn, row, found[-1] if found else None)
        return {"capture": row.id, "state": released.state, "reply": released.reply}

    def _contact(self, conn: Connection, fingerprint: str) -> ContactRow:
        return callers.contact(conn, fingerprint)

    def _once(self, conn: Connection, fingerprint: str, nonce: str, expires: float) -> None:  # noqa: PLR0917
        callers.once(conn, callers.Request(fingerprint, nonce, expires), now=self.clock())

    def _known(self, conn: Connection, delivery: Delivery) -> JsonObject | None:
        before = arrivals.find(conn, delivery.fingerprint, delivery.key)
        if before is None:
            return None
        if before.digest != delivery.digest:
            raise refused("conflict")
        return {"capture": before.capture, "state": "received"}

    def _check(self, conn: Connection, contact: ContactRow, delivery: Delivery) -> None:
        """Agent, rate, pause: in this order, each with an answer that its sender can act on."""
        self._listed(conn, contact.sender, delivery.agent)
        now = self.clock()
        count, first = arrivals.since(conn, delivery.fingerprint, now - HOUR)
        if count >= self.per_hour:
            wait = max(1, round((first or now) + HOUR - now))
            raise refused("rate", more=f"at most {self.per_hour} an hour", retry_after=wait)
        callers.unpaused(conn, "take it")

    def _listed(self, conn: Connection, sender: Sender, agent: str) -> None:
        """No agent, and one that does not list the sender, are the same to it; of a retired one that did, it hears."""
        try:
            stored = profiles.published(conn, agent)
        except NotFoundError:
            raise refused("not_for_you") from None
        if not admits(parsed(stored), sender):
            raise refused("not_for_you")
        if stored.retired is not None:
            raise refused("retired")
