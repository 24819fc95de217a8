"""Grants: yeses given beforehand, narrow, bounded in time and uses, revocable at once (D3).

A grant never changes but in how often it was used and that it ended. Its use is taken in the transaction that opens the call's
approval, and looked at again in the one that begins its effect.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, RowMapping, func, select, update

from runner.errors import NotFoundError
from runner.model import Digest, GrantId, Json
from runner.policy import Grant
from runner.store import audit, codec, ids
from runner.store.rows import ApprovalRow, Approver
from runner.store.schema_grants import grants

#: The channel of a yes that a grant said; its name is the grant's id.
CHANNEL = "grant"

_T = grants.c


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRow:
    """A grant with what bounds it. `ended`: when it was revoked, or found past its time; `revoked_by`: who took it back."""

    agent: str
    grant: Grant
    created: float
    expires: float
    uses: int
    granted_by: Approver
    used: int = 0
    ended: float | None = None
    revoked_by: Approver | None = None

    @property
    def id(self) -> GrantId:
        """Its id."""
        return self.grant.id

    def state(self, now: float) -> str:
        """`live`, `revoked`, `expired` or `used up`."""
        if self.revoked_by is not None:
            return "revoked"
        if self.ended is not None or now >= self.expires:
            return "expired"
        return "used up" if self.used >= self.uses else "live"


def insert(conn: Connection, row: GrantRow) -> GrantRow:
    """Store a grant, and put an end to what of the agent's is past its time."""
    past = (_T.agent == row.agent, _T.ended.is_(None), _T.expires <= row.created)
    conn.execute(update(grants).where(*past).values(ended=row.created))
    conn.execute(grants.insert().values(**_columns(row)))
    facts: dict[str, Json] = {"agent": row.agent, "tool": row.grant.tool, "uses": row.uses, "expires": row.expires}
    facts |= {"path": _path(row.grant), "match": dict(row.grant.matches), "profile_digest": row.grant.profile_digest}
    audit.append(conn, time=row.created, event="grant.give", subject=row.id, data=facts | codec.by(row.granted_by))
    return row


def get(conn: Connection, grant: GrantId) -> GrantRow:
    """A grant by its whole id.

    Raises:
        NotFoundError: No such grant.
    """
    found = conn.execute(select(grants).where(_T.id == grant)).mappings().one_or_none()
    if found is None:
        raise NotFoundError(f"cannot find grant {grant}: there is none")
    return codec.read(_row, found)


def find(conn: Connection, text: str) -> GrantRow:
    """A grant by id or unique beginning.

    Raises:
        NotFoundError: None or several.
    """
    return get(conn, GrantId(ids.whole(conn, _T.id, text, kind="g", noun="grant")))


def list(conn: Connection, *, agent: str | None = None, limit: int = 1000) -> tuple[GrantRow, ...]:
    """Grants, newest first; of one agent or all."""
    query = select(grants).order_by(_T.created.desc(), _T.id).limit(limit)
    if agent is not None:
        query = query.where(_T.agent == agent)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def of_agent(conn: Connection, agent: str) -> tuple[GrantRow, ...]:
    """The agent's grants that nobody took back and that were not found past their time, used up or not."""
    query = select(grants).where(_T.agent == agent, _T.ended.is_(None)).order_by(_T.created, _T.id)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def live(conn: Connection, agent: str, *, now: float) -> int:
    """How many of the agent's grants live."""
    query = select(func.count()).select_from(grants).where(_T.agent == agent, *_alive(now), _T.used < _T.uses)
    return conn.execute(query).scalar_one()


def take(conn: Connection, grant: GrantId, *, run: str, now: float) -> GrantRow | None:
    """Take one use for a call that is being opened; None when the grant does not live any more, and nothing has changed."""
    where = (_T.id == grant, *_alive(now), _T.used < _T.uses)
    if conn.execute(update(grants).where(*where).values(used=_T.used + 1)).rowcount != 1:
        return None
    row = get(conn, grant)
    facts: dict[str, Json] = {"run": run, "tool": row.grant.tool, "used": row.used, "uses": row.uses}
    audit.append(conn, time=now, event="grant.use", subject=grant, data=facts)
    return row


def revoke(conn: Connection, grant: GrantId, *, who: Approver, now: float) -> GrantRow | None:
    """Put an end to a grant at once; None when it had ended."""
    values = {"ended": now, "revoked_by": codec.dump(asdict(who))}
    if conn.execute(update(grants).where(_T.id == grant, _T.ended.is_(None)).values(**values)).rowcount != 1:
        return None
    audit.append(conn, time=now, event="grant.revoke", subject=grant, data=codec.by(who))
    return get(conn, grant)


def yes(row: GrantRow) -> Approver:
    """Who says yes to a call that a grant covers: whoever gave it, by it."""
    return Approver(uid=row.granted_by.uid, channel=CHANNEL, name=row.id)


def grant_of(row: ApprovalRow) -> GrantId | None:
    """The grant that said yes to an approval."""
    by = row.decided_by
    return GrantId(by.name) if by is not None and by.channel == CHANNEL and by.name is not None else None


def withdrawn(conn: Connection, row: ApprovalRow, *, now: float) -> bool:
    """Whether the grant that said yes to an approval was revoked or has run out since; how often it was used is no matter."""
    grant = grant_of(row)
    if grant is None:
        return False
    return conn.execute(select(_T.id).where(_T.id == grant, *_alive(now))).one_or_none() is None


def _alive(now: float) -> tuple[codec.Condition, ...]:
    return (_T.ended.is_(None), _T.expires > now)


def _path(grant: Grant) -> str | None:
    return None if grant.prefix is None else "/".join(grant.prefix)


def _columns(row: GrantRow) -> dict[str, object]:
    return {
        "id": row.id,
        "agent": row.agent,
        "tool": row.grant.tool,
        "profile_digest": row.grant.profile_digest,
        "prefix": _path(row.grant),
        "matches": codec.dump([[key, glob] for key, glob in row.grant.matches]),
        "created": row.created,
        "expires": row.expires,
        "uses": row.uses,
        "used": row.used,
        "granted_by": codec.dump(asdict(row.granted_by)),
        "ended": row.ended,
        "revoked_by": None if row.revoked_by is None else codec.dump(asdict(row.revoked_by)),
    }


def _row(found: RowMapping) -> GrantRow:
    prefix = found["prefix"]
    return GrantRow(
        agent=found["agent"],
        grant=Grant(
            id=GrantId(found["id"]),
            tool=found["tool"],
            profile_digest=Digest(found["profile_digest"]),
            prefix=None if prefix is None else tuple(prefix.split("/")),
            matches=tuple((key, glob) for key, glob in json.loads(found["matches"])),
        ),
        created=found["created"],
        expires=found["expires"],
        uses=found["uses"],
        used=found["used"],
        granted_by=Approver(**json.loads(found["granted_by"])),
        ended=found["ended"],
        revoked_by=None if found["revoked_by"] is None else Approver(**json.loads(found["revoked_by"])),
    )
