"""Deciding through the whole product: pause, extend, batches, and agents that ask again (issue 5 items 1 and 2)."""

from __future__ import annotations

import pytest

from tests.helpers.supervisor_process import SupervisorProcess, eventually, text, write

pytestmark = pytest.mark.docker


def test_a_pause_holds_everything_new_over_a_restart_and_then_all_goes_on(supervisor: SupervisorProcess) -> None:
    """R29, R30, L9, C14, K2."""
    supervisor.script([write("a.txt", "A")], [text("written")])
    supervisor.start()
    supervisor.publish(approvals='[approvals]\nhold = "1s"')
    run = supervisor.send()
    supervisor.until(run, "parked")
    (waiting,) = supervisor.queue(run)
    assert supervisor.run("pause", "--reason", "a look first").returncode == 0
    supervisor.kill()
    supervisor.start()
    assert supervisor.ask("status")["paused"]["reason"] == "a look first"
    refused = supervisor.run("send", "tester", "--note", "more")
    assert (refused.returncode, "is paused" in refused.stderr) == (8, True)
    assert supervisor.approve(waiting).returncode == 8
    assert (supervisor.show(run)["state"], supervisor.containers(), list(supervisor.cwd.iterdir())) == ("parked", [], [])
    assert supervisor.run("deny", waiting["id"]).returncode == 0
    assert supervisor.show(run)["state"] == "queued"
    assert supervisor.run("resume").returncode == 0
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["state"], ended["reply"]) == ("replied", "written"), supervisor.log
    assert len(supervisor.ask("runs")["runs"]) == 1


def test_a_call_that_waits_is_given_more_time(supervisor: SupervisorProcess) -> None:
    """L4: it outlives its first deadline and is carried out."""
    supervisor.script([write("a.txt", "A")], [text("written")])
    supervisor.start()
    supervisor.publish(approvals='[approvals]\nexpires = "12s"')
    run = supervisor.send()
    supervisor.until(run, "held")
    (waiting,) = supervisor.queue(run)
    assert supervisor.run("extend", waiting["id"], "--for", "1d").returncode == 2

    def given() -> bool | None:
        return True if supervisor.run("extend", waiting["id"], "--for", "6s").returncode == 0 else None

    eventually(given, "there is room for more time")
    (longer,) = supervisor.queue(run)
    assert (longer["expires"] - waiting["expires"], longer["digest"]) == (6, waiting["digest"])
    assert supervisor.approve(longer).returncode == 0
    assert supervisor.until(run, "replied", "failed")["reply"] == "written"
    events = [one["event"] for one in supervisor.ask("show", waiting["id"])["history"]]
    assert events.count("approval.extend") == 1
