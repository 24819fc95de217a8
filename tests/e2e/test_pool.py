"""Containers that wait, over a real supervisor, engine and CLI (issue 7, M8, M12)."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.helpers.supervisor_process import SupervisorProcess, eventually, text, use

pytestmark = pytest.mark.docker


def paused(supervisor: SupervisorProcess) -> list[str]:
    """Ids of containers that wait."""
    found = supervisor.containers()
    listed = subprocess.run(["docker", "inspect", *found], capture_output=True, text=True, check=False).stdout
    return [one["Id"] for one in json.loads(listed or "[]") if one["State"]["Paused"]]


def waiting(supervisor: SupervisorProcess, *, other_than: str = "") -> str:
    """The container that waits, once one does."""

    def look() -> str | None:
        return next((one for one in paused(supervisor) if one != other_than), None)

    return eventually(look, lambda: f"a container waits\n{supervisor.log}")


def container_of(supervisor: SupervisorProcess, run: str) -> str:
    """The one container of a run that has replied."""
    shown = supervisor.until(run, "replied", "failed")
    assert (shown["state"], shown["reply"]) == ("replied", "done"), (shown, supervisor.log)
    assert [call["outcome"] for call in shown["calls"]] == ["ran in the container"]
    (segment,) = shown["segments"]
    return str(segment["container"])


def test_a_waiting_container_serves_the_next_run_once_with_files_as_they_are_then_and_kill_9_leaves_none(
    supervisor: SupervisorProcess,
) -> None:
    """M8, M12, invariant 6: a real CLI takes up its conversation after the pause; ids never repeat; nothing outlives a kill.

    The kill comes when a container is claimed and not yet let go on: it is gone, and its run goes on in another one.
    """
    supervisor.environment |= {"RUNNER_POOL__SIZE": "1", "RUNNER_FAILPOINT": "pool.claim:after:2"}
    (supervisor.cwd / "in.txt").write_text("BEFORE\n")
    supervisor.script([use("Read", file_path="/workspace/in.txt")], [text("done")])
    supervisor.start()
    supervisor.publish()
    cold = container_of(supervisor, supervisor.send())
    first = waiting(supervisor)
    (supervisor.cwd / "in.txt").write_text("AFTER\n")
    run = supervisor.send()
    assert container_of(supervisor, run) == first
    second = waiting(supervisor, other_than=first)
    assert len({cold, first, second}) == 3
    claimed = supervisor.send()
    assert supervisor.process is not None
    supervisor.process.wait(60)
    assert supervisor.containers() == [second]
    del supervisor.environment["RUNNER_FAILPOINT"]
    supervisor.start()
    assert second not in supervisor.containers()
    shown = supervisor.until(claimed, "replied", "failed")
    assert (shown["state"], shown["reply"]) == ("replied", "done"), (shown, supervisor.log)
    assert [one["container"] == second for one in shown["segments"]] == [True, False]


def test_a_supervisor_that_was_stopped_past_its_lease_removes_its_containers_and_ends(
    supervisor: SupervisorProcess, tmp_path: Path
) -> None:
    """M8: SIGSTOP for longer than the lease, another one in its place, SIGCONT: it fences itself, and the run goes on there."""
    supervisor.environment["RUNNER_HOST__LEASE"] = "3"
    supervisor.script([use("mcp__runner__Write", file_path="/workspace/out.txt", content="x")], [text("done")])
    supervisor.start()
    supervisor.publish(approvals='[approvals]\nhold = "10m"')
    run = supervisor.send()
    supervisor.until(run, "held")
    other = SupervisorProcess(tmp_path / "other", environment=dict(supervisor.environment))
    other.environment["RUNNER_DATABASE_URL"] = f"sqlite:///{supervisor.state}/runner.db"
    other.script([text("done")])
    refused = other.run("serve")
    assert (refused.returncode, "another state directory" in refused.stderr) == (9, True), refused.stderr
    assert supervisor.process is not None
    eventually(lambda: _stopped_at_rest(supervisor), "it is stopped while nothing of it holds the database's lock")
    try:
        eventually(lambda: True if _starts(other) else None, "another one takes over")
        assert len(supervisor.containers()) == 1
        supervisor.process.send_signal(signal.SIGCONT)
        assert supervisor.process.wait(60) == 9
        supervisor.process = None
        assert supervisor.containers() == []
        assert other.show(run)["state"] == "parked"
    finally:
        if supervisor.process is not None:
            supervisor.process.send_signal(signal.SIGCONT)
        other.stop()
    supervisor.start()  # the lease was given back; what the first life left in its folders goes


def _stopped_at_rest(supervisor: SupervisorProcess) -> bool | None:
    """Stop it; not in the middle of a write: its lock on the file would keep everybody out, and no lease helps that."""
    assert supervisor.process is not None
    supervisor.process.send_signal(signal.SIGSTOP)
    database = sqlite3.connect(supervisor.state / "runner.db", timeout=1, isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        database.execute("ROLLBACK")
    except sqlite3.OperationalError:
        supervisor.process.send_signal(signal.SIGCONT)
        return None
    else:
        return True
    finally:
        database.close()


def _starts(other: SupervisorProcess) -> bool:
    """Try to start it: it is refused until the lease has run out."""
    try:
        other.start()
    except AssertionError:
        other.process = None
        return False
    return True
