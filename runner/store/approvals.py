"""Approval rows: they move only along `lifecycle.APPROVAL`, by compare-and-set; the intent record moves with them.

Who may decide what, and when, is the approvals room's business; this module only keeps the rows true.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import TypedDict, Unpack

from sqlalchemy import Connection, RowMapping, func, select, update

from runner.digest import digest_bytes
from runner.errors import NotFoundError
from runner.lifecycle import APPROVAL, APPROVAL_ENDS, ApprovalEvent, ApprovalState, sources
from runner.model import ApprovalId, CallId, Digest, Json, RunId, Sender
from runner.store import audit, codec, ids, schema
from runner.store import edit as edits
from runner.store.edit import Edit
from runner.store.rows import ApprovalRow, Approver
from runner.store.triggers import EFFECT

_PLAIN = (
    *(
        "id",
        "call",
        "run",
        "segment",
        "attempt",
        "turn",
        "agent",
        "tool",
        "profile_digest",
        "definition_digest",
        "why",
        "reason",
    ),
    *(
        "call_digest",
        "approval_digest",
        "nonce",
        "raw",
        "post_image",
        "created",
        "expires",
        "preview",
        "decided_at",
        "decision_reason",
    ),
    *("effect", "outcome", "outcome_error", "delivered_at", "opened", "version", "required"),
)


class ApprovalChange(TypedDict, total=False):
    """Fields a change may set."""

    decided_by: Approver | None
    decided_at: float | None
    decision_reason: str | None
    outcome: str | None
    outcome_error: bool
    left: Digest | None  #: for the audit alone: what an effect says it left at its target (A4)


def insert(conn: Connection, row: ApprovalRow) -> ApprovalRow:
    """Store a new, pending approval at the queue's end."""
    facts: dict[str, Json] = {"run": row.run, "call": row.call, "tool": row.tool, "digest": row.approval_digest}
    facts |= codec.planned(row) | {"call_digest": row.call_digest, "why": row.why, "expires": row.expires}
    link = audit.append(conn, time=row.created, event="approval.request", subject=row.id, data=facts)
    queued = replace(row, opened=link.seq)
    conn.execute(schema.approvals.insert().values(**_columns(queued)))
    return queued


def get(conn: Connection, approval: ApprovalId) -> ApprovalRow:
    """An approval by its whole id.

    Raises:
        NotFoundError: No such approval.
    """
    found = conn.execute(select(schema.approvals).where(schema.approvals.c.id == approval)).mappings().one_or_none()
    if found is None:
        raise NotFoundError(f"cannot find approval {approval}: there is none")
    return codec.read(_row, found)


def find(conn: Connection, text: str) -> ApprovalRow:
    """An approval by id or unique beginning.

    Raises:
        NotFoundError: None or several.
    """
    return get(conn, ApprovalId(ids.whole(conn, schema.approvals.c.id, text, kind="a", noun="approval")))


def list(  # noqa: PLR0913 -- conditions of one query
    conn: Connection,
    *,
    run: RunId | None = None,
    turn: int | None = None,
    states: Collection[ApprovalState] | None = None,
    due: float | None = None,
    after: float | None = None,
    limit: int | None = None,
) -> tuple[ApprovalRow, ...]:
    """Approvals in the order they were asked for; None means any. `due`: only those whose deadline is not after it.

    `after`: only those that were asked for after it.
    """
    table = schema.approvals.c
    query = select(schema.approvals).order_by(table.opened).limit(limit)
    if run is not None:
        query = query.where(table.run == run)
    if turn is not None:
        query = query.where(table.turn == turn)
    if states is not None:
        query = query.where(table.state.in_(sorted(state.value for state in states)))
    if due is not None:
        query = query.where(table.expires <= due)
    if after is not None:
        query = query.where(table.created > after)
    return read(conn.execute(query).mappings())


def read(found: Iterable[RowMapping]) -> tuple[ApprovalRow, ...]:
    """What a query of whole rows found."""
    return tuple(codec.read(_row, one) for one in found)


def pending(conn: Connection, run: RunId) -> int:
    """How many calls of a run wait for a person (L8)."""
    return count(conn, run=run, states={ApprovalState.PENDING})


def count(  # noqa: PLR0913 -- conditions of one query
    conn: Connection,
    *,
    run: RunId | None = None,
    agent: str | None = None,
    sender: Sender | None = None,
    states: Collection[ApprovalState],
    since: float | None = None,
) -> int:
    """How many approvals are in one of the states, of one run, agent or sender or of all; `since`: asked for after it."""
    query = select(func.count()).where(schema.approvals.c.state.in_(sorted(state.value for state in states)))
    if run is not None:
        query = query.where(schema.approvals.c.run == run)
    if agent is not None:
        query = query.where(schema.approvals.c.agent == agent)
    if sender is not None:
        query = query.where(*(schema.approvals.c[name] == value for name, value in codec.sender_columns(sender).items()))
    if since is not None:
        query = query.where(schema.approvals.c.created > since)
    return conn.execute(query).scalar_one()


def move(
    conn: Connection,
    approval: ApprovalId,
    event: ApprovalEvent,
    *,
    now: float,
    by: Approver | None = None,
    **fields: Unpack[ApprovalChange],
) -> ApprovalRow | None:
    """Let `event` happen to an approval, from whichever state the table allows.

    Args:
        conn: The transaction.
        approval: Whole id.
        event: What happened.
        now: Epoch seconds.
        by: Who did it, where that is not whom `decided_by` names.
        **fields: What else changes with it.

    Returns:
        The approval as it is now, or None when the event did not apply: then nothing has changed.

    Raises:
        NotFoundError: No such approval.
    """
    before = get(conn, approval)
    after = sources(APPROVAL, event).get(before.state)
    if after is None:
        return None
    columns = {"state": after.value, "effect": EFFECT.get(after), "version": before.version + 1, **_changes(fields)}
    table = schema.approvals.c
    where = (table.id == approval, table.state == before.state.value, table.version == before.version)
    if conn.execute(update(schema.approvals).where(*where).values(**columns)).rowcount != 1:
        return None
    row = get(conn, approval)
    facts = _facts(before, row) | codec.left(fields.get("left")) | codec.by(by)
    audit.append(conn, time=now, event=f"approval.{event.value}", subject=approval, data=facts)
    return row


def extend(conn: Connection, before: ApprovalRow, *, expires: float, by: Approver, now: float) -> ApprovalRow | None:
    """Move a pending approval's deadline (L4); None when it has changed since it was read."""
    table = schema.approvals.c
    where = (table.id == before.id, table.state == ApprovalState.PENDING.value, table.version == before.version)
    values = {"expires": expires, "version": before.version + 1}
    if conn.execute(update(schema.approvals).where(*where).values(**values)).rowcount != 1:
        return None
    facts: dict[str, Json] = {"expires": expires, "before": before.expires}
    audit.append(conn, time=now, event="approval.extend", subject=before.id, data=facts | codec.by(by))
    return get(conn, before.id)


def edit(conn: Connection, before: ApprovalRow, made: Edit, *, now: float) -> ApprovalRow | None:
    """Put in place of a pending call's input what an approver made of it (D2); None when it has changed since it was read."""
    table = schema.approvals.c
    where = (table.id == before.id, table.state == ApprovalState.PENDING.value, table.version == before.version)
    values = {"edit": edits.dump(made), "version": before.version + 1}
    if conn.execute(update(schema.approvals).where(*where).values(**values)).rowcount != 1:
        return None
    facts: dict[str, Json] = {"digest": made.approval_digest, "call_digest": made.call_digest}
    facts |= codec.planned(made) | {"before": before.effective.approval_digest, "proposed": before.approval_digest}
    audit.append(conn, time=now, event="approval.edit", subject=before.id, data=facts | codec.by(made.by))
    return get(conn, before.id)


def deliver(conn: Connection, approval: ApprovalId, *, now: float) -> ApprovalRow | None:
    """Mark an outcome as told, once; None when there is none yet or it was told before.

    Raises:
        NotFoundError: No such approval.
    """
    before = get(conn, approval)
    table = schema.approvals.c
    where = (
        table.id == approval,
        table.delivered_at.is_(None),
        table.state.in_(sorted(state.value for state in APPROVAL_ENDS)),
    )
    values = {"delivered_at": now, "version": before.version + 1}
    if conn.execute(update(schema.approvals).where(*where).values(**values)).rowcount != 1:
        return None
    audit.append(conn, time=now, event="approval.deliver", subject=approval, data={"state": before.state.value})
    return get(conn, approval)


def _facts(before: ApprovalRow, after: ApprovalRow) -> dict[str, Json]:
    facts: dict[str, Json] = {"from": before.state.value, "to": after.state.value, "digest": after.effective.approval_digest}
    if after.decided_by != before.decided_by and after.decided_by is not None:
        facts |= codec.by(after.decided_by)
    if after.decision_reason != before.decision_reason:
        facts["reason"] = after.decision_reason
    if after.outcome != before.outcome and after.outcome is not None:
        facts["outcome"] = digest_bytes(after.outcome.encode())
    return facts


def _changes(fields: ApprovalChange) -> dict[str, object]:
    columns: dict[str, object] = {name: value for name, value in fields.items() if name not in {"decided_by", "left"}}
    if "decided_by" in fields:
        columns["decided_by"] = _dump_approver(fields["decided_by"])
    return columns


def _columns(row: ApprovalRow) -> dict[str, object]:
    columns: dict[str, object] = {name: getattr(row, name) for name in _PLAIN}
    return (
        columns
        | codec.sender_columns(row.sender)
        | {
            "paths": codec.dump_paths(row.paths),
            "pre_images": codec.dump(dict(row.pre_images)),
            "warnings": codec.dump([*row.warnings]),
            "recorded": codec.dump(dict(row.recorded)),
            "state": row.state.value,
            "decided_by": _dump_approver(row.decided_by),
            "edit": None if row.edit is None else edits.dump(row.edit),
        }
    )


def _dump_approver(approver: Approver | None) -> str | None:
    return None if approver is None else codec.dump(asdict(approver))


def _row(found: RowMapping) -> ApprovalRow:
    values = {name: found[name] for name in _PLAIN}
    values |= {
        "id": ApprovalId(found["id"]),
        "call": CallId(found["call"]),
        "run": RunId(found["run"]),
        "call_digest": Digest(found["call_digest"]),
        "sender": codec.load_sender(found),
        "paths": codec.load_paths(found["paths"]),
        "pre_images": MappingProxyType(json.loads(found["pre_images"])),
        "warnings": tuple(json.loads(found["warnings"])),
        "recorded": MappingProxyType(json.loads(found["recorded"])),
        "state": ApprovalState(found["state"]),
        "decided_by": None if found["decided_by"] is None else Approver(**json.loads(found["decided_by"])),
        "edit": None if found["edit"] is None else edits.load(found["edit"]),
    }
    return ApprovalRow(**values)
