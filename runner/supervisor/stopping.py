"""Ending a run because of an answer that one of its calls got, where its profile says so (`on_expiry`, `on_denial`; L2, D1).

In the transaction of that answer, so that no crash leaves a run that goes on with what was to end it.
"""

from __future__ import annotations

from runner import approvals
from runner.approvals import Approver
from runner.approvals.denied import EARLIER_NO
from runner.lifecycle import RUN_ENDS, ApprovalEvent, ApprovalState, RunEvent
from runner.model import ApprovalSettings
from runner.store import ApprovalRow, Connection, RunRow, profiles, runs, segments
from runner.store import approvals as rows
from runner.supervisor.parsing import parsed

CLOCK = Approver(uid=0, channel="clock", name="the clock")
_ANSWERED = frozenset({ApprovalState.EXPIRED, ApprovalState.DENIED})


def stop_where_told(conn: Connection, row: RunRow, *, now: float) -> RunRow | None:
    """End the run if its profile says so of an answer that is on record; None where it goes on."""
    answered = () if row.state in RUN_ENDS else rows.list(conn, run=row.id, states=_ANSWERED)
    if not answered:
        return None
    settings = parsed(profiles.get(conn, row.profile_digest)).approvals
    last = next((one for one in answered if _ends(one, settings)), None)
    if last is None:
        return None
    expired = last.state is ApprovalState.EXPIRED
    reason = (
        f"nobody decided about {last.tool} in time" if expired else f"{last.tool} was denied, which ends a run of this agent"
    )
    ended = runs.move(conn, row.id, RunEvent.CANCEL, now=now, reason=reason, by=CLOCK if expired else last.decided_by)
    if ended is not None:
        segments.end(conn, row.id, row.segment, row.attempt, reason=f"cancel: {reason}", now=now)
        approvals.end_for_run(conn, row.id, event=ApprovalEvent.CANCEL, reason="its run was ended: cancel", now=now)
    return ended


def _ends(row: ApprovalRow, settings: ApprovalSettings) -> bool:
    if row.state is ApprovalState.EXPIRED:
        return settings.on_expiry == "stop"
    return settings.on_denial == "stop" and row.decided_by != EARLIER_NO
