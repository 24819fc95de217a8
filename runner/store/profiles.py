"""Published profiles by digest, the current one of each agent, and the uid reserved for it."""

from __future__ import annotations

from sqlalchemy import Connection, RowMapping, Select, func, select, update

from runner.errors import NotFoundError, StoreError
from runner.model import Digest
from runner.store import audit, codec, schema
from runner.store.rows import ProfileRow

#: Uids below are people's and the system's; from here on each agent has its own (design.md §8).
FIRST_UID = 10001


def put(conn: Connection, profile_json: str, *, digest: Digest, name: str, now: float) -> ProfileRow:
    """Publish a profile and make it its agent's current one; publishing the current one again changes nothing.

    Raises:
        StoreError: The digest is taken by another text.
    """
    known = conn.execute(select(schema.profiles).where(schema.profiles.c.digest == digest)).mappings().one_or_none()
    if known is None:
        conn.execute(schema.profiles.insert().values(digest=digest, name=name, text=profile_json, created=now))
    elif (known["name"], known["text"]) != (name, profile_json):
        raise StoreError(f"cannot publish {name}: another profile has the digest {digest}")
    before = conn.execute(select(schema.agents.c.profile_digest).where(schema.agents.c.name == name)).scalar_one_or_none()
    if before is None:
        top = conn.execute(select(func.max(schema.agents.c.uid))).scalar_one()
        uid = FIRST_UID if top is None else top + 1
        conn.execute(schema.agents.insert().values(name=name, uid=uid, profile_digest=digest))
    elif before != digest:
        conn.execute(update(schema.agents).where(schema.agents.c.name == name).values(profile_digest=digest))
    if before != digest:
        audit.append(conn, time=now, event="profile.publish", subject=name, data={"digest": digest, "before": before})
    return get(conn, digest)


def current(conn: Connection, name: str) -> ProfileRow:
    """The profile new runs of an agent get.

    Raises:
        NotFoundError: Nothing was published under this name.
    """
    found = conn.execute(_query().where(schema.agents.c.name == name, _is_current())).mappings().one_or_none()
    if found is None:
        raise NotFoundError(f"cannot find agent {name!r}: no profile is published under this name")
    return codec.read(_row, found)


def get(conn: Connection, digest: Digest) -> ProfileRow:
    """A profile by digest, current or not.

    Raises:
        NotFoundError: No such profile.
    """
    found = conn.execute(_query().where(schema.profiles.c.digest == digest)).mappings().one_or_none()
    if found is None:
        raise NotFoundError(f"cannot find profile {digest}: it was never published")
    return codec.read(_row, found)


def all(conn: Connection) -> tuple[ProfileRow, ...]:
    """The current profile of every agent, by name."""
    query = _query().where(_is_current()).order_by(schema.agents.c.name)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def _is_current() -> codec.Condition:
    return schema.agents.c.profile_digest == schema.profiles.c.digest


def _query() -> Select[tuple[object, ...]]:
    joined = schema.profiles.join(schema.agents, schema.agents.c.name == schema.profiles.c.name)
    return select(schema.profiles, schema.agents.c.uid, _is_current().label("current")).select_from(joined)


def _row(found: RowMapping) -> ProfileRow:
    return ProfileRow(
        digest=Digest(found["digest"]),
        name=found["name"],
        text=found["text"],
        created=found["created"],
        current=bool(found["current"]),
        uid=found["uid"],
    )
