"""What was decided before about calls like one that waits; read only."""

from __future__ import annotations

from sqlalchemy import Connection, select

from runner.lifecycle import ApprovalState
from runner.store import approvals, schema
from runner.store.rows import ApprovalRow

#: States a person's word leads to.
_DECIDED = (
    *(ApprovalState.APPROVED, ApprovalState.EXECUTING, ApprovalState.DONE, ApprovalState.FAILED, ApprovalState.UNKNOWN),
    ApprovalState.DENIED,
)
#: Newest calls looked at: as far as anybody's memory of what they are used to goes.
FAR = 100


def decided(conn: Connection, *, agent: str, tool: str, before: int, limit: int = FAR) -> tuple[ApprovalRow, ...]:
    """Calls of a tool of an agent that were decided, newest first.

    Args:
        conn: The transaction.
        agent: The agent.
        tool: The profile's name for the tool.
        before: Place in the record before which they were asked for.
        limit: How many at most.
    """
    table = schema.approvals.c
    query = (
        select(schema.approvals)
        .where(table.agent == agent, table.tool == tool, table.opened < before)
        .where(table.state.in_(sorted(state.value for state in _DECIDED)))
        .order_by(table.opened.desc())
        .limit(limit)
    )
    return approvals.read(conn.execute(query).mappings())
