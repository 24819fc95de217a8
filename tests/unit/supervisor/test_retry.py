"""Letting a failed run go on: only when it has failed, and only when nothing about it is in doubt."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.approvals import begin_effect, finish_effect
from runner.errors import UsageError
from runner.lifecycle import ApprovalEvent, RunEvent, RunState
from runner.model import Attempt
from runner.store import Connection, runs
from runner.supervisor.progress import retry
from tests.helpers import stored

LATER = stored.NOW + 1


class Queue:
    """Remembers what was queued."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []

    def __call__(self, conn: Connection, attempt: Attempt, *, agent: str) -> None:
        self.attempts.append(attempt)


def test_a_failed_run_is_queued_again_as_its_next_segment_and_once(tmp_path: Path) -> None:
    """Issue 3 item 4: a stale attempt cannot speak for it any more."""
    queue = Queue()
    with stored.opened(tmp_path / "r.db") as store, store.begin() as conn:
        run = stored.a_run(conn)
        assert retry(conn, run.id, now=LATER, enqueue=queue) is None
        runs.move(conn, run.id, RunEvent.FAIL, now=LATER, reason="no model")
        again = retry(conn, run.id, now=LATER, enqueue=queue)
        assert again is not None
        assert (again.state, again.segment, again.attempt, again.reason) == (RunState.QUEUED, run.segment + 1, 0, None)
        assert retry(conn, run.id, now=LATER, enqueue=queue) is None
    assert queue.attempts == [Attempt(run.id, run.segment + 1, 0)]


def test_a_run_with_an_effect_nobody_knows_about_is_not_retried_before_it_is_settled(tmp_path: Path) -> None:
    """B8: the model would be told something that may be wrong."""
    queue = Queue()
    with stored.opened(tmp_path / "r.db") as store, store.begin() as conn:
        row = stored.approved(conn)
        begin_effect(conn, row.id, now=LATER)
        finish_effect(conn, row.id, event=ApprovalEvent.DOUBT, outcome="cut", now=LATER)
        runs.move(conn, row.run, RunEvent.FAIL, now=LATER, reason="x")
        with pytest.raises(UsageError, match="nobody knows"):
            retry(conn, row.run, now=LATER, enqueue=queue)
        assert runs.get(conn, row.run).state is RunState.FAILED
    assert queue.attempts == []
