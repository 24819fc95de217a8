"""A sample of the fault table (`make faults` plays it all): one or two of each kind, and nothing is lost, doubled or left.

An engine that is restarted has its own file, `test_broken_world.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from campaigns import breaks, clocks, deciders
from campaigns.kills import CASES, killed
from campaigns.stage import Stage
from campaigns.tally import Count

pytestmark = pytest.mark.docker

#: Windows in which it matters most: intent written, effect done and not recorded.
SAMPLE = [("executing", "approval.not_happened", "after"), ("executing", "approval.succeed", "before")]
ONE = Count(faults=1)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, sandbox_image: object) -> Iterator[Stage]:
    """One home for this file."""
    folder = tmp_path_factory.mktemp("faults")
    built = Stage.built(folder / "home", agents=("holder", "brief"))
    built.supervisor.kill()
    yield built
    left = built.left()
    built.end()
    assert left == []


@pytest.mark.parametrize(("state", "event", "when"), SAMPLE)
def test_a_supervisor_killed_at_an_arrow_loses_and_doubles_nothing(stage: Stage, state: str, event: str, when: str) -> None:
    """B8, B9, M5, M8, invariants 4 and 11."""
    case = next(case for case in CASES if (case.state, case.event) == (state, event))
    assert killed(stage, case, when) == Count(faults=2 if case.first else 1)


def test_a_container_killed_while_calls_wait_parks_its_run(stage: Stage) -> None:
    """L10: what waits goes on waiting, and the run goes on with its answers."""
    assert breaks.container_killed(stage, "held") == ONE


def test_a_supervisor_that_stood_still_past_a_deadline_takes_no_yes_and_no_other_takes_over(stage: Stage) -> None:
    """L2, invariant 4: the lock outlasts the standstill, the deadline does not."""
    assert breaks.frozen(stage, "held") == ONE


def test_of_fifty_people_who_decide_at_once_one_wins_and_the_others_are_told_who(stage: Stage) -> None:
    """L1, over the real socket, by commands and by programs."""
    assert deciders.raced(stage, seed=1) == ONE


def test_a_decision_without_room_on_the_disk_is_refused_and_can_be_taken_later(tmp_path: Path, sandbox_image: object) -> None:
    """A3, L7, K2: exit code 9; nothing is released before it is on record."""
    assert breaks.disk_full(tmp_path / "home") == ONE


def test_a_clock_set_back_while_a_call_waits_gives_it_no_more_time(tmp_path: Path, sandbox_image: object) -> None:
    """L2: the running supervisor's clock is really set, by libfaketime."""
    file = tmp_path / "clock"
    stage = Stage.built(tmp_path / "home", agents=("holder", "brief"), environment=clocks.environment(file))
    try:
        assert clocks.stepped(stage, file, "back") == ONE
    finally:
        stage.end()
