"""Whose the database is: one supervisor at a time, which has to say again and again that it lives (M8).

Times are the database's own reading of who asks: epoch seconds of the asking host, which is why a lease is long beside what
clocks of hosts differ by. A supervisor never acts on a lease by these times, but by its own seconds since it was renewed.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, select, update

from runner.model import Json
from runner.store import audit, schema_leases

#: The one thing there is a lease on.
NAME = "supervisor"


class Lease(NamedTuple):
    """Who has it."""

    owner: str  #: names a state directory
    boot: str  #: names one process
    until: float


def current(conn: Connection) -> Lease | None:
    """The lease as it stands; None when nobody ever had it."""
    table = schema_leases.leases.c
    found = conn.execute(select(table.owner, table.boot, table.until).where(table.name == NAME)).one_or_none()
    return None if found is None else Lease(*found)


def take(conn: Connection, wanted: Lease, *, now: float) -> Lease | None:
    """Take the lease; None when it is taken, else whose it was: one's own state directory's, or one that has run out.

    A state directory has a lock of its own, so a former process of the same one is known to be dead.
    """
    table = schema_leases.leases
    before = current(conn)
    if before is None:
        conn.execute(table.insert().values(name=NAME, **wanted._asdict()))
    elif before.owner != wanted.owner and before.until > now:
        return None
    else:
        conn.execute(update(table).where(table.c.name == NAME).values(**wanted._asdict()))
    facts: dict[str, Json] = {"owner": wanted.owner, "before": None if before is None else before.owner}
    audit.append(conn, time=now, event="lease.take", subject=NAME, data=facts)
    return before or wanted


def renew(conn: Connection, mine: Lease) -> bool:
    """Have it for longer; False when it is somebody else's by now, and nothing has changed."""
    table = schema_leases.leases
    where = (table.c.name == NAME, table.c.owner == mine.owner, table.c.boot == mine.boot)
    return conn.execute(update(table).where(*where).values(until=mine.until)).rowcount == 1


def release(conn: Connection, mine: Lease, *, now: float) -> None:
    """Give it back at once."""
    renew(conn, mine._replace(until=now))
