"""Invariant 9 at the last wall: whoever writes SQL past our functions still cannot make an illegal change."""

from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from runner.digest import digest_bytes
from runner.errors import StoreError
from runner.lifecycle import APPROVAL, RUN, ApprovalState, RunState, moves
from runner.model import ApprovalId, RunId
from runner.policy.taint import Taint, TaintKind
from runner.store import ImageRow, Store, approvals, audit, images, runs, taints, written
from runner.store.triggers import EFFECT
from tests.helpers.stored import NOW, a_run, a_stored_call, an_approval, fresh

TAINT = Taint(kind=TaintKind.RESULT, source="Read")


def test_exactly_the_moves_of_the_table_are_possible_for_a_run(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn)
    possible = set()
    for before in RunState:
        for after in RunState:
            if before is not after and _can(store, run.id, "runs", (before, after)):
                possible.add((before, after))
    assert possible == moves(RUN)


def test_exactly_the_moves_of_the_table_are_possible_for_an_approval(store: Store) -> None:
    with store.begin() as conn:
        approval = an_approval(conn)
    possible = set()
    for before in ApprovalState:
        for after in ApprovalState:
            if before is not after and _can(store, approval.id, "approvals", (before, after)):
                possible.add((before, after))
    assert possible == moves(APPROVAL)


def _can(store: Store, id: str, table: str, pair: tuple[RunState | ApprovalState, RunState | ApprovalState]) -> bool:
    """Try one change with raw SQL; everything is undone afterwards."""
    before, after = pair
    effect = {state: f", effect = {EFFECT.get(state)!r}".replace("None", "NULL") for state in ApprovalState}
    extra = [effect.get(state, "") if table == "approvals" else "" for state in pair]
    refusal = ""
    with store.engine.connect() as conn:
        conn.exec_driver_sql("BEGIN IMMEDIATE")
        trigger = f"runner_{table}_update"
        sql = conn.execute(text("SELECT sql FROM sqlite_master WHERE name = :n"), {"n": trigger}).scalar_one()
        conn.exec_driver_sql(f"DROP TRIGGER {trigger}")
        conn.exec_driver_sql(f"UPDATE {table} SET state = '{before.value}'{extra[0]} WHERE id = '{id}'")
        conn.exec_driver_sql(sql)
        try:
            conn.exec_driver_sql(f"UPDATE {table} SET state = '{after.value}'{extra[1]} WHERE id = '{id}'")
        except SQLAlchemyError as error:
            refusal = str(error)
        conn.rollback()
    assert refusal == "" or "no such change of state" in refusal
    return refusal == ""


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE approvals SET state = 'executing', effect = 'started'",
        "UPDATE approvals SET state = 'approved', effect = 'done'",
        "UPDATE approvals SET effect = 'started'",
        "UPDATE approvals SET state = 'allowed'",
        "UPDATE approvals SET raw = '{}'",
        "UPDATE approvals SET pre_images = '{}'",
        "UPDATE approvals SET approval_digest = 'sha256:0'",
        "UPDATE approvals SET nonce = ''",
        "UPDATE approvals SET run = NULL",
        "UPDATE runs SET state = 'replied'",
        "INSERT OR REPLACE INTO runs SELECT * FROM runs",
        "INSERT OR REPLACE INTO approvals SELECT * FROM approvals",
        "UPDATE pre_images SET data = x'00'",
        "INSERT OR REPLACE INTO pre_images SELECT * FROM pre_images",
        "UPDATE taints SET kind = 'note'",
        "DELETE FROM taints",
        "INSERT OR REPLACE INTO taints SELECT * FROM taints",
        "UPDATE written SET post_image = 'sha256:0'",
        "DELETE FROM written",
        "INSERT OR REPLACE INTO written SELECT * FROM written",
        "UPDATE audit SET time = 0 WHERE seq = 1",
        "DELETE FROM audit",
        "INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE seq = 1",
        "INSERT INTO audit SELECT 0, time, event, subject, data, previous, hash FROM audit WHERE seq = 1",
    ],
)
def test_raw_sql_cannot_go_past_the_tables(store: Store, sql: str) -> None:
    with store.begin() as conn:
        approval = an_approval(conn)
        images.keep(conn, an_image(approval.id))
        taints.add(conn, approval.run, [TAINT], now=NOW)
        written.note(conn, replace(approval, post_image=digest_bytes(b"new")), now=NOW)
        run = runs.get(conn, approval.run)
    with pytest.raises(StoreError), store.begin() as conn:
        conn.execute(text(sql))
    with store.begin() as conn:
        assert (approvals.get(conn, approval.id), runs.get(conn, run.id)) == (approval, run)
        assert images.get(conn, approval.id) == an_image(approval.id)
        assert taints.of_run(conn, run.id) == (TAINT,)
        assert [one.path for one in written.beneath(conn, run.agent, "/workspace", limit=9)] == ["/workspace/out.txt"]
        assert audit.verify(conn) is None


def test_a_row_cannot_begin_in_the_middle(store: Store) -> None:
    with store.begin() as conn:
        row = an_approval(conn)
        other = a_stored_call(conn, row.run)
        run = runs.get(conn, row.run)
    with pytest.raises(StoreError, match="begins as pending"), store.begin() as conn:
        approvals.insert(conn, replace(row, id=ApprovalId(fresh("a")), call=other.id, state=ApprovalState.APPROVED))
    with pytest.raises(StoreError, match="begins as queued"), store.begin() as conn:
        runs.insert(conn, replace(run, id=RunId(fresh("r")), state=RunState.RUNNING))


def an_image(approval: ApprovalId) -> ImageRow:
    return ImageRow(approval=approval, form="file", data=b"old\0", mode=0o640, uid=7, gid=8, standing=2)


def test_what_stood_before_an_effect_is_kept_once(store: Store) -> None:
    """An effect that is tried again after a crash keeps what it found the first time."""
    with store.begin() as conn:
        approval = an_approval(conn)
        assert images.get(conn, approval.id) is None
        images.keep(conn, an_image(approval.id))
        images.keep(conn, replace(an_image(approval.id), standing=1))
        assert images.get(conn, approval.id) == an_image(approval.id)
