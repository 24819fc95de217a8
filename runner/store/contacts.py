"""Contacts: the petname the owner chose, the key that stands behind it, and whether it is verified or blocked (S1-S3)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, RowMapping, delete, select, update

from runner.errors import NotFoundError
from runner.model import Json, Sender, SenderKind
from runner.store import audit, codec
from runner.store.rows import Approver
from runner.store.schema_contacts import contacts


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactRow:
    """Somebody who may send. `verified`: the owner has seen that the key is theirs; others' captures wait as stubs (C22)."""

    petname: str
    skeleton: str
    kind: SenderKind
    key: str
    fingerprint: str
    verified: bool
    created: float
    blocked: float | None = None

    @property
    def sender(self) -> Sender:
        """What stands beside a capture of theirs; nothing of it comes from the capture (S3)."""
        return Sender(kind=self.kind, petname=self.petname, fingerprint=self.fingerprint)


def insert(conn: Connection, row: ContactRow, *, who: Approver) -> ContactRow:
    """Add a contact."""
    columns = {
        name: getattr(row, name) for name in ("petname", "skeleton", "key", "fingerprint", "verified", "blocked", "created")
    }
    conn.execute(contacts.insert().values(**columns, kind=row.kind.value))
    facts: dict[str, Json] = {"kind": row.kind.value, "verified": row.verified}
    _record(conn, "add", row, facts, who=who, now=row.created)
    return row


def get(conn: Connection, petname: str) -> ContactRow:
    """A contact by petname.

    Raises:
        NotFoundError: There is none.
    """
    found = _one(conn, contacts.c.petname == petname)
    if found is None:
        raise NotFoundError(f"cannot find contact {petname!r}: there is none", resolution="runner contact list shows them")
    return found


def of_key(conn: Connection, fingerprint: str) -> ContactRow | None:
    """The contact whose key has this fingerprint."""
    return _one(conn, contacts.c.fingerprint == fingerprint)


def all(conn: Connection) -> tuple[ContactRow, ...]:
    """Every contact, by petname."""
    return tuple(codec.read(_row, found) for found in conn.execute(select(contacts).order_by(contacts.c.petname)).mappings())


def rename(conn: Connection, row: ContactRow, petname: str, *, skeleton: str, who: Approver, now: float) -> ContactRow:  # noqa: PLR0913
    """Give a contact another petname; what is stored of it keeps the one it came under."""
    _set(conn, row, petname=petname, skeleton=skeleton)
    renamed = get(conn, petname)
    _record(conn, "rename", renamed, {"before": row.petname}, who=who, now=now)
    return renamed


def block(conn: Connection, row: ContactRow, *, blocked: bool, who: Approver, now: float) -> ContactRow:
    """Take nothing more from a contact, or take from it again."""
    _set(conn, row, blocked=now if blocked else None)
    _record(conn, "block" if blocked else "unblock", row, {}, who=who, now=now)
    return get(conn, row.petname)


def verify(conn: Connection, row: ContactRow, *, verified: bool, who: Approver, now: float) -> ContactRow:
    """Say whether the owner has seen that the key is theirs."""
    _set(conn, row, verified=verified)
    _record(conn, "verify" if verified else "unverify", row, {}, who=who, now=now)
    return get(conn, row.petname)


def remove(conn: Connection, row: ContactRow, *, who: Approver, now: float) -> None:
    """Forget a contact's key and name; captures, runs and the record keep what they say of it."""
    conn.execute(delete(contacts).where(contacts.c.petname == row.petname))
    _record(conn, "remove", row, {}, who=who, now=now)


def _set(conn: Connection, row: ContactRow, **columns: object) -> None:
    conn.execute(update(contacts).where(contacts.c.petname == row.petname).values(**columns))


def _record(conn: Connection, what: str, row: ContactRow, facts: dict[str, Json], *, who: Approver, now: float) -> None:  # noqa: PLR0913, PLR0917
    said: dict[str, Json] = {"fingerprint": row.fingerprint}
    audit.append(conn, time=now, event=f"contact.{what}", subject=row.petname, data=said | facts | codec.by(who))


def _one(conn: Connection, where: ColumnElement[bool]) -> ContactRow | None:
    found = conn.execute(select(contacts).where(where)).mappings().one_or_none()
    return None if found is None else codec.read(_row, found)


def _row(found: RowMapping) -> ContactRow:
    return ContactRow(**{**found, "kind": SenderKind(found["kind"]), "verified": bool(found["verified"])})
