"""Another way to what a person said no to is no way round the no (B10, ACK007)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from runner.approvals import deny, expire_due
from runner.approvals.denied import EARLIER_NO, ROUTED_AROUND
from runner.lifecycle import ApprovalState
from runner.model import ResolvedPath, RunId
from runner.store import ApprovalRow, Connection, Store, approvals, calls
from runner.supervisor.doubts import STANDING_YES
from tests.helpers.stored import ANNA, NOW, a_request, a_run, queue

_S = ApprovalState


def ask(conn: Connection, run: RunId, tool: str, target: str = "out.txt", **changes: object) -> ApprovalRow:
    """A call of `tool` whose path, however it is written, leads to `target`."""
    paths = (ResolvedPath(asked=f"./{target}", resolved=PurePosixPath("/workspace") / target),)
    (row,) = queue(conn, replace(a_request(conn, run, tool=tool, paths=paths), **changes))  # type: ignore[arg-type]
    assert isinstance(row, ApprovalRow)
    return row


@pytest.mark.parametrize("tool", ["Edit", "NotebookEdit", "CreateFolder", "CreateDocument", "mcp__files__put"])
def test_the_same_target_by_another_tool_is_denied_at_once_and_counts_as_a_denial(tool: str, store: Store) -> None:
    """Under a rule of its own, on record for people, told to the agent."""
    with store.begin() as conn:
        run = a_run(conn).id
        deny(conn, ask(conn, run, "Write").id, who=ANNA, reason="no", now=NOW)
        around = ask(conn, run, tool)
        assert (around.state, around.why, around.decided_by) == (_S.DENIED, ROUTED_AROUND, EARLIER_NO)
        assert f"{tool} is another way to it" in str(calls.get(conn, around.call).outcome)
        assert approvals.count(conn, run=run, states={_S.DENIED}) == 2


def test_another_target_another_run_and_a_better_call_of_the_same_tool_are_asked_about(store: Store) -> None:
    """An agent that was told what was wrong may put it right."""
    with store.begin() as conn:
        run, other = a_run(conn).id, a_run(conn).id
        deny(conn, ask(conn, run, "Write").id, who=ANNA, reason="use tabs", now=NOW)
        found = (
            ask(conn, run, "Edit", "other.txt"),
            ask(conn, other, "Edit"),
            ask(conn, run, "Write", raw='{"file_path":"out.txt","content":"\\tx"}'),
        )
        assert [row.state for row in found] == [_S.PENDING] * 3


def test_a_no_that_followed_from_another_does_not_spread(store: Store) -> None:
    """Write a, denied by a person; Edit a, denied for that; neither makes Write b a detour, nor CreateFolder b."""
    with store.begin() as conn:
        run = a_run(conn).id
        deny(conn, ask(conn, run, "Write", "a").id, who=ANNA, now=NOW)
        both = (ResolvedPath(asked="a", resolved=PurePosixPath("/workspace/a")), path("b"))
        assert ask(conn, run, "Edit", paths=both).state is _S.DENIED
        assert ask(conn, run, "CreateFolder", "b").state is _S.PENDING


def path(name: str) -> ResolvedPath:
    return ResolvedPath(asked=name, resolved=PurePosixPath("/workspace") / name)


def test_only_a_persons_no_is_one(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn).id
        row = ask(conn, run, "Write", expires_at=NOW)
        assert [ended.id for ended in expire_due(conn, NOW)] == [row.id]
        assert ask(conn, run, "Edit").state is _S.PENDING


def test_a_standing_yes_to_the_other_tool_is_put_before_a_person_after_a_no(store: Store) -> None:
    """The owner lets the tool run in general; whether also against a no is theirs to say."""
    with store.begin() as conn:
        run = a_run(conn).id
        assert ask(conn, run, "Edit", standing=STANDING_YES).state is _S.APPROVED
        deny(conn, ask(conn, run, "Write").id, who=ANNA, now=NOW)
        asked = ask(conn, run, "Edit", standing=STANDING_YES)
        assert (asked.state, asked.why, asked.decided_by) == (_S.PENDING, ROUTED_AROUND, None)
        assert "said no to Write" in asked.reason


def test_what_a_person_asks_for_is_no_detour(store: Store) -> None:
    """An undo of what was denied before, say."""
    with store.begin() as conn:
        run = a_run(conn).id
        deny(conn, ask(conn, run, "Write").id, who=ANNA, now=NOW)
        assert ask(conn, run, "Undo", standing=ANNA).state is _S.APPROVED
