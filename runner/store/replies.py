"""Replies to whoever is not the owner: rows that move only along `lifecycle.REPLY`, by compare-and-set (R19, B4)."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, func, select, update

from runner.errors import NotFoundError
from runner.lifecycle import REPLY, RUN_ENDS, ApprovalState, ReplyEvent, ReplyState, sources
from runner.model import CaptureId, Digest, Json, ReplyId, RunId, Sender
from runner.store import audit, codec, ids, schema
from runner.store.rows import Approver
from runner.store.schema_replies import replies

_T = replies.c


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRow:
    """A run's last word and what binds a decision about it. `rule` and `reason` say why it waits or went out."""

    id: ReplyId
    run: RunId
    capture: CaptureId
    agent: str
    sender: Sender
    text: str
    digest: Digest
    call_digest: Digest | None
    profile_digest: Digest
    rule: str
    reason: str
    created: float
    expires: float
    warnings: tuple[str, ...] = ()
    state: ReplyState = ReplyState.HELD
    decided_by: Approver | None = None
    decided_at: float | None = None
    decision_reason: str | None = None
    version: int = 1


def insert(conn: Connection, row: ReplyRow) -> ReplyRow:
    """Store a held reply."""
    plain = ("id", "run", "capture", "agent", "text", "digest", "call_digest", "profile_digest", "rule", "reason", "created")
    columns: dict[str, object] = {name: getattr(row, name) for name in (*plain, "expires", "version")}
    columns |= {"warnings": codec.dump([*row.warnings]), "state": row.state.value, **codec.sender_columns(row.sender)}
    conn.execute(replies.insert().values(**columns))
    facts: dict[str, Json] = {"run": row.run, "agent": row.agent, "rule": row.rule, "digest": row.digest}
    said = facts | {"warnings": len(row.warnings), **codec.sender_columns(row.sender)}
    audit.append(conn, time=row.created, event="reply.hold", subject=row.id, data=said)
    return row


def find(conn: Connection, text: str) -> ReplyRow:
    """A reply by id or unique beginning.

    Raises:
        NotFoundError: None or several.
    """
    return get(conn, ids.whole(conn, _T.id, text, kind="p", noun="reply"))


def get(conn: Connection, reply: str) -> ReplyRow:
    """A reply by its whole id.

    Raises:
        NotFoundError: There is none.
    """
    found = conn.execute(select(replies).where(_T.id == reply)).mappings().one_or_none()
    if found is None:
        raise NotFoundError(f"cannot find reply {reply}: there is none", resolution="runner replies lists them")
    return codec.read(_row, found)


def of_run(conn: Connection, run: RunId) -> ReplyRow | None:
    """What a run answered."""
    found = conn.execute(select(replies).where(_T.run == run)).mappings().one_or_none()
    return None if found is None else codec.read(_row, found)


def list(conn: Connection, *, states: Collection[ReplyState] | None = None, limit: int | None = None) -> tuple[ReplyRow, ...]:
    """Replies, oldest first; None means any state."""
    query = select(replies).order_by(_T.created, _T.id).limit(limit)
    if states is not None:
        query = query.where(_T.state.in_(sorted(state.value for state in states)))
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


class Alive(NamedTuple):
    """What a text that leaves must not repeat (O2)."""

    nonces: tuple[str, ...]
    ids: tuple[str, ...]


def alive(conn: Connection) -> Alive:
    """The fences of runs that have not ended, and the ids by which something waits to be decided."""
    over = sorted(state.value for state in RUN_ENDS)
    nonces = conn.execute(select(schema.runs.c.nonce).where(schema.runs.c.state.not_in(over))).scalars()
    waiting = schema.approvals.c.state == ApprovalState.PENDING.value
    calls = conn.execute(select(schema.approvals.c.id).where(waiting)).scalars()
    held = conn.execute(select(_T.id).where(_T.state == ReplyState.HELD.value)).scalars()
    return Alive(tuple(nonce for nonce in nonces if nonce), (*calls, *held))


def due(conn: Connection, now: float) -> bool:
    """Whether one that waits is past its time."""
    query = select(func.count()).where(_T.state == ReplyState.HELD.value, _T.expires <= now)
    return conn.execute(query).scalar_one() > 0


def move(  # noqa: PLR0913 - one decision, whole
    conn: Connection, reply: str, event: ReplyEvent, *, now: float, by: Approver | None = None, reason: str | None = None
) -> ReplyRow | None:
    """Let `event` happen to a reply; None, and nothing changed, when its state does not allow it.

    Raises:
        NotFoundError: There is none.
    """
    before = get(conn, reply)
    after = sources(REPLY, event).get(before.state)
    if after is None:
        return None
    values: dict[str, object] = {"state": after.value, "version": before.version + 1}
    if event is not ReplyEvent.RELEASE:
        who = None if by is None else codec.dump(by.facts())
        values |= {"decided_by": who, "decided_at": now, "decision_reason": reason}
    where = (_T.id == reply, _T.state == before.state.value, _T.version == before.version)
    if conn.execute(update(replies).where(*where).values(**values)).rowcount != 1:
        return None
    facts: dict[str, Json] = {"from": before.state.value, "to": after.value, "run": before.run, "digest": before.digest}
    said = facts | {"reason": reason} | codec.sender_columns(before.sender) | codec.by(by)
    audit.append(conn, time=now, event=f"reply.{event.value}", subject=reply, data=said)
    return get(conn, reply)


def _row(found: RowMapping) -> ReplyRow:
    plain = ("id", "run", "capture", "agent", "text", "digest", "call_digest", "profile_digest", "rule", "reason", "created")
    kept = {name: found[name] for name in (*plain, "expires", "decided_at", "decision_reason", "version")}
    by = found["decided_by"]
    return ReplyRow(
        **kept,
        sender=codec.load_sender(found),
        warnings=tuple(json.loads(found["warnings"])),
        state=ReplyState(found["state"]),
        decided_by=None if by is None else Approver(**json.loads(by)),
    )
