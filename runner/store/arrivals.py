"""What came in over the network: each capture once, however often it is sent, and each signed request once."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, delete, func, select

from runner.model import CaptureId
from runner.store.schema_contacts import arrivals, nonces


class Arrival(NamedTuple):
    """What a sender's own key for a capture led to."""

    capture: CaptureId
    digest: str


def find(conn: Connection, fingerprint: str, key: str) -> Arrival | None:
    """What arrived from this sender under its own key for it."""
    where = (arrivals.c.fingerprint == fingerprint, arrivals.c.key == key)
    found = conn.execute(select(arrivals.c.capture, arrivals.c.digest).where(*where)).one_or_none()
    return None if found is None else Arrival(CaptureId(found.capture), found.digest)


def of_sender(conn: Connection, fingerprint: str, capture: str) -> bool:
    """Whether this capture arrived from this sender."""
    where = (arrivals.c.fingerprint == fingerprint, arrivals.c.capture == capture)
    return conn.execute(select(arrivals.c.key).where(*where)).first() is not None


def insert(conn: Connection, fingerprint: str, key: str, arrival: Arrival, *, now: float) -> None:  # noqa: PLR0917
    """Note that a capture arrived."""
    conn.execute(
        arrivals.insert().values(fingerprint=fingerprint, key=key, digest=arrival.digest, capture=arrival.capture, created=now)
    )


def since(conn: Connection, fingerprint: str, when: float) -> tuple[int, float | None]:
    """How many captures arrived from a sender after a moment, and when the first of them did."""
    where = (arrivals.c.fingerprint == fingerprint, arrivals.c.created > when)
    count, first = conn.execute(select(func.count(), func.min(arrivals.c.created)).where(*where)).one()
    return count, first


def claim_nonce(conn: Connection, fingerprint: str, nonce: str, *, expires: float, now: float) -> bool:
    """Use a nonce up; False when it was used before. Those that no request could carry any more are forgotten."""
    conn.execute(delete(nonces).where(nonces.c.expires < now))
    where = (nonces.c.fingerprint == fingerprint, nonces.c.nonce == nonce)
    if conn.execute(select(nonces.c.nonce).where(*where)).first() is not None:
        return False
    conn.execute(nonces.insert().values(fingerprint=fingerprint, nonce=nonce, expires=expires))
    return True
