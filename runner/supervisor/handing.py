"""The contact's side of a share: what is there for this key, and its bytes, piece by piece.

Every request is looked at anew in the transaction that answers it: a block, a removal, a pause, an end hold from the very next
piece on. Nobody but the contact it is for hears whether a share is there at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from runner.captures.refusals import refused
from runner.errors import NotFoundError
from runner.model import Json, JsonObject
from runner.store import Connection, Store, shares
from runner.store.contacts import ContactRow
from runner.store.shares import LIVE, FileRow, ShareRow
from runner.supervisor import callers
from runner.supervisor.callers import Request
from runner.supervisor.progress import Clock
from runner.supervisor.sharing_views import offer_view

#: Shares of one answer: as many as can be fetched at once.
MOST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Handing:
    """Implements `runner.api.ingress_service.Handing`."""

    store: Store
    clock: Clock

    async def offered(self, fingerprint: str, nonce: str, expires: float) -> JsonObject:
        """What this key can fetch now.

        Raises:
            DeliveryError: It is no contact's, the request was seen before, or the supervisor is paused.
        """
        return await self.store.call(self._offered, Request(fingerprint, nonce, expires))

    async def described(self, fingerprint: str, nonce: str, expires: float, ref: str) -> JsonObject:  # noqa: PLR0917
        """One of these.

        Raises:
            DeliveryError: As `offered`; or it is not this key's, or there no more.
        """
        return await self.store.call(self._described, Request(fingerprint, nonce, expires), ref)

    async def piece(  # noqa: PLR0913, PLR0917 - one request, whole
        self, fingerprint: str, nonce: str, expires: float, ref: str, n: int, part: int
    ) -> bytes:
        """A piece of one of its files.

        Raises:
            DeliveryError: As `described`; or it has no such file or piece.
        """
        return await self.store.call(self._piece, Request(fingerprint, nonce, expires), ref, n, part)

    def _offered(self, conn: Connection, request: Request) -> JsonObject:
        contact, now = self._asked(conn, request), self.clock()
        found = shares.list(conn, states=LIVE, fingerprint=contact.fingerprint, limit=MOST) if contact.verified else ()
        views: list[Json] = [offer_view(row) for row in found if row.expires > now]
        return {"shares": views}

    def _described(self, conn: Connection, request: Request, ref: str) -> JsonObject:
        return offer_view(self._theirs(conn, self._asked(conn, request), ref))

    def _piece(self, conn: Connection, request: Request, ref: str, n: int, part: int) -> bytes:  # noqa: PLR0917
        row = self._theirs(conn, self._asked(conn, request), ref)
        file: FileRow | None = next((one for one in row.files if one.n == n), None)
        data = None if file is None else b"" if (file.size, part) == (0, 0) else shares.part(conn, file.digest, part)
        if file is None or data is None:
            raise refused("no_share", more="it has no such file or piece")
        if part == 0 or not file.fetches:
            shares.fetch(conn, row, n, now=self.clock())
        return data

    def _asked(self, conn: Connection, request: Request) -> ContactRow:
        contact = callers.contact(conn, request.fingerprint)
        callers.once(conn, request, now=self.clock())
        callers.unpaused(conn, "hand it over")
        return contact

    def _theirs(self, conn: Connection, contact: ContactRow, ref: str) -> ShareRow:
        """A share of theirs that can be fetched. Another's, and one that never was, are the same."""
        try:
            row = shares.get(conn, ref)
        except NotFoundError:
            raise refused("no_share") from None
        if row.to.fingerprint != contact.fingerprint or not contact.verified:
            raise refused("no_share")
        if row.state not in LIVE or row.expires <= self.clock():
            raise refused("gone")
        return row
