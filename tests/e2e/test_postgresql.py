"""The main job on PostgreSQL: only the database's URL differs (engine.md)."""

from __future__ import annotations

import pytest

from tests.helpers.postgres import Cluster
from tests.helpers.supervisor_process import SupervisorProcess, text, use, write

pytestmark = pytest.mark.docker


def test_a_run_is_parked_survives_a_kill_and_its_effect_happens_once(supervisor: SupervisorProcess, postgres: Cluster) -> None:
    """Design.md §10, invariants 4 and 11; then the record is read without a supervisor."""
    supervisor.environment["RUNNER_DATABASE_URL"] = postgres.create()
    (supervisor.cwd / "in.txt").write_text("INSIDE\n")
    supervisor.script([use("Grep", pattern="I"), write("a.txt", "A"), write("b.txt", "B")], [text("All done.")])
    supervisor.start()
    supervisor.publish(approvals='[approvals]\nhold = "0s"')
    run = supervisor.send()
    supervisor.until(run, "parked")
    supervisor.kill()
    supervisor.start()
    first, second = supervisor.queue(run)
    assert supervisor.approve(first).returncode == 0
    assert supervisor.approve(first).returncode == 4
    assert supervisor.run("deny", second["id"], "--reason", "not this one").returncode == 0
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["state"], ended["reply"]) == ("replied", "All done.")
    assert (supervisor.cwd / "a.txt").read_text() == "A"
    assert not (supervisor.cwd / "b.txt").exists()
    # The first run is tainted by what it found; so is the next one by what the first left in the directory, by name (R57).
    heir = supervisor.until(supervisor.send(), "parked")
    assert [(one["kind"], one["source"], one["run"]) for one in heir["taint"]] == [
        ("result", "Grep", None),
        ("file", "/workspace/a.txt", run),
    ]
    assert not (supervisor.state / "runner.db").exists()
    checks = {check["name"]: check["level"] for check in supervisor.ask("doctor")["checks"]}
    assert "wrong" not in checks.values()
    supervisor.stop()
    assert supervisor.ask("audit", "verify")["ok"] is True
    assert supervisor.ask("explain", "tester", "Read", '{"file_path": "in.txt"}')["verdict"] == "allow"
