"""Every brokered file tool through the real CLI, and undo from outside (issue 5 item 3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers.supervisor_process import SupervisorProcess, text, use, write

pytestmark = pytest.mark.docker

TOOLS = ' ["Read", "Glob", "Grep", "Write", "Edit", "NotebookEdit", "CreateFolder"]'


def notebook(*sources: str) -> str:
    """A notebook as Jupyter writes it."""
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "id": f"c{n}", "metadata": {}, "source": [source]} for n, source in enumerate(sources)
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def names(supervisor: SupervisorProcess) -> list[str]:
    """What stands in the agent's directory."""
    return sorted(str(at.relative_to(supervisor.cwd)) for at in supervisor.cwd.rglob("*"))


def undo(supervisor: SupervisorProcess, approval: str, code: int = 0) -> str:
    """`runner undo`; the new undo's id."""
    done = supervisor.run("undo", approval, "--json")
    assert done.returncode == code, (done.stdout, done.stderr)
    return str(json.loads(done.stdout)["id"]) if code == 0 else ""


def test_a_directory_and_a_cell_are_made_seen_and_taken_back(supervisor: SupervisorProcess) -> None:
    """The model asks for both in one turn, sees them, and is parked when the first of them is taken back."""
    (supervisor.cwd / "n.ipynb").write_text(notebook("one", "two"))
    supervisor.script(
        [
            use("mcp__runner__CreateFolder", path="out/deep"),
            use("mcp__runner__NotebookEdit", notebook_path="/workspace/n.ipynb", cell_id="c1", new_source="ZWEI"),
            use("mcp__runner__NotebookEdit", notebook_path="n.ipynb", cell_id="none", new_source="x"),
            use("mcp__runner__CreateFolder", path="../outside"),
        ],
        [use("Grep", pattern="ZWEI", path="/workspace/n.ipynb"), use("Glob", pattern="**/*", path="/workspace/out")],
        [write("out/deep/late.txt", "late")],
        [text("done")],
    )
    supervisor.start()
    supervisor.publish(tools=TOOLS, approvals='[approvals]\nhold = "2s"')
    run = supervisor.send()
    supervisor.until(run, "held", "parked")
    folder, cell = supervisor.queue(run)
    assert (folder["tool"], cell["tool"]) == ("CreateFolder", "NotebookEdit")
    assert supervisor.ask("show", folder["id"])["preview"] == "+directory /workspace/out\n+directory /workspace/out/deep\n"
    for row in (cell, folder):
        assert supervisor.approve(row).returncode == 0
    assert names(supervisor) == ["n.ipynb", "out", "out/deep"]
    assert (supervisor.cwd / "n.ipynb").read_text() == notebook("one", "ZWEI")
    supervisor.until(run, "parked")
    # Parked: the directory that the next write goes into is taken back, and comes again with it.
    undo(supervisor, folder["id"])
    assert names(supervisor) == ["n.ipynb"]
    (late,) = supervisor.queue(run)
    assert supervisor.approve(late).returncode == 0
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["reply"], names(supervisor)) == ("done", ["n.ipynb", "out", "out/deep", "out/deep/late.txt"]), supervisor.log
    first = [(call["tool"], call["verdict"], call["rule"]) for call in ended["calls"] if call["turn"] == 1]
    assert first == [
        ("CreateFolder", "ask", "not_covered"),
        ("NotebookEdit", "ask", "not_covered"),
        ("NotebookEdit", "deny", "impossible"),
        ("CreateFolder", "deny", "outside"),
    ]
    assert [call["outcome"] for call in ended["calls"] if call["tool"] == "Grep"] == ["ran in the container"]
    undo(supervisor, cell["id"])
    assert (supervisor.cwd / "n.ipynb").read_text() == notebook("one", "two")


def test_an_undo_is_refused_on_drift_and_undone_after_a_restart(supervisor: SupervisorProcess) -> None:
    """Drift is exit 5 and changes nothing; the run has long ended, and its supervisor was killed in between."""
    target = supervisor.cwd / "a.txt"
    target.write_text("before\n")
    supervisor.script([write("a.txt", "agent's\n"), write("new/b.txt", "B")], [text("done")])
    supervisor.start()
    supervisor.publish()
    run = supervisor.send()
    supervisor.until(run, "held")
    first, second = supervisor.queue(run)
    for row in (first, second):
        assert supervisor.approve(row).returncode == 0
    supervisor.until(run, "replied")
    supervisor.kill()
    supervisor.start()
    target.write_text("a person's\n")
    refused = supervisor.run("undo", first["id"])
    assert (refused.returncode, "/workspace/a.txt has changed since" in refused.stderr) == (5, True), refused
    assert target.read_text() == "a person's\n"
    target.write_text("agent's\n")
    shown = supervisor.run("undo", first["id"], "--dry-run")
    assert (shown.returncode, "-agent's" in shown.stdout, target.read_text()) == (0, True, "agent's\n")
    undone = undo(supervisor, first["id"])
    assert target.read_text() == "before\n"
    undo(supervisor, second["id"])
    assert names(supervisor) == ["a.txt"]
    assert supervisor.run("undo", first["id"]).returncode == 4
    undo(supervisor, undone)
    assert target.read_text() == "agent's\n"
    shown_undo = supervisor.ask("show", undone)
    assert [event["event"] for event in shown_undo["history"]] == [
        "approval.request",
        "approval.approve",
        "approval.execute",
        "approval.succeed",
        "approval.undo",
    ]
    assert (shown_undo["undoes"], supervisor.show(run)["state"]) == (first["id"], "replied")


@pytest.mark.parametrize("where", ["approval.execute:after:2", "approval.succeed:before:2"])
def test_a_kill_around_an_undo_leaves_it_done_once_and_on_record(supervisor: SupervisorProcess, where: str) -> None:
    """B8, B9: SIGKILL when it has begun and nothing is done, and when it is done and not on record; the disk decides."""
    supervisor.script([write("sub/a.txt", "A")], [text("done")])
    supervisor.environment["RUNNER_FAILPOINT"] = where
    supervisor.start()
    supervisor.publish()
    run = supervisor.send()
    supervisor.until(run, "held")
    (waiting,) = supervisor.queue(run)
    assert supervisor.approve(waiting).returncode == 0
    supervisor.until(run, "replied")
    assert supervisor.run("undo", waiting["id"]).returncode == 9
    assert supervisor.process is not None
    supervisor.process.wait(30)
    assert names(supervisor) == (["sub", "sub/a.txt"] if "execute" in where else [])
    del supervisor.environment["RUNNER_FAILPOINT"]
    supervisor.start()
    (found,) = [row for row in supervisor.ask("approvals", "--all")["approvals"] if row["tool"] == "Undo"]
    assert (found["state"], names(supervisor)) == ("done", [])
