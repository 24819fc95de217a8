"""SIGKILL where a container that waits for its run is made, claimed and dropped: none is left, and none serves two runs."""

from __future__ import annotations

import contextlib
import signal
from collections import Counter

from campaigns import scenes
from campaigns.engine import containers
from campaigns.stage import DiedError, Stage
from campaigns.tally import Count
from runner.store import Connection, audit, runs, segments

#: Events of the pool, each before and after its commit.
EVENTS = ("pool.fill", "pool.claim", "pool.drop")
POINTS = tuple(f"{event}:{when}" for event in EVENTS for when in ("before", "after"))
_SIZE = "RUNNER_POOL__SIZE"


def pool_killed(stage: Stage, point: str) -> Count:
    """One kill: a supervisor that keeps one container waiting dies at the event; one without a pool takes over."""
    event, when = point.rsplit(":", 1)
    count = Count(faults=1)
    stage.reset(stage.first)
    before = stage.stored(lambda conn: _written(conn, event))
    stage.supervisor.environment[_SIZE] = "1"
    stage.start(point)
    with contextlib.suppress(DiedError, AssertionError):
        _use(stage)
    died = stage.dead and stage.supervisor.process is not None and stage.supervisor.process.returncode == -signal.SIGKILL
    if not stage.dead:
        stage.supervisor.kill()
    stage.supervisor.process = None
    stage.supervisor.environment[_SIZE] = "0"
    written = stage.stored(lambda conn: _written(conn, event)) - before
    count.missed += not died or written != (when == "after")
    stage.start()
    try:
        stage.tell("resume")
        scenes.plain(stage)
    except (DiedError, AssertionError):
        count.lost_runs += 1
    stage.judge(count)
    count.doubled += stage.stored(_shared)
    return count


def _use(stage: Stage) -> None:
    """A run that has a container made for the next one, that next one, and a pause, for which nothing is kept."""
    stage.alive()
    scenes.plain(stage)
    _one_waits(stage)
    stage.reset(stage.agent)
    scenes.plain(stage)
    _one_waits(stage)
    stage.tell("pause", reason=None)
    stage.until(lambda: None, "its end is put on record")


def _one_waits(stage: Stage) -> None:
    label = f"runner.state={stage.supervisor.label}"
    stage.until(lambda: True if containers(label, status="paused") else None, "a container waits")


def _written(conn: Connection, event: str) -> int:
    """How often an event is on record."""
    return sum(one.event == event for one in audit.after(conn, 0, audit.length(conn)))


def _shared(conn: Connection) -> int:
    """Containers that more than one attempt has had."""
    attempts = (one for row in runs.list(conn) for one in segments.of_run(conn, row.id))
    had = Counter(one.container_id for one in attempts if one.container_id is not None)
    return sum(times > 1 for times in had.values())
