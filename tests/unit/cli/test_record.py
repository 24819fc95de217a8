"""approvals stats, notify test and the trace of audit export on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.approvals import Approver, approve, begin_effect, finish_effect
from runner.lifecycle import ApprovalEvent
from tests.helpers.fake_service import FakeService
from tests.helpers.judge import judge
from tests.helpers.stored import ANNA, NOW, an_approval, opened
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


def test_stats_says_per_person_and_tool_what_was_decided_and_how_fast(run: Run, service: FakeService) -> None:
    """Issue 6.5."""
    ran = run("approvals", "stats")
    assert ran.code == 0
    head, *lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert head == "who tool decided approved denied undone expired median on the card under 2 s"
    assert lines == ["anna Write 4 3 1 1 0 1.5 s 75%", "nobody Edit 0 0 0 0 2"]
    assert service.asked == [("statistics", 0.0)]


def test_stats_of_the_last_days_as_json(run: Run, service: FakeService) -> None:
    """K2: stable keys."""
    found = run("approvals", "stats", "--since", "7d", "--json").json
    assert set(found["rows"][0]) == {
        *("person", "tool", "decided", "approved", "denied", "undone", "expired", "timed"),
        *("median_seconds", "under_two_seconds"),
    }
    assert found["since"] > 1_700_000_000


@pytest.mark.parametrize("since", ["7", "x", "-1d", "1w"])
def test_a_time_that_is_none_is_usage(run: Run, service: FakeService, since: str) -> None:
    assert run("approvals", "stats", f"--since={since}").code == 2
    assert service.asked == []


def test_stats_without_a_supervisor_ends_with_nine(run: Run) -> None:
    """K2."""
    assert run("approvals", "stats").code == 9


def test_approvals_still_lists_by_itself(run: Run, service: FakeService) -> None:
    ran = run("approvals", "--json")
    assert (ran.code, len(ran.json["approvals"])) == (0, 1)


def test_notify_test_says_what_became_of_each_channel(run: Run, service: FakeService) -> None:
    ran = run("notify", "test")
    assert ran.code == 1
    assert [" ".join(line.split()) for line in ran.out.splitlines()] == [
        "1. ntfy-0123abcd delivered",
        "2. webhook not delivered: it answered 500",
    ]
    name, who = service.asked[-1]
    assert name == "notice test"
    assert isinstance(who, Approver)


def test_notify_test_that_every_channel_took_is_done(run: Run, service: FakeService) -> None:
    service.notices.channels.pop()
    ran = run("notify", "test", "--json")
    assert ran.code == 0
    assert ran.json == {"channels": [{"name": "ntfy-0123abcd", "delivered": True, "error": None}]}


def test_notify_test_without_a_channel_says_where_to_set_one_up(run: Run, service: FakeService) -> None:
    service.notices.channels.clear()
    ran = run("notify", "test")
    assert ran.code == 2
    assert "docs/notices.md" in ran.err


def test_status_has_a_line_for_each_channel(run: Run, service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    """C4: dead letters are seen without a file being read."""
    channels = [
        {"name": "ntfy-0123abcd", "waiting": 0, "dead": 0, "delivered": 3, "error": None},
        {"name": "webhook", "waiting": 2, "dead": 1, "delivered": 0, "error": "it answered 500"},
    ]
    known = service.status

    async def status() -> dict[str, object]:
        return {**await known(), "notices": {"channels": channels, "dead": 1}}

    monkeypatch.setattr(service, "status", status)
    shown = [" ".join(line.split()) for line in run("status").out.splitlines() if "notices" in line]
    assert shown == [
        "notices to ntfy-0123abcd: 0 on their way, 0 given up",
        "notices to webhook: 2 on their way, 1 given up, it answered 500",
    ]


@pytest.fixture
def database(state: Path) -> Path:
    """A database with a call that was carried out; no supervisor runs."""
    state.mkdir(mode=0o700)
    with opened(state / "runner.db") as store, store.begin() as conn:
        row = an_approval(conn)
        approve(conn, row.id, digest=row.approval_digest, who=ANNA, now=NOW + 1)
        begin_effect(conn, row.id, now=NOW + 1)
        finish_effect(conn, row.id, event=ApprovalEvent.SUCCEED, outcome="wrote it", now=NOW + 2)
    return state / "runner.db"


def test_the_trace_is_written_without_a_supervisor_and_tells_nothing_of_the_content(
    run: Run, database: Path, tmp_path: Path
) -> None:
    """A4, A5."""
    file = tmp_path / "trace.jsonl"
    assert run("audit", "export", "--format", "agentack", str(file)).code == 0
    text = file.read_text()
    assert "out.txt" not in text
    assert [json.loads(line)["type"] for line in text.splitlines()] == [
        "action_proposed",
        "approval_requested",
        "approval_decision",
        "action_executed",
        "session_end",
    ]
    assert judge(file).status == "PASS"


def test_a_trace_of_one_run_needs_that_run(run: Run, database: Path) -> None:
    assert run("audit", "export", "--format", "agentack", "--run", "r_000000").code == 3
    assert run("audit", "export", "--run", "r_000000").code == 2
