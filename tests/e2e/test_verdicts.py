"""Verdicts saved while runs are under way, on real parts: blocks, standing allows, asked reads, retired agents (issue 4)."""

from __future__ import annotations

import json

import pytest

from tests.e2e.test_strangers_apart import add
from tests.helpers.supervisor_process import SupervisorProcess, text, use, write

pytestmark = pytest.mark.docker


def test_a_tool_blocked_while_its_call_waits_cannot_be_approved_and_survives_a_restart(supervisor: SupervisorProcess) -> None:
    """R74, R109, R110, R125, R139."""
    supervisor.script([write("no.txt", "x")], [write("again.txt", "x")], [text("understood")])
    supervisor.start()
    supervisor.publish()
    run = supervisor.send()
    supervisor.until(run, "held")
    (waiting,) = supervisor.queue(run)
    saved = supervisor.ask("tools", "set", "tester", "Write", "block")
    assert (saved["saved"], saved["waiting"]) == ("block", [waiting["id"]])
    refused = supervisor.approve(waiting)
    assert (refused.returncode, "the owner blocked Write for tester" in refused.stderr) == (7, True)
    explained = supervisor.ask("explain", "tester", "Write", '{"file_path": "no.txt", "content": "x"}')
    assert (explained["verdict"], explained["rank"], explained["rule"]) == ("deny", 1, "blocked")
    supervisor.kill()
    supervisor.start()
    assert supervisor.approve(waiting).returncode == 7
    assert supervisor.run("deny", waiting["id"]).returncode == 0
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["state"], ended["calls"][1]["rule"]) == ("replied", "blocked")
    assert "Do not retry" in ended["calls"][1]["reason"]
    assert list(supervisor.cwd.iterdir()) == []


def test_a_standing_allow_runs_a_write_unasked_and_is_given_with_a_decision(supervisor: SupervisorProcess) -> None:
    """R72, R138, R144: approved once with --always, done unasked the next time, asked again after a reset.

    R33, R35: but asked about in a run that was made strict, and nothing of a contact reaches such an agent before it is let in.
    """
    supervisor.script([write("one.txt", "1")], [write("two.txt", "2")], [text("both done")])
    supervisor.start()
    supervisor.publish(strict="false")
    run = supervisor.send()
    supervisor.until(run, "held")
    (waiting,) = supervisor.queue(run)
    done = supervisor.run("approve", waiting["id"], "--digest", waiting["digest"], "--yes", "--always", "--json")
    assert (done.returncode, json.loads(done.stdout)["saved"]) == (0, "allow")
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["reply"], [call["rule"] for call in ended["calls"]]) == ("both done", ["not_covered", "saved_allow"])
    assert [call["outcome"] for call in ended["calls"]] == [
        "Created /workspace/one.txt: 1 bytes written.",
        "Created /workspace/two.txt: 1 bytes written.",
    ]
    assert {path.name: path.read_text() for path in supervisor.cwd.iterdir()} == {"one.txt": "1", "two.txt": "2"}
    for path in supervisor.cwd.iterdir():
        path.unlink()
    strict = supervisor.send("go", "--strict")
    asked = supervisor.until(strict, "held")
    assert (asked["strict"], [call["verdict"] for call in asked["calls"]]) == (True, ["ask"])
    assert supervisor.run("stop", strict).returncode == 0
    add(supervisor, "maria")
    supervisor.publish(strict="false", contacts=' ["maria"]')
    stub = supervisor.ask("send", "tester", "--note", "x", "--as", "maria")
    assert (stub["run"], stub["state"]) == (None, "stub")
    run = supervisor.ask("accept", stub["capture"])["run"]
    assert supervisor.until(run, "held")["strict"] is True
    assert supervisor.run("stop", run).returncode == 0
    assert supervisor.ask("tools", "reset", "tester") == {"agent": "tester", "reset": ["Write"]}
    again = supervisor.ask("explain", "tester", "Write", '{"file_path": "x", "content": "x"}')
    assert (again["verdict"], again["rule"]) == ("ask", "not_covered")


def test_reads_ask_under_the_policy_ask_and_run_when_approved_held_or_parked(supervisor: SupervisorProcess) -> None:
    """R68, C1; the second is approved while no container exists."""
    (supervisor.cwd / "in.txt").write_text("INSIDE-DATA\n")
    call = use("Read", file_path="/workspace/in.txt")
    supervisor.script([call], [use("Grep", pattern="INSIDE", output_mode="content")], [text("read twice")])
    supervisor.start()
    supervisor.publish(policy='"ask"', approvals='[approvals]\nhold = "3s"')
    run = supervisor.send()
    supervisor.until(run, "held")
    (first,) = supervisor.queue(run)
    assert supervisor.approve(first).returncode == 0
    supervisor.until(run, "parked")
    (second,) = supervisor.queue(run)
    assert supervisor.approve(second).returncode == 0
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["state"], ended["reply"]) == ("replied", "read twice"), (ended, supervisor.log)
    assert [(one["tool"], one["verdict"], one["outcome"]) for one in ended["calls"]] == [
        ("Read", "ask", "Approved; it runs in the container."),
        ("Grep", "ask", "Approved; it runs in the container."),
    ]


def test_a_retired_agent_takes_no_capture_and_its_run_finishes_with_its_own_profile(supervisor: SupervisorProcess) -> None:
    """Issue 4 item 5: retire, and runs refer to the digest they were queued with."""
    supervisor.script([write("late.txt", "x")], [text("finished")])
    supervisor.start()
    supervisor.publish()
    run = supervisor.send()
    supervisor.until(run, "held")
    supervisor.publish(tools=' ["Read"]')
    assert supervisor.run("profile", "retire", "tester").returncode == 0
    refused = supervisor.run("send", "tester", "--note", "hello")
    assert (refused.returncode, "retired" in refused.stderr) == (3, True)
    assert supervisor.run("explain", "tester").returncode == 3
    assert supervisor.approve(supervisor.queue(run)[0]).returncode == 0
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["reply"], (supervisor.cwd / "late.txt").read_text()) == ("finished", "x")
    supervisor.publish()
    assert supervisor.ask("explain", "tester", "Write", '{"file_path": "x", "content": "x"}')["verdict"] == "ask"
