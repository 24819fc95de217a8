"""Several decisions in one transaction: all of them or none (D4)."""

from __future__ import annotations

from collections.abc import Sequence

from runner.approvals.decide import approve, deny, undecided
from runner.errors import NotAllowedError
from runner.model import ApprovalId, Digest, SenderKind, ToolClass
from runner.policy.catalogue import TOOLS, unknown_tool
from runner.store import ApprovalRow, Approver, Connection, taints

#: Classes of which each call is decided alone.
_ALONE = frozenset({ToolClass.EXECUTE, ToolClass.EXTERNAL_SEND, ToolClass.DELETE, ToolClass.UNKNOWN})


def approve_all(
    conn: Connection, calls: Sequence[tuple[ApprovalId, Digest]], *, who: Approver, reason: str | None, now: float
) -> tuple[ApprovalRow, ...]:
    """Say yes to all of these, or to none.

    Args:
        conn: The transaction; an error undoes all of it.
        calls: Whole ids, each with the digest of what was shown.
        who: Who decides.
        reason: Their words, if any.
        now: Epoch seconds.

    Raises:
        ApprovalError: One of them cannot be approved, or not with its digest.
        NotAllowedError: One of them is decided alone.
        PausedError: The supervisor is paused.
    """
    for id, _ in calls:
        _refuse_alone(conn, undecided(conn, id, verb="approve", now=now))
    return tuple(approve(conn, id, digest=digest, who=who, reason=reason, now=now) for id, digest in calls)


def deny_all(
    conn: Connection, calls: Sequence[ApprovalId], *, who: Approver, reason: str | None, now: float
) -> tuple[ApprovalRow, ...]:
    """Say no to all of these, or to none. A no releases nothing, so every call may be among them.

    Raises:
        ApprovalError: One of them does not wait any more.
    """
    return tuple(deny(conn, id, who=who, reason=reason, now=now) for id in calls)


def _refuse_alone(conn: Connection, row: ApprovalRow) -> None:
    tool = TOOLS.get(row.tool) or unknown_tool(row.tool)
    why = None
    if row.required > 1:
        why = f"it needs {row.required} approvers"
    elif row.sender.kind is not SenderKind.OWNER:
        why = "its run is a contact's"
    elif tool.egress or tool.tool_class in _ALONE:
        why = f"{row.tool} executes, sends or cannot be taken back"
    elif tainted := taints.of_run(conn, row.run):
        why = f"untrusted content is in its run: {tainted[0].says}"
    if why is not None:
        raise NotAllowedError(
            f"cannot approve {row.id} together with others: {why}", resolution=f"decide it alone: runner approve {row.id}"
        )
