"""What a person's no of earlier in the run says of a new call: the same again, or another way to the same target (B10)."""

from __future__ import annotations

from typing import NamedTuple

from runner.lifecycle import ApprovalState
from runner.store import ApprovalRow, Approver, Connection
from runner.store import approvals as rows

#: Stand as the reason why a call was not asked about again, or was asked about in spite of a standing yes.
DENIED_BEFORE = "denied_before"
ROUTED_AROUND = "routed_around"
#: Who denied it then.
EARLIER_NO = Approver(uid=0, channel="policy", name="the earlier no")


class Earlier(NamedTuple):
    """A no that speaks of the new call; `says` is told to the agent and shown to people."""

    rule: str
    says: str


def earlier_no(conn: Connection, row: ApprovalRow) -> Earlier | None:
    """The no that settles a call which is about to be queued; None where a person has to be asked."""
    denied = rows.list(conn, run=row.run, states={ApprovalState.DENIED})
    if any(one.call_digest == row.call_digest for one in denied):
        says = "they were asked about this very call before in this run, and are not asked again"
        return Earlier(DENIED_BEFORE, says)
    targets = _targets(row)
    around = next((one for one in denied if one.tool != row.tool and _is_a_persons(one) and _targets(one) & targets), None)
    if around is None:
        return None
    says = f"they said no to {around.tool} for the same target before in this run, and {row.tool} is another way to it"
    return Earlier(ROUTED_AROUND, says)


def _targets(row: ApprovalRow) -> frozenset[str]:
    return frozenset(str(path.resolved) for path in row.paths)


def _is_a_persons(row: ApprovalRow) -> bool:
    """A no that only follows from another must not spread to further tools by itself."""
    return row.decided_by != EARLIER_NO
