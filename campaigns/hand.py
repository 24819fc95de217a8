"""Takes an arrow of a state table that no way leads to in a scene, in a process that dies around its transaction.

Usage: python -m campaigns.hand DATABASE FAILPOINT RUN
"""

from __future__ import annotations

import sys
import time

from runner.approvals.decide import end, end_for_run
from runner.approvals.effects import finish_effect
from runner.lifecycle import APPROVAL, ApprovalEvent, RunEvent, sources
from runner.model import RunId
from runner.store import Connection, Store, runs
from runner.store import approvals as rows
from runner.supervisor.failpoint import failpoint


def take(conn: Connection, run: RunId, what: str) -> None:
    """Let an event happen to a run, with what it means for its calls, or to the first of its calls that it can happen to."""
    kind, name = what.split(".")
    now = time.time()
    if kind == "run":
        if runs.move(conn, run, RunEvent(name), now=now, reason="taken by hand") is None:
            raise SystemExit(f"{what} cannot happen to {runs.get(conn, run).state}")
        for row in rows.list(conn, run=run):
            end(conn, row.id, ApprovalEvent.CANCEL, reason="its run was ended", now=now)
        return
    event = ApprovalEvent(name)
    if event is ApprovalEvent.SUPERSEDE:  # always of all that a run waits for
        end_for_run(conn, run, event=event, reason="taken by hand", now=now)
        return
    (row, *_) = rows.list(conn, run=run, states=sources(APPROVAL, event).keys())
    if event is ApprovalEvent.FAIL:
        finish_effect(conn, row.id, event=event, outcome="taken by hand", now=now)
    else:
        end(conn, row.id, event, reason="taken by hand", now=now)


def main(database: str, point: str, run: str) -> None:
    """Take it, and die."""
    store = Store(database, watch=failpoint(point))
    store.open()
    with store.begin() as conn:
        take(conn, RunId(run), point.split(":", maxsplit=1)[0])
    raise SystemExit("the failpoint was not reached")


if __name__ == "__main__":
    main(*sys.argv[1:])
