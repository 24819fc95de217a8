"""A sample of the kill table (`make kills` runs it all): SIGKILL around a transaction, and nothing is lost or done twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaigns.kills import POINTS, Count, killed_at
from runner.lifecycle import ApprovalEvent, RunEvent

pytestmark = pytest.mark.docker

#: Windows in which it matters most: intent written, effect done and not recorded, outcome told, run not yet ended.
SAMPLE = ["approval.execute:after", "approval.succeed:before", "approval.deliver:after", "run.reply:before"]


@pytest.mark.parametrize("point", SAMPLE)
def test_a_supervisor_killed_at_an_arrow_loses_and_doubles_nothing(tmp_path: Path, sandbox_image: object, point: str) -> None:
    """B8, B9, M5, M8, invariants 4 and 11."""
    assert killed_at(point, tmp_path / "home", hold="50s") == Count(kills=1, fired=1)


def test_the_kill_table_names_only_events_that_exist() -> None:
    known = {f"run.{event.value}" for event in RunEvent} | {f"approval.{event.value}" for event in ApprovalEvent}
    known |= {"run.queue", "capture.receive", "call.decide", "approval.request", "approval.deliver"}
    assert {point.split(":")[0] for points in POINTS.values() for point in points} <= known
