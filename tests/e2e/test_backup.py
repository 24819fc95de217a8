"""A state directory is copied while its supervisor is stopped, and the copy goes on where it was (docs/operations.md)."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from tests.helpers.supervisor_process import SupervisorProcess, text, write

pytestmark = pytest.mark.docker


def test_a_copy_at_another_path_has_every_run_and_finishes_what_waits(supervisor: SupervisorProcess, tmp_path: Path) -> None:
    """Issue 3 item 6: containers are labelled by path, and a stopped supervisor has none."""
    supervisor.script([write("a.txt", "A")], [text("All done.")])
    supervisor.start()
    supervisor.publish(approvals='[approvals]\nhold = "0s"')
    run = supervisor.send()
    supervisor.until(run, "parked")
    waiting = supervisor.queue(run)
    assert supervisor.stop() == 0
    assert supervisor.containers() == []

    copy = SupervisorProcess(tmp_path / "copy")
    shutil.copytree(supervisor.state, copy.state)
    shutil.copy(supervisor.script_file, copy.script_file)
    assert copy.label != supervisor.label
    assert stat.S_IMODE(copy.state.stat().st_mode) == 0o700
    copy.start()
    try:
        assert [row["id"] for row in copy.queue(run)] == [row["id"] for row in waiting]
        assert copy.approve(waiting[0]).returncode == 0
        assert copy.until(run, "replied", "failed")["reply"] == "All done."
    finally:
        copy.stop()
    assert (supervisor.cwd / "a.txt").read_text() == "A"
    assert copy.containers() == []
