"""Attacks on what a yes is worth: approve-then-swap, replay, late approve, repeat after a crash (B4, B5, B8, invariant 3)."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.approvals import approve, begin_effect, deliver, finish_effect
from runner.errors import AlreadyDecidedError, ApprovalExpiredError, DigestMismatchError, StoreError
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.store import Store, approvals
from tests.helpers.stored import ANNA, NOW, a_run, an_approval, approved, opened


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "runner.db") as store:
        yield store


def test_the_input_cannot_be_swapped_between_show_and_approve(store: Store) -> None:
    with store.begin() as conn:
        row = an_approval(conn)
    with pytest.raises(StoreError), store.begin() as conn:
        conn.exec_driver_sql("UPDATE approvals SET raw = '{}', preview = 'harmless'")
    with store.begin() as conn:
        assert approvals.get(conn, row.id) == row


def test_a_yes_does_not_carry_over_to_the_same_call_asked_again(store: Store) -> None:
    """B2: an outcome is delivered once; a later identical call is a new request."""
    with store.begin() as conn:
        run = a_run(conn).id
        first = an_approval(conn, run)
        approve(conn, first.id, digest=first.approval_digest, who=ANNA, reason=None, now=NOW)
        begin_effect(conn, first.id, now=NOW)
        finish_effect(conn, first.id, event=ApprovalEvent.SUCCEED, outcome="done", now=NOW)
        again = an_approval(conn, run)
        assert (again.call_digest, again.state) == (first.call_digest, ApprovalState.PENDING)
    with pytest.raises(DigestMismatchError), store.begin() as conn:
        approve(conn, again.id, digest=first.approval_digest, who=ANNA, reason=None, now=NOW)


def test_a_yes_replayed_after_the_effect_starts_nothing(store: Store) -> None:
    with store.begin() as conn:
        row = approved(conn)
        begin_effect(conn, row.id, now=NOW)
        finish_effect(conn, row.id, event=ApprovalEvent.SUCCEED, outcome="done", now=NOW)
    with pytest.raises(AlreadyDecidedError), store.begin() as conn:
        approve(conn, row.id, digest=row.approval_digest, who=ANNA, reason=None, now=NOW)
    with store.begin() as conn:
        assert begin_effect(conn, row.id, now=NOW) is None
        assert deliver(conn, row.id, now=NOW) == "done"
        assert deliver(conn, row.id, now=NOW) is None


@pytest.mark.parametrize("late", [0.0, 1e-3, 7 * 86400.0])
def test_a_yes_that_comes_late_is_none(store: Store, late: float) -> None:
    with store.begin() as conn:
        row = an_approval(conn)
    with pytest.raises(ApprovalExpiredError), store.begin() as conn:
        approve(conn, row.id, digest=row.approval_digest, who=ANNA, reason=None, now=row.expires + late)
    with pytest.raises(ApprovalExpiredError), store.begin() as conn:
        approve(conn, row.id, digest=row.approval_digest, who=ANNA, reason=None, now=NOW)


def test_a_broker_killed_after_its_intent_is_never_followed_by_a_second(tmp_path: Path) -> None:
    """B8: the row says that it began; only a proof that nothing happened opens it again."""
    path = tmp_path / "runner.db"
    with opened(path) as store, store.begin() as conn:
        row = approved(conn)
    broker = (
        "import os, sys\nfrom pathlib import Path\nfrom runner.approvals import begin_effect\n"
        "from tests.helpers.stored import NOW, opened\n"
        "with opened(Path(sys.argv[1])) as store:\n"
        "    with store.begin() as conn:\n        assert begin_effect(conn, sys.argv[2], now=NOW)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", broker, str(path), row.id], check=False).returncode == -9
    with opened(path) as store, store.begin() as conn:
        found = approvals.get(conn, row.id)
        assert (found.state, found.effect) == (ApprovalState.EXECUTING, "started")
        assert begin_effect(conn, row.id, now=NOW) is None
        assert approvals.get(conn, row.id) == found
