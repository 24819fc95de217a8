"""Questions about rows, each answered on one consistent view of them; for the service.

A name that a client made up is refused here, before it reaches a query.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from runner import approvals
from runner.approvals.signing import fitting
from runner.digest import parse_strict
from runner.errors import UsageError
from runner.lifecycle import ApprovalState, RunState
from runner.model import Json, JsonObject
from runner.store import ApprovalRow, AuditRow, Connection, audit, calls, captures, pausing, runs, segments, taints, threads
from runner.store import approvals as rows
from runner.store.pausing import Pause
from runner.supervisor import concealed
from runner.supervisor.beside import beside
from runner.supervisor.conversations import thread_of
from runner.supervisor.doorkeeper import noticed
from runner.supervisor.progress import WAITING
from runner.supervisor.spending import usage_of
from runner.supervisor.views import RunFacts, approval_line, approval_view, capture_view, signatures_view

#: Audit rows of one answer; a client that is behind asks again.
MAX_EVENTS = 1000


def events(conn: Connection, after: int | None, limit: int) -> tuple[AuditRow, ...]:
    """What happened since a place in the audit; without one, the newest."""
    bounded = min(max(limit, 1), MAX_EVENTS)
    return audit.after(conn, max(audit.length(conn) - bounded, 0) if after is None else after, bounded)


def run_facts(conn: Connection, ref: str) -> RunFacts:
    """A run with what belongs to it."""
    row = runs.find(conn, ref)
    waiting = rows.list(conn, run=row.id, states=WAITING)
    history = audit.of_subject(conn, row.id)
    return RunFacts(
        row,
        segments.of_run(conn, row.id),
        calls.of_run(conn, row.id),
        waiting,
        taints.of_run(conn, row.id),
        usage_of(conn, row),
        concealed.of_run(conn, history, row.capture),
        thread_of(conn, threads.of_run(conn, row.id)),
        noticed(history),
    )


def whole_approval(conn: Connection, ref: str) -> JsonObject:
    """`show --json` of an approval."""
    return view_of(conn, approvals.find(conn, ref))


def view_of(conn: Connection, row: ApprovalRow) -> JsonObject:
    """The same of a row at hand: as it is stored, or as an edit would make it (D2)."""
    whole = approval_view(row, parse_strict(row.effective.raw), audit.of_subject(conn, row.id)) | beside(conn, row)
    whole["thread"] = thread_of(conn, threads.of_run(conn, row.run))
    whole["hidden"] = concealed.of_run(conn, audit.of_subject(conn, row.run), runs.get(conn, row.run).capture)
    return whole | signatures(conn, [row]).get(row.id, {})


def signatures(conn: Connection, found: Sequence[ApprovalRow]) -> Mapping[str, JsonObject]:
    """What a line or a view of those that need several approvers says of them (D5)."""
    given = fitting(conn, found)
    return {row.id: signatures_view(row, given[row.id]) for row in found if row.id in given}


def whole_capture(conn: Connection, ref: str) -> JsonObject:
    """`show --json` of a capture."""
    row = captures.find(conn, ref)
    content = json.loads(row.text)
    thread = thread_of(conn, threads.of_capture(conn, row.id))
    return capture_view(row, content, runs.of_capture(conn, row.id)) | {"thread": thread}


def listing(
    conn: Connection, run: str | None, states: set[ApprovalState], *, limit: int | None = None
) -> tuple[approvals.Listing, int]:
    """The queue, of one run or of all, up to a limit; and how long it is."""
    whole = None if run is None else runs.find(conn, run).id
    return approvals.listing(conn, run=whole, states=states, limit=limit), rows.count(conn, run=whole, states=states)


def listed(
    conn: Connection, run: str | None, states: set[ApprovalState], *, limit: int | None = None
) -> tuple[approvals.Listing, JsonObject]:
    """The same, with what a list of it says: `{"snapshot", "approvals", "total"}`."""
    found, total = listing(conn, run, states, limit=limit)
    signed = signatures(conn, found.rows)
    lines: list[Json] = [approval_line(row) | signed.get(row.id, {}) for row in found.rows]
    return found, {"snapshot": found.snapshot, "approvals": lines, "total": total}


def counts(conn: Connection) -> tuple[dict[str, int], int, Pause | None]:
    """How many runs are in each state, how many approvals wait, and the pause in force."""
    states = {state.value: count for state, count in runs.counts(conn).items()}
    return states, rows.count(conn, states={ApprovalState.PENDING}), pausing.current(conn)


def run_state(text: str) -> RunState:
    """The state of this name.

    Raises:
        UsageError: There is none.
    """
    try:
        return RunState(text)
    except ValueError:
        raise UsageError(
            f"cannot list runs in state {text!r}: there is none", resolution=", ".join(state.value for state in RunState)
        ) from None


def approval_state(text: str) -> ApprovalState:
    """The state of this name.

    Raises:
        UsageError: There is none.
    """
    try:
        return ApprovalState(text)
    except ValueError:
        raise UsageError(
            f"cannot list approvals in state {text!r}: there is none",
            resolution=", ".join(state.value for state in ApprovalState),
        ) from None
