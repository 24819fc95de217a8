"""How people decided, counted over real rows (issue 6.5)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from sqlalchemy import Table, event

from runner import approvals
from runner.approvals import Approver
from runner.lifecycle import ApprovalEvent
from runner.store import ApprovalRow, Connection, Store, audit, schema, statistics
from runner.store.statistics import Tally
from tests.helpers.stored import ANNA, BEN, NOW, a_run, an_approval

MANY = 10_000


def shown(conn: Connection, row: ApprovalRow, at: float, who: Approver = ANNA) -> None:
    audit.append(conn, time=at, event="approval.shown", subject=row.id, data={"by": asdict(who), "surface": "card"})


def yes(conn: Connection, row: ApprovalRow, at: float, who: Approver = ANNA) -> None:
    approvals.approve(conn, row.id, digest=row.approval_digest, who=who, now=at)


def tallied(store: Store, since: float = 0) -> dict[tuple[str, str], Tally]:
    with store.reading() as conn:
        return {(one.person, one.tool): one for one in statistics.decisions(conn, since=since)}


def test_per_person_and_tool_is_counted_what_became_of_what_they_decided(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn).id
        first, second, third, fourth = (an_approval(conn, run, tool=tool) for tool in ("Write", "Write", "Edit", "Write"))
        yes(conn, first, NOW + 1)
        approvals.deny(conn, second.id, who=ANNA, now=NOW + 2)
        yes(conn, third, NOW + 3, BEN)
        approvals.expire_due(conn, fourth.expires)
    found = tallied(store)
    assert set(found) == {("anna", "Write"), ("uid 1001", "Edit"), ("nobody", "Write")}
    anna = found["anna", "Write"]
    assert (anna.decided, anna.approved, anna.denied, anna.expired) == (2, 1, 1, 0)
    assert (found["nobody", "Write"].decided, found["nobody", "Write"].expired) == (0, 1)
    assert (anna.median, anna.hasty) == (None, None)


def test_the_time_on_the_card_runs_from_the_first_showing_to_who_decided(store: Store) -> None:
    """A2: another's look, one of yesterday and one after the decision do not count."""
    with store.begin() as conn:
        run = a_run(conn).id
        row, quick, unseen = (an_approval(conn, run, expires_at=NOW + 10**6) for _ in range(3))
        shown(conn, row, NOW + 1)
        shown(conn, row, NOW + 90_000)
        shown(conn, row, NOW + 90_020)
        shown(conn, row, NOW + 90_025, BEN)
        yes(conn, row, NOW + 90_030)
        shown(conn, row, NOW + 90_031)
        shown(conn, quick, NOW + 90_040)
        yes(conn, quick, NOW + 90_041)
        yes(conn, unseen, NOW + 90_050)
    anna = tallied(store)["anna", "Write"]
    assert sorted(anna.seconds) == [1.0, 30.0]
    assert (anna.decided, anna.median, anna.hasty) == (3, 15.5, 0.5)


def test_only_what_was_decided_since_then_is_counted(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn).id
        for at in (NOW + 1, NOW + 100):
            yes(conn, an_approval(conn, run), at)
    assert tallied(store, NOW + 50)["anna", "Write"].decided == 1


def test_what_was_taken_back_counts_for_who_approved_it(store: Store) -> None:
    """An undo that was not done, or was begun only, takes nothing back."""
    with store.begin() as conn:
        run = a_run(conn).id
        kept, gone = an_approval(conn, run), an_approval(conn, run)
        for row in (kept, gone):
            yes(conn, row, NOW + 1)
            undo = an_approval(conn, run, tool="Undo")
            yes(conn, undo, NOW + 2, BEN)
            audit.append(conn, time=NOW + 2, event="approval.undo", subject=row.id, data={"undo": undo.id})
            approvals.begin_effect(conn, undo.id, now=NOW + 2)
            end = ApprovalEvent.SUCCEED if row is gone else ApprovalEvent.FAIL
            approvals.finish_effect(conn, undo.id, event=end, outcome="x", now=NOW + 2)
    found = tallied(store)
    assert found["anna", "Write"].undone == 1
    assert set(found) == {("anna", "Write")}


def test_ten_thousand_decisions_are_four_statements(store: Store) -> None:
    """Each table is read once, however many rows there are."""
    with store.begin() as conn:
        row = an_approval(conn)
        copy(conn, schema.calls, row.call, lambda n: {"id": f"k_{n}", "n": n + 100})
        copy(conn, schema.approvals, row.id, lambda n: {"id": f"a_{n}", "call": f"k_{n}", "opened": n + 100})
        decided = {"state": "approved", "decided_by": json.dumps(asdict(ANNA)), "decided_at": NOW + 1, "version": 2}
        conn.execute(schema.approvals.update().values(**decided))
    statements: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    with store.reading() as conn:
        statements.clear()
        (tally,) = statistics.decisions(conn, since=0)
        assert (tally.decided, len(statements)) == (MANY + 1, 4)


def copy(conn: Connection, table: Table, id: str, changes: Callable[[int], dict[str, Any]]) -> None:
    """Many more rows like one."""
    (like,) = conn.execute(table.select().where(table.c.id == id)).mappings()
    conn.execute(table.insert(), [{**like, **changes(n)} for n in range(MANY)])
