"""Verdicts that the owner saved, per agent and tool (R72-R74, R125). They die with what they belonged to.

A run keeps the profile it was queued with, so what makes a tool stricter outlives the tool in the current profile: it binds
the runs that still have it, and is gone once the tool is published anew (R137). What makes a tool looser is gone at once.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict

from sqlalchemy import Connection, RowMapping, delete, select

from runner.model import Json
from runner.store import audit, codec, schema
from runner.store.rows import Approver, VerdictRow

#: The one verdict that makes a tool looser.
ALLOW = "allow"


def of_agent(conn: Connection, agent: str) -> tuple[VerdictRow, ...]:
    """Everything saved for an agent, by tool."""
    query = select(schema.verdicts).where(schema.verdicts.c.agent == agent).order_by(schema.verdicts.c.tool)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def put(conn: Connection, row: VerdictRow) -> VerdictRow:
    """Save a verdict in place of the one before; who and when go into the audit."""
    before = _forget(conn, row.agent, {row.tool})
    columns = {"agent": row.agent, "tool": row.tool, "verdict": row.verdict, "set_at": row.set_at}
    conn.execute(schema.verdicts.insert().values(**columns, set_by=codec.dump(asdict(row.set_by))))
    facts: dict[str, Json] = {"tool": row.tool, "verdict": row.verdict, "before": before.get(row.tool)}
    audit.append(conn, time=row.set_at, event="verdict.set", subject=row.agent, data=facts | codec.by(row.set_by))
    return row


def reset(conn: Connection, agent: str, *, tool: str | None, who: Approver, now: float) -> tuple[str, ...]:
    """Forget what was saved for one tool, or for all; the tools for which something was (R138)."""
    wanted = {row.tool for row in of_agent(conn, agent) if tool in (None, row.tool)}
    return _end(conn, agent, wanted, why="reset", by=who, now=now)


def follow(  # noqa: PLR0913 -- one change of an agent's tools, whole
    conn: Connection, agent: str, *, before: Collection[str], after: Collection[str], who: Approver | None, now: float
) -> tuple[str, ...]:
    """Let saved verdicts follow a change of the agent's published tools; the tools whose verdict is gone now."""
    left, came = set(before) - set(after), set(after) - set(before)
    saved = of_agent(conn, agent)
    ended = {row.tool for row in saved if row.tool in came or (row.tool in left and row.verdict == ALLOW)}
    return _end(conn, agent, ended, why="the tool was published anew or taken away", by=who, now=now)


def _end(  # noqa: PLR0913 -- what the audit wants to know
    conn: Connection, agent: str, tools: Collection[str], *, why: str, by: Approver | None, now: float
) -> tuple[str, ...]:
    gone = _forget(conn, agent, tools)
    for tool, verdict in sorted(gone.items()):
        facts: dict[str, Json] = {"tool": tool, "before": verdict, "why": why}
        audit.append(conn, time=now, event="verdict.reset", subject=agent, data=facts | codec.by(by))
    return tuple(sorted(gone))


def _forget(conn: Connection, agent: str, tools: Collection[str]) -> dict[str, str]:
    gone = {row.tool: row.verdict for row in of_agent(conn, agent) if row.tool in tools}
    table = schema.verdicts.c
    conn.execute(delete(schema.verdicts).where(table.agent == agent, table.tool.in_(sorted(gone))))
    return gone


def _row(found: RowMapping) -> VerdictRow:
    return VerdictRow(
        agent=found["agent"],
        tool=found["tool"],
        verdict=found["verdict"],
        set_by=Approver(**json.loads(found["set_by"])),
        set_at=found["set_at"],
    )
