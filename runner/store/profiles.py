"""Published profiles by digest, the current one of each agent, and the uid reserved for it."""

from __future__ import annotations

from sqlalchemy import Connection, RowMapping, Select, func, select, update

from runner.errors import NotFoundError, StoreError
from runner.model import Digest, Json
from runner.store import audit, codec, schema
from runner.store.rows import Approver, ProfileRow

#: Uids below are people's and the system's; from here on each agent has its own (design.md §8).
FIRST_UID = 10001


def put(  # noqa: PLR0913 -- one publication, whole
    conn: Connection, profile_json: str, *, digest: Digest, name: str, now: float, who: Approver | None = None
) -> ProfileRow:
    """Publish a profile and make it its agent's current one; publishing the current one again changes nothing.

    Args:
        conn: The transaction.
        profile_json: The whole profile.
        digest: Over that text's meaning.
        name: The agent.
        now: Epoch seconds.
        who: Who publishes it; None: it came with the package.

    Raises:
        StoreError: The digest is taken by another text.
    """
    known = conn.execute(select(schema.profiles).where(schema.profiles.c.digest == digest)).mappings().one_or_none()
    if known is None:
        columns = {"digest": digest, "name": name, "text": profile_json, "created": now}
        conn.execute(schema.profiles.insert().values(**columns, author_uid=None if who is None else who.uid))
    elif (known["name"], known["text"]) != (name, profile_json):
        raise StoreError(f"cannot publish {name}: another profile has the digest {digest}")
    agent = conn.execute(select(schema.agents).where(schema.agents.c.name == name)).mappings().one_or_none()
    if agent is None:
        top = conn.execute(select(func.max(schema.agents.c.uid))).scalar_one()
        uid = FIRST_UID if top is None else top + 1
        conn.execute(schema.agents.insert().values(name=name, uid=uid, profile_digest=digest))
    elif agent["profile_digest"] != digest or agent["retired"] is not None:
        conn.execute(update(schema.agents).where(schema.agents.c.name == name).values(profile_digest=digest, retired=None))
    else:
        return get(conn, digest)
    facts: dict[str, Json] = {"digest": digest, "before": None if agent is None else agent["profile_digest"]}
    audit.append(conn, time=now, event="profile.publish", subject=name, data=facts | codec.by(who))
    return get(conn, digest)


def retire(conn: Connection, name: str, *, who: Approver, now: float) -> ProfileRow:
    """Take an agent out of service: no new run gets its profile; runs that have it keep it.

    Raises:
        NotFoundError: Nothing is published under this name.
    """
    row = current(conn, name)
    conn.execute(update(schema.agents).where(schema.agents.c.name == name).values(retired=now))
    audit.append(conn, time=now, event="profile.retire", subject=name, data={"digest": row.digest} | codec.by(who))
    return get(conn, row.digest)


def current(conn: Connection, name: str) -> ProfileRow:
    """The profile new runs of an agent get.

    Raises:
        NotFoundError: Nothing was published under this name, or the agent was retired.
    """
    row = published(conn, name)
    if row.retired is not None:
        raise NotFoundError(
            f"cannot find agent {name!r}: it was retired", resolution="runner profile publish FILE brings it back"
        )
    return row


def published(conn: Connection, name: str) -> ProfileRow:
    """The newest profile of an agent, in service or not.

    Raises:
        NotFoundError: Nothing was ever published under this name.
    """
    found = conn.execute(_query().where(schema.agents.c.name == name, _is_current())).mappings().one_or_none()
    if found is None:
        raise NotFoundError(
            f"cannot find agent {name!r}: no profile is published under this name", resolution="runner profile list"
        )
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
    """The current profile of every agent in service, by name."""
    query = _query().where(_is_current(), schema.agents.c.retired.is_(None)).order_by(schema.agents.c.name)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def _is_current() -> codec.Condition:
    return schema.agents.c.profile_digest == schema.profiles.c.digest


def _query() -> Select[tuple[object, ...]]:
    joined = schema.profiles.join(schema.agents, schema.agents.c.name == schema.profiles.c.name)
    return select(schema.profiles, schema.agents.c.uid, schema.agents.c.retired, _is_current().label("current")).select_from(
        joined
    )


def _row(found: RowMapping) -> ProfileRow:
    return ProfileRow(
        digest=Digest(found["digest"]),
        name=found["name"],
        text=found["text"],
        created=found["created"],
        current=bool(found["current"]),
        uid=found["uid"],
        author=found["author_uid"],
        retired=found["retired"],
    )
