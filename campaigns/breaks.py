"""What breaks around a supervisor: its containers, its engine, its disk, itself for a while."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from campaigns.stage import FILES, PATIENCE, Stage
from campaigns.tally import Count
from runner.errors import RunnerError, StoreError, SupervisorUnavailableError
from tests.helpers.own_engine import OwnEngine
from tests.helpers.stored import url

#: A run's states in which its container is killed, with the agent that is in it long enough.
CONTAINER_AT = {"starting": "holder", "running": "slow", "held": "holder"}
ENGINE_AT = ("held", "parked", "executing")
#: Seconds of a lease, the least there may be.
LEASE = 3
#: Longer than the deadline of the agent `brief`.
FROZEN_FOR = 6.0
DISK = "size=24m"


def container_killed(stage: Stage, state: str) -> Count:
    """The container is killed while the run is in a state; the run parks, or fails and is set going again."""
    count = Count(faults=1)
    _begun(stage, CONTAINER_AT[state])
    if state == "starting":
        stage.send()
        found = stage.until(lambda: stage.left() or None, "a container is made")
    else:
        stage.reaches(state)
        found = stage.left()
    killed = [subprocess.run(["docker", "kill", one], capture_output=True, check=False).returncode == 0 for one in found]
    count.missed += not any(killed)
    return _finished(stage, count)


def engine_restarted(stage: Stage, engine: OwnEngine, state: str) -> Count:
    """The engine ends and comes back while the run is in a state."""
    count = Count(faults=1)
    _begun(stage, "parker" if state == "parked" else "holder")
    stage.reaches("parked" if state == "parked" else "held")
    with ThreadPoolExecutor(max_workers=1) as aside:
        if state == "executing":
            aside.submit(lambda: [stage.approve(one) for one in stage.queue()])
        engine.stop()
        count.missed += engine.docker("version").returncode == 0
        engine.start()
    return _finished(stage, count)


def frozen(stage: Stage, state: str) -> Count:
    """The supervisor stands still for longer than a deadline; another one must not take over meanwhile.

    A deadline that passed in the meantime has passed: no yes is taken any more.
    """
    count = Count(faults=1)
    _begun(stage, "brief" if state == "held" else "holder")
    stage.reaches("held")
    waiting = stage.queue()
    process = stage.supervisor.process
    assert process is not None
    with ThreadPoolExecutor(max_workers=1) as aside:
        if state == "executing":
            aside.submit(lambda: [stage.approve(one) for one in waiting])
            time.sleep(random.random() * 0.02)
        process.send_signal(signal.SIGSTOP)
        second = subprocess.run(
            [sys.executable, "-m", "runner", "serve"],
            env=stage.supervisor.variables,
            capture_output=True,
            timeout=60,
            check=False,
        )
        count.doubled += second.returncode == 0 or b"another supervisor" not in second.stderr
        time.sleep(FROZEN_FOR if state == "held" else 1.0)
        process.send_signal(signal.SIGCONT)
        if state == "held":
            count.unapproved += sum(stage.approve(one) is not None for one in waiting)
    return _finished(stage, count)


def replaced(stage: Stage) -> Count:
    """The supervisor stands still until its lease has run out and one of another state directory has its database.

    It finds that out by itself, removes its containers and is over; the run goes on with the other, and nothing happens twice.
    """
    count = Count(faults=1)
    _begun(stage, "holder")
    stage.reaches("held")
    first, process = stage.supervisor, stage.supervisor.process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    time.sleep(LEASE + 1.0)
    database = {"RUNNER_DATABASE_URL": url(first.state / "runner.db")}
    second = type(first)(first.home / f"second-{time.monotonic_ns()}", {**first.environment, **database})
    second.script_file.write_text(first.script_file.read_text())
    try:
        second.start()
        process.send_signal(signal.SIGCONT)
        count.doubled += process.wait(PATIENCE) != SupervisorUnavailableError.exit_code
        count.containers += len(stage.left())
        stage.supervisor = second
        stage.approve_all()
    finally:
        process.send_signal(signal.SIGCONT)
        second.stop()
        stage.supervisor, first.process = first, None
    stage.start()
    return _finished(stage, count)


def disk_full(folder: Path) -> Count:
    """No room for a decision: it is refused and nothing is released; with room again it goes on."""
    count = Count(faults=1)
    with _small_disk(folder / "state"):
        stage = Stage.built(folder, agents=("holder",), environment={"TMPDIR": tempfile.gettempdir()})
        try:
            _without_room(stage, count)
        finally:
            stage.end()
    return count


def _without_room(stage: Stage, count: Count) -> None:
    stage.reset("holder")
    stage.reaches("held")
    filler = stage.supervisor.state / "filler"
    _empty_log(stage.supervisor.state / "runner.db")
    _fill(filler)
    count.missed += _refused(stage) != len(FILES)
    count.unapproved += sum((stage.cwd / name).read_text() != "start\nend\n" for name in FILES)
    filler.unlink()
    _finished(stage, count)


def _refused(stage: Stage) -> int:
    """How many decisions are refused because the database takes nothing: exit code 9."""
    refused = 0
    for one in stage.queue():
        try:
            stage.post("approvals", one["id"], "approve", digest=one["digest"])
        except StoreError as error:
            refused += error.exit_code == 9
        except RunnerError as error:
            print(f"    refused otherwise: {error.brief}", file=sys.stderr)
    return refused


def _fill(file: Path) -> None:
    """To the last byte."""
    for size in (65536, 4096, 1):
        with contextlib.suppress(OSError), file.open("ab", buffering=0) as filler:
            while filler.write(b"\0" * size):
                pass


def _empty_log(database: Path) -> None:
    """Cut the log off: what it had room for could still be written on a full disk."""
    with contextlib.closing(sqlite3.connect(database, timeout=20, isolation_level=None)) as other:
        while other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] != 0:
            time.sleep(0.01)


@contextlib.contextmanager
def _small_disk(place: Path) -> Iterator[None]:
    place.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{DISK},mode=0700,uid={os.getuid()}", "none", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def _begun(stage: Stage, agent: str) -> None:
    stage.reset(agent)
    if stage.dead:
        stage.start()


def _finished(stage: Stage, count: Count) -> Count:
    """Approve what waits and set going what failed, until the run has replied; then look."""

    def look() -> bool | None:
        for approval in stage.queue():
            stage.approve(approval)
        state = stage.state()
        if state == "failed":
            stage.tell("runs", stage.send(), "resume")
        return True if state == "replied" else None

    try:
        stage.until(look, "the run replies")
    except AssertionError as error:
        print(f"    {error}", file=sys.stderr)
    stage.judge(count)
    return count
