"""A budget that is spent: the run waits for a person and loses nothing (M11)."""

from __future__ import annotations

import json

import pytest

from runner.gateway import MIN_REPLY
from tests.helpers.supervisor_process import SupervisorProcess, eventually, text, use, write

pytestmark = pytest.mark.docker

#: Room for one request of the script and not for a second.
LIMITS = f"[limits]\nbudget_tokens = {MIN_REPLY + 20}"


def test_a_spent_budget_parks_the_run_until_it_is_raised_and_no_work_is_lost(supervisor: SupervisorProcess) -> None:
    """Its first turn's read is not asked of the model again, a kill in between changes nothing, and the books add up."""
    (supervisor.cwd / "in.txt").write_text("INSIDE\n")
    supervisor.script([use("Read", file_path="in.txt")], [write("out.txt", "x")], [text("all done")])
    supervisor.start()
    supervisor.publish(limits=LIMITS)
    run = supervisor.send()
    waits = eventually(
        lambda: (shown := supervisor.show(run))["usage"]["waits_for"] and shown, lambda: str(supervisor.show(run))
    )
    assert (waits["state"], waits["word"], waits["usage"]["turns"]) == ("parked", "needs you", 1)
    assert f"the run's budget of {MIN_REPLY + 20} tokens is spent" in waits["progress"]
    (item,) = supervisor.ask("todo")["items"]
    assert (item["kind"], item["run"], item["command"]) == ("budget", run, f"runner run raise {run}")

    supervisor.kill()
    supervisor.start()
    assert supervisor.show(run)["state"] == "parked"
    refused = supervisor.run("run", "raise", run, "--usd", "1")
    assert (refused.returncode, "--tokens" in refused.stderr) == (2, True)
    assert supervisor.run("run", "raise", run, "--tokens", "100000").returncode == 0

    supervisor.until(run, "held")
    assert supervisor.ask("todo")["items"][0]["kind"] == "approval"
    assert supervisor.approve(supervisor.queue(run)[0]).returncode == 0
    ended = supervisor.until(run, "replied")
    assert (ended["reply"], ended["usage"]["turns"], ended["usage"]["waits_for"]) == ("all done", 3, None)
    assert [call["tool"] for call in ended["calls"]] == ["Read", "Write"]
    (row,) = supervisor.ask("usage", "--by", "agent")["rows"]
    assert (row["name"], row["requests"] >= 3, row["usd"] > 0) == ("tester", True, True)
    assert supervisor.run("audit", "verify").returncode == 0


def test_a_run_that_waits_for_a_budget_can_be_stopped(supervisor: SupervisorProcess) -> None:
    supervisor.script([use("Glob", pattern="*")], [text("all done")])
    supervisor.start()
    supervisor.publish(limits=LIMITS)
    run = supervisor.send()
    eventually(lambda: supervisor.show(run)["usage"]["waits_for"], lambda: str(supervisor.show(run)))
    assert supervisor.run("stop", run).returncode == 0
    assert supervisor.until(run, "cancelled")["usage"]["waits_for"] is None
    assert supervisor.ask("todo")["items"] == []
    late = supervisor.run("run", "raise", run, "--tokens", "1000")
    assert (late.returncode, "it has ended" in late.stderr) == (2, True)


def test_what_was_set_aside_when_a_supervisor_was_killed_is_charged_with_the_most_it_can_have_been(
    supervisor: SupervisorProcess,
) -> None:
    """M11: kill -9 between reserve and settle; nobody knows what came of the request, and the run goes on by itself."""
    supervisor.script_file.write_text(json.dumps([{"blocks": [text("never said")], "delay": 600}]))
    supervisor.start()
    supervisor.publish()
    run = supervisor.send()

    def booked() -> int:
        return sum(row["input_tokens"] + row["output_tokens"] for row in supervisor.ask("usage", "--by", "agent")["rows"])

    aside = eventually(lambda: booked() or None, "something is set aside")
    supervisor.kill()
    supervisor.script([text("all done")])
    supervisor.start()
    assert supervisor.until(run, "replied")["reply"] == "all done"
    assert 1000 < booked() <= aside + 1000
