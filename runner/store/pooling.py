"""Which agents are in use: whose next run is worth having a container ready for."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from runner.store import schema


def used(conn: Connection, *, since: float) -> tuple[str, ...]:
    """Agents in service that were sent something since then, the last one first."""
    last = func.max(schema.runs.c.created)
    query = (
        select(schema.runs.c.agent)
        .join(schema.agents, schema.agents.c.name == schema.runs.c.agent)
        .where(schema.agents.c.retired.is_(None))
        .group_by(schema.runs.c.agent)
        .having(last >= since)
        .order_by(last.desc())
    )
    return tuple(conn.execute(query).scalars())
