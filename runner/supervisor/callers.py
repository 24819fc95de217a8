"""Who asks over the network, as the rows say in this very transaction: a contact, not blocked, with a request never seen."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from runner.captures.refusals import STRANGER, refused
from runner.errors import PausedError
from runner.store import Connection, arrivals, contacts, keep, pausing
from runner.store.contacts import ContactRow


class Request(NamedTuple):
    """A verified request: whose key signed it, and what makes it the only one of its kind."""

    fingerprint: str
    nonce: str
    expires: float


def contact(conn: Connection, fingerprint: str) -> ContactRow:
    """The contact behind a key. Whoever was blocked or removed a moment ago is a stranger.

    Raises:
        DeliveryError: There is none.
    """
    found = contacts.of_key(conn, fingerprint)
    if found is None or found.blocked is not None:
        raise refused(STRANGER)
    return found


def unpaused(conn: Connection, doing: str) -> None:
    """Refuse while a pause is in force (L9).

    Raises:
        DeliveryError: It is.
    """
    try:
        pausing.refuse(conn, doing)
    except PausedError:
        raise refused("paused") from None


def once(conn: Connection, request: Request, *, now: float) -> None:
    """Use a request's nonce up.

    Raises:
        DeliveryError: It was used before.
    """
    fingerprint, nonce, expires = request
    if not arrivals.claim_nonce(conn, fingerprint, nonce, expires=expires, now=now):
        raise refused("replayed")
    # A refusal undoes its transaction, and must not let the same request be tried again.
    keep(conn, partial(arrivals.claim_nonce, fingerprint=fingerprint, nonce=nonce, expires=expires, now=now))
