"""What tainted a run: rows that only grow, since no call takes out again what has been read (P4)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, RowMapping, select

from runner.model import Json, RunId, Sender, SenderKind
from runner.policy.taint import Taint, TaintKind
from runner.store import audit, codec
from runner.store.schema_taint import taints

#: Sources of one run that are named; it is tainted by then, and more names say no more.
MAX_NAMED = 100


def add(conn: Connection, run: RunId, found: Sequence[Taint], *, now: float) -> tuple[Taint, ...]:
    """Note what came into a run; what is on record already is left out.

    Returns:
        All of the run's sources, these included.
    """
    known = [*of_run(conn, run)]
    for taint in found:
        if taint in known or len(known) >= MAX_NAMED:
            continue
        known.append(taint)
        values = {"kind": taint.kind.value, "source": taint.source, "of_run": taint.run, **_sender_columns(taint.sender)}
        conn.execute(taints.insert().values(run=run, n=len(known), at=now, **values))
        audit.append(conn, time=now, event="run.taint", subject=run, data=_facts(taint))
    return tuple(known)


def of_run(conn: Connection, run: RunId) -> tuple[Taint, ...]:
    """What tainted a run, in the order in which it came; empty for a run of the owner's own words alone."""
    query = select(taints).where(taints.c.run == run).order_by(taints.c.n)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def inherit(conn: Connection, run: RunId, before: RunId, *, now: float) -> tuple[Taint, ...]:
    """A run that continues a thread starts with the taint of the run before it (design.md §6)."""
    return add(conn, run, of_run(conn, before), now=now)


def dump(found: Sequence[Taint]) -> str:
    """Sources as JSON text, for an approval's record."""
    return codec.dump([_facts(taint) for taint in found])


def load(text: str) -> tuple[Taint, ...]:
    """The reverse of `dump`."""
    return tuple(
        Taint(
            kind=TaintKind(one["kind"]),
            source=one["source"],
            run=None if one["run"] is None else RunId(one["run"]),
            sender=None if one["sender"] is None else Sender(**{**one["sender"], "kind": SenderKind(one["sender"]["kind"])}),
        )
        for one in json.loads(text)
    )


def _facts(taint: Taint) -> dict[str, Json]:
    sender = None if taint.sender is None else {**asdict(taint.sender), "kind": taint.sender.kind.value}
    return {"kind": taint.kind.value, "source": taint.source, "sender": sender, "run": taint.run}


def _sender_columns(sender: Sender | None) -> dict[str, str | None]:
    if sender is None:
        return {"sender_kind": None, "sender_petname": None, "sender_fingerprint": None}
    return codec.sender_columns(sender)


def _row(found: RowMapping) -> Taint:
    return Taint(
        kind=TaintKind(found["kind"]),
        source=found["source"],
        sender=None if found["sender_kind"] is None else codec.load_sender(found),
        run=None if found["of_run"] is None else RunId(found["of_run"]),
    )
