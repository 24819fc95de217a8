"""What the fault campaign covers, compared with the tables and with what the code writes; an arrow without a kill fails."""

from __future__ import annotations

import re
from multiprocessing import get_context
from pathlib import Path

import pytest

from campaigns.faults import gathered, order, row_of
from campaigns.kills import CASES
from campaigns.playing import Play, played, recorded
from campaigns.report import Report
from campaigns.tally import Count, document, table
from campaigns.waiting import EVENTS
from runner.lifecycle import APPROVAL, RUN
from tests.architecture.tree import ROOT

#: Events of the audit at which a kill proves nothing that another failpoint does not: they change no run and no call.
ASIDE = {
    "approval.mismatch": "a refusal, kept in a transaction of its own",
    "approval.refused": "a refusal, in the transaction of `call.decide`",
    "approval.notified": "about a notice",
    "approval.sign": "a row stays as it is; the last signature is in the transaction of `approval.approve`",
    "capture.forward": "in the transaction of `capture.receive`",
    "capture.hold": "a capture that waits for its turn: no run yet, and no call",
    "run.taint": "in the transaction of what tainted it",
}
#: What changes a run or one of its calls, or what may be done with them; other rooms have tests of their own.
OURS = ("approval.", "call.", "capture.", "grant.", "pool.", "run.", "supervisor.", "verdict.")


def test_every_arrow_of_the_tables_has_a_kill_before_and_after_its_commit() -> None:
    """B8, issue 5: a failpoint per arrow."""
    arrows = {(state.value, f"run.{event.value}") for state, event in RUN}
    arrows |= {(state.value, f"approval.{event.value}") for state, event in APPROVAL}
    assert {(case.state, case.event) for case in CASES if case.state is not None} == arrows


def test_every_event_that_the_code_writes_has_a_kill_or_a_reason() -> None:
    """The failpoints are events of the audit: one that nobody knows here was added since."""
    written = set()
    for path in (ROOT / "runner").rglob("*.py"):
        written |= set(re.findall(r'event="([a-z_]+\.[a-z_]+)"', path.read_text()))
    known = {case.event for case in CASES} | ASIDE.keys() | {*EVENTS}
    assert {event for event in written if event not in known and event.startswith(OURS)} == set()


@pytest.mark.parametrize("kills", [1, 200, 300])
def test_a_full_run_has_enough_kills_and_every_failpoint(kills: int) -> None:
    chosen = order(kills, seed=1)
    assert sum(1 + (CASES[index].first is not None) for index, _ in chosen) >= kills
    assert {(index, when) for index, when in chosen} == {(n, when) for n in range(len(CASES)) for when in ("before", "after")}


def test_the_seed_says_the_order() -> None:
    assert order(200, seed=4) == order(200, seed=4) != order(200, seed=5)


def test_of_some_cases_just_so_many_kills_are_played() -> None:
    chosen = order(3, seed=1, cases=["run.hold"])
    assert [CASES[index].event for index, _ in chosen] == ["run.hold"] * 3
    assert order(3, seed=1, cases=["no such"]) == []


def clean(play: Play) -> None:
    """A fault that comes about."""
    play.fault("one", "clean", lambda: Count(faults=1))


def broken(play: Play) -> None:
    """One that cannot be played, and one after it."""

    def raises() -> Count:
        raise ValueError("no\nluck")

    assert not play.fault("two", "broken", raises)
    play.fault("two", "after it", lambda: Count(faults=1))


def lost(_: Play) -> None:
    """A worker that goes away."""
    raise SystemExit(3)


def test_a_workers_trouble_is_a_row_and_the_others_still_count(tmp_path: Path) -> None:
    """Issue 5: never a traceback; what could not be tried counts against the run."""
    jobs = [("one", clean, {}), ("two", broken, {}), ("three", lost, {})]
    found, taken = played(jobs, record=tmp_path / "record", minutes=1, workers=1)
    assert sorted((kind, what, count.clean) for kind, what, count in found) == [
        ("one", "clean", True),
        ("three", "three: not tried: SystemExit: 3", False),
        ("two", "after it", True),
        ("two", "broken: not tried: ValueError: no luck", False),
    ]
    assert taken == 0


def test_no_fault_begins_after_the_time_and_what_was_not_tried_is_missed(tmp_path: Path) -> None:
    context = get_context("spawn")
    play = Play(record=tmp_path / "record", until=0.0, stop=context.Event(), taken=context.Value("i", 0))
    assert recorded(play.record) == []
    clean(play)
    assert recorded(play.record) == [("one", "clean: not tried: no time left", Count(missed=1))]


def test_the_result_takes_the_place_of_the_former_one_in_the_docs() -> None:
    found = [("kill: a", "x", Count(faults=3)), ("b", "y: not tried: why", Count(missed=1))]
    report = Report(rows=gathered(found), found=found, seed=1, minutes=2.0, workers=4)
    page = report.into(f"before\n{(ROOT / 'docs/faults.md').read_text()}after\n")
    assert "3 kills in 2 minutes" in page
    assert "- b: y: not tried: why" in page
    assert report.into(page) == page
    assert report.document()["kills"] == 3


def test_anything_but_a_fault_is_not_clean() -> None:
    assert Count(faults=3).clean
    for name in document({"x": Count()})["x"]:  # type: ignore[union-attr]
        assert name == "faults" or not Count(faults=1, **{name: 1}).clean  # type: ignore[arg-type]


def test_the_table_sums_up() -> None:
    rows = gathered([("b", "one", Count(faults=1)), ("a", "two", Count(faults=2, doubled=1)), ("b", "three", Count(faults=1))])
    assert list(rows) == ["a", "b"]
    assert table(rows).splitlines()[-1].split() == ["all", "4", "0", "0", "0", "1", "0", "0", "0"]


def test_each_kill_has_a_row() -> None:
    assert {row_of(case).split(":")[0] for case in CASES} == {"kill"}


def test_the_docs_say_what_each_row_means() -> None:
    page = Path(ROOT / "docs/faults.md").read_text()
    assert "| kill: run " in page
    assert "make faults" in page
