"""The engine goes away, the image goes away, the disk is full: nothing is lost, nothing half done (issue 3, bad input).

And an agent under another kernel, since the engine of this file's own has a runtime for it.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from runner.sandbox.engine import CLI_LABEL
from runner.sandbox.image import LATEST
from tests.helpers.own_engine import GVISOR, OwnEngine, own_engine
from tests.helpers.small_disk import SmallDisk, small_disk
from tests.helpers.supervisor_process import SupervisorProcess, eventually, text, use, write

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def engine_of_our_own(sandbox_image: object) -> Iterator[OwnEngine]:
    """One engine for this file, with the sandbox image and gVisor."""
    with own_engine(runtimes=GVISOR) as engine:
        engine.load(LATEST)
        yield engine


def parked(supervisor: SupervisorProcess) -> str:
    """A run that waits for one write, with no container."""
    supervisor.script([write("a.txt", "A")], [text("All done.")])
    supervisor.start()
    supervisor.publish(approvals='[approvals]\nhold = "0s"')
    run = supervisor.send()
    supervisor.until(run, "parked")
    return run


def test_a_parked_run_outlives_a_restart_of_engine_and_supervisor(
    supervisor: SupervisorProcess, engine_of_our_own: OwnEngine
) -> None:
    """Issue 3, done when: parked before a reboot, completed after it; no container while it is parked."""
    engine = engine_of_our_own
    supervisor.environment["DOCKER_HOST"] = engine.host
    run = parked(supervisor)
    assert engine.docker("ps", "-aq").stdout == ""
    supervisor.kill()
    engine.stop()
    engine.start()
    supervisor.start()
    (waiting,) = supervisor.queue(run)
    assert supervisor.approve(waiting).returncode == 0
    assert supervisor.until(run, "replied", "failed")["reply"] == "All done."
    assert engine.docker("ps", "-aq").stdout == ""


def test_an_approved_effect_needs_no_engine_and_the_run_goes_on_when_it_is_back(
    supervisor: SupervisorProcess, engine_of_our_own: OwnEngine
) -> None:
    """Design.md §3.7: the effect is the supervisor's; the run waits for the engine instead of failing."""
    engine = engine_of_our_own
    supervisor.environment["DOCKER_HOST"] = engine.host
    run = parked(supervisor)
    engine.stop()
    (waiting,) = supervisor.queue(run)
    assert supervisor.approve(waiting).returncode == 0
    assert (supervisor.cwd / "a.txt").read_text() == "A"
    eventually(lambda: True if "no engine answers" in str(supervisor.show(run)["reason"]) else None, "it says why it waits")
    assert supervisor.show(run)["state"] in ("parked", "queued", "starting")
    engine.start()
    assert supervisor.until(run, "replied", "failed")["reply"] == "All done."


def test_an_image_removed_while_a_run_is_parked_is_missed_and_said(
    supervisor: SupervisorProcess, engine_of_our_own: OwnEngine
) -> None:
    """Nothing is lost: the run goes on once the image is there again."""
    engine = engine_of_our_own
    supervisor.environment["DOCKER_HOST"] = engine.host
    run = parked(supervisor)
    engine.docker("tag", LATEST, "kept:1")
    engine.docker("rmi", LATEST)
    supervisor.approve(supervisor.queue(run)[0])
    eventually(lambda: True if "runner image build" in str(supervisor.show(run)["reason"]) else None, "it says what to do")
    engine.docker("tag", "kept:1", LATEST)
    assert supervisor.until(run, "replied", "failed")["reply"] == "All done."


def test_an_image_changed_while_a_run_is_parked_is_used_if_it_fits_and_else_refused_with_what_to_do(
    supervisor: SupervisorProcess, engine_of_our_own: OwnEngine
) -> None:
    """Issue 7 item 4: one with another CLI starts nothing and loses nothing; one built anew takes the run over."""
    engine = engine_of_our_own
    supervisor.environment["DOCKER_HOST"] = engine.host
    run = parked(supervisor)
    engine.docker("tag", LATEST, "kept:1")
    for name, label in (("older:1", f"{CLI_LABEL}=1.0.0"), ("anew:1", "built=anew")):
        built = engine.docker("build", "--tag", name, "-", stdin=f"FROM kept:1\nLABEL {label}\n")
        assert built.returncode == 0, built
    try:
        engine.docker("tag", "older:1", LATEST)
        supervisor.approve(supervisor.queue(run)[0])
        eventually(lambda: True if "runner image build" in str(supervisor.show(run)["reason"]) else None, "it says what to do")
        engine.docker("tag", "anew:1", LATEST)
        assert supervisor.until(run, "replied", "failed")["reply"] == "All done."
    finally:
        engine.docker("tag", "kept:1", LATEST)


def test_a_run_under_gvisor_reads_waits_and_has_its_call_carried_out(
    supervisor: SupervisorProcess, engine_of_our_own: OwnEngine
) -> None:
    """Issue 7 item 1: the real CLI on gVisor's kernel, through the gateway; what differs from Linux is on record."""
    supervisor.environment |= {"DOCKER_HOST": engine_of_our_own.host, "RUNNER_RUNTIME": "runsc"}
    (supervisor.cwd / "in.txt").write_text("hello\n")
    supervisor.script([use("Read", file_path="/workspace/in.txt")], [write("a.txt", "A")], [text("All done.")])
    supervisor.start()
    supervisor.publish()
    run = supervisor.send()
    supervisor.until(run, "held", "failed")
    assert supervisor.approve(supervisor.queue(run)[0]).returncode == 0
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["reply"], (supervisor.cwd / "a.txt").read_text()) == ("All done.", "A"), ended
    assert ended["calls"][0]["outcome"] == "ran in the container"
    (proof,) = (row for row in supervisor.ask("log")["events"] if row["event"] == "sandbox.prove")
    assert "`clone3` is let in" in str(proof)


def test_a_vanished_directory_fails_the_effect_and_the_run_with_the_reason(supervisor: SupervisorProcess) -> None:
    """A vanished cwd: the approval ends stale, nothing is written anywhere."""
    run = parked(supervisor)
    shutil.rmtree(supervisor.cwd)
    assert supervisor.approve(supervisor.queue(run)[0]).returncode in (1, 5)
    ended = supervisor.until(run, "failed", "replied")
    assert ended["state"] == "failed"
    assert str(supervisor.cwd) in ended["reason"]
    assert not supervisor.cwd.exists()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A file system of 4 MiB for an agent's directory."""
    with small_disk(tmp_path / "disk") as found:
        yield found


def test_a_full_disk_fails_the_effect_and_leaves_the_file_as_it_was(supervisor: SupervisorProcess, disk: SmallDisk) -> None:
    """B9, L7: ENOSPC during an effect: the old file stays, the outcome says so, the run goes on."""
    agent = disk.folder / "agent"
    agent.mkdir()
    (agent / "a.txt").write_text("before")
    supervisor.cwd = agent
    supervisor.script([write("a.txt", "A" * 200_000)], [text("I see")])
    supervisor.start()
    supervisor.publish()
    run = supervisor.send()
    supervisor.until(run, "held")
    (waiting,) = supervisor.queue(run)
    with disk.full():
        done = supervisor.approve(waiting)
    assert done.returncode == 1, done
    assert (agent / "a.txt").read_text() == "before"
    assert [path.name for path in agent.iterdir()] == ["a.txt"]
    ended = supervisor.until(run, "replied", "failed")
    assert ended["calls"][0]["outcome"].startswith("Failed"), ended


def test_a_full_disk_beneath_the_database_releases_nothing_until_it_has_room(
    supervisor: SupervisorProcess, tmp_path: Path
) -> None:
    """A3, L7: the whole supervisor on it; exit code 9, and the same yes works later."""
    with small_disk(tmp_path / "state disk", size="64m") as disk:
        supervisor.state = disk.folder / "state"
        run = parked(supervisor)
        (waiting,) = supervisor.queue(run)
        # What the log has room for would still be taken.
        with closing(sqlite3.connect(supervisor.state / "runner.db")) as raw:
            eventually(lambda: None if raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] else True, "an empty log")
        with disk.full():
            refused = supervisor.approve(waiting)
            assert (refused.returncode, "disk is full" in refused.stderr) == (9, True), refused
            assert not (supervisor.cwd / "a.txt").exists()
        assert [row["id"] for row in supervisor.queue(run)] == [waiting["id"]]
        assert supervisor.approve(waiting).returncode == 0
        assert supervisor.until(run, "replied", "failed")["reply"] == "All done."
        assert (supervisor.cwd / "a.txt").read_text() == "A"
        supervisor.stop()
