"""The host's clock is set while calls wait (L2). libfaketime sets it for the supervisor alone; seconds since boot stay true."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from campaigns.scenes import wait
from campaigns.stage import Stage
from campaigns.tally import Count
from runner.errors import ApprovalExpiredError, RunnerError

LIBRARY = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
HOUR, WEEKS = 3600, 14 * 86400


def environment(file: Path) -> dict[str, str]:
    """What makes a process see the time that a file says."""
    set_clock(file, 0)
    return {
        "LD_PRELOAD": str(LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_RESET": "1",
    }


def set_clock(file: Path, seconds: int) -> None:
    """Set the clock so far from the right time; all at once, or the library would read half a number."""
    fresh = file.with_suffix(".new")
    fresh.write_text(f"{seconds:+d}")
    fresh.rename(file)


def back(stage: Stage, file: Path) -> None:
    """A deadline in a few seconds, and the clock goes back an hour: it still is one in a few seconds."""
    stage.reset("brief")
    stage.reaches("held")
    set_clock(file, -HOUR)
    wait(stage)


def forward_and_back(stage: Stage, file: Path) -> None:
    """Past the deadline and back before it: what has ended stays so."""
    stage.reset("holder")
    stage.reaches("held")
    set_clock(file, WEEKS)
    wait(stage)
    set_clock(file, 0)


def back_over_a_restart(stage: Stage, file: Path) -> None:
    """The clock goes back an hour while no supervisor runs."""
    _restarted(stage, file, -HOUR)


def far_back_over_a_restart(stage: Stage, file: Path) -> None:
    """Two weeks: what was asked for is in the future now, and ends."""
    _restarted(stage, file, -WEEKS)


def _restarted(stage: Stage, file: Path, seconds: int) -> None:
    stage.reset("brief")
    stage.reaches("held")
    stage.supervisor.kill()
    set_clock(file, seconds)
    stage.start()
    wait(stage)


STEPS: Mapping[str, Callable[[Stage, Path], None]] = {
    "back": back,
    "forward and back": forward_and_back,
    "back over a restart": back_over_a_restart,
    "far back over a restart": far_back_over_a_restart,
}


def stepped(stage: Stage, file: Path, name: str) -> Count:
    """One step of the clock: the calls must expire, nothing may be carried out, and no yes is taken any more."""
    count = Count(faults=1)
    began = time.monotonic()
    if stage.dead:
        stage.start()
    try:
        STEPS[name](stage, file)
    except AssertionError as error:
        print(f"    clock {name}: {error}", file=sys.stderr)
        count.lost_runs += 1
    found = stage.queue("expired")
    count.missed += len(found) != 2
    for one in found:
        try:
            stage.post("approvals", one["id"], "approve", digest=one["digest"])
            count.unapproved += 1
        except ApprovalExpiredError:
            continue
        except RunnerError:
            continue
    print(f"    clock {name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    stage.judge(count)
    set_clock(file, 0)
    return count
