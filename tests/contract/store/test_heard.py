"""What was heard at a run's gateway is written once, and stays as long as the run."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from runner.errors import StoreError
from runner.model import Attempt
from runner.store import Store, heard
from tests.helpers.stored import a_run, a_stored_call


def test_what_was_said_and_told_is_read_by_turn_and_by_call(store: Store) -> None:
    with store.begin() as conn:
        run, other = a_run(conn), a_run(conn)
        call = a_stored_call(conn, run.id)
        for turn, digests in ((1, ("a", "b", "a")), (2, ()), (3, ("c",))):
            heard.note_said(conn, run.id, digests, turn=turn)
        heard.note_said(conn, other.id, ("d",), turn=1)
        for number, parts in ((0, "x"), (0, "y"), (1, "z")):
            heard.note_result(conn, Attempt(run.id, 0, number), call.id, parts)
        assert heard.said(conn, run.id) == {1: ["a", "b", "a"], 3: ["c"]}
        assert heard.results(conn, run.id) == {call.wire_id: ["x", "z"]}
        assert heard.results(conn, other.id) == {}


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE turn_said SET digest = 'b'",
        "DELETE FROM turn_said",
        "INSERT INTO turn_said SELECT * FROM turn_said",
        "UPDATE call_results SET parts = 'y'",
        "DELETE FROM call_results",
        "INSERT INTO call_results SELECT * FROM call_results",
    ],
)
def test_what_was_heard_cannot_change(sql: str, store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn)
        heard.note_said(conn, run.id, ("a",), turn=1)
        heard.note_result(conn, Attempt(run.id, 0, 0), a_stored_call(conn, run.id).id, "x")
    with pytest.raises(StoreError), store.begin() as conn:
        conn.execute(text(sql))
