"""Edit before approve and grants through the whole product: real supervisor, real container, the commands (D2, D3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.supervisor_process import SupervisorProcess, eventually, text, write

pytestmark = pytest.mark.docker


def edited(folder: Path, **arguments: Any) -> str:
    path = folder / "edited.json"
    path.write_text(json.dumps(arguments))
    return str(path)


def approve(supervisor: SupervisorProcess, approval: str, file: str) -> dict[str, Any]:
    """Look at the edit, then approve exactly that."""
    shown = supervisor.ask("show", approval, "--edit", file)
    found: dict[str, Any] = supervisor.ask("approve", approval, "--edit", file, "--yes", "--digest", shown["digest"])
    return found


def test_an_edited_call_is_done_in_place_of_the_proposed_one_held_and_parked(
    supervisor: SupervisorProcess, tmp_path: Path
) -> None:
    """The agent goes on with an outcome that says so; the gateway finds it as recorded."""
    supervisor.script([write("a.txt", "A")], [write("b.txt", "B")], [text("both")])
    supervisor.start()
    supervisor.publish(approvals='[approvals]\nhold = "4s"')
    run = supervisor.send()
    supervisor.until(run, "held")
    (first,) = supervisor.queue(run)
    refused = supervisor.run("show", first["id"], "--edit", edited(tmp_path, file_path="../x", content="x"))
    assert (refused.returncode, "cannot edit" in refused.stderr) == (7, True), refused.stderr
    file = edited(tmp_path, file_path="held.txt", content="changed\n")
    wrong = supervisor.run("approve", first["id"], "--edit", file, "--yes", "--digest", first["digest"])
    assert wrong.returncode == 6
    found = approve(supervisor, first["id"], file)
    assert (found["state"], found["edited_by"] is not None, found["proposed"]["input"]["content"]) == ("done", True, "A")
    supervisor.until(run, "parked")
    (second,) = supervisor.queue(run)
    approve(supervisor, second["id"], edited(tmp_path, file_path="parked.txt", content="B"))
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["state"], ended["reply"]) == ("replied", "both"), supervisor.log
    assert sorted(path.name for path in supervisor.cwd.iterdir()) == ["held.txt", "parked.txt"]
    assert all("A person changed this call" in call["outcome"] for call in ended["calls"])
    assert supervisor.run("undo", first["id"]).returncode == 0
    assert [path.name for path in supervisor.cwd.iterdir()] == ["parked.txt"]
    events = [one["event"] for one in supervisor.ask("show", first["id"])["history"]]
    assert events[:5] == ["approval.request", "approval.mismatch", "approval.edit", "approval.approve", "approval.execute"]


def test_a_grant_runs_what_it_covers_as_often_as_granted_until_it_is_revoked(supervisor: SupervisorProcess) -> None:
    turns = [
        [write("out/1.md", "1"), write("other.md", "x")],
        [write("out/2.md", "2")],
        [write("out/3.md", "3")],
        [text("end")],
    ]
    supervisor.script(*turns)
    supervisor.start()
    supervisor.publish(strict="false")
    given = supervisor.ask("grant", "tester", "Write", "--path", "out", "--for", "1h", "--uses", "2", "--yes")
    run = supervisor.send()
    supervisor.until(run, "held")
    (other,) = supervisor.queue(run)
    assert other["why"] == "not_covered"
    eventually(lambda: True if (supervisor.cwd / "out" / "1.md").exists() else None, "what the grant covers is done")
    assert supervisor.ask("show", given["id"])["used"] == 1
    supervisor.kill()
    supervisor.start()
    assert supervisor.run("deny", other["id"]).returncode == 0

    def third() -> dict[str, Any] | None:
        waiting = supervisor.queue(run)
        return waiting[0] if waiting else None

    waits = eventually(third, "the call over the count waits for a person")
    assert (supervisor.cwd / "out" / "2.md").read_text() == "2"
    assert supervisor.ask("show", given["id"])["state"] == "used up"
    assert supervisor.ask("grants")["grants"] == []
    assert supervisor.run("revoke", given["id"]).returncode == 0
    assert supervisor.approve(waits).returncode == 0
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["state"], [call["rule"] for call in ended["calls"]]) == (
        "replied",
        ["grant", "not_covered", "grant", "not_covered"],
    ), supervisor.log
    assert not (supervisor.cwd / "other.md").exists()
