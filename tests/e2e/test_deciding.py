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


def test_what_was_listed_is_approved_together_and_what_came_since_waits(supervisor: SupervisorProcess) -> None:
    """D4: by the list's token; then by ids with a wrong digest among them; then refused together."""
    supervisor.script([write("a.txt", "A"), write("b.txt", "B")], [text("both")])
    supervisor.start()
    supervisor.publish()
    first = supervisor.send()
    supervisor.until(first, "held")
    listed = supervisor.ask("approvals")
    second = supervisor.send()
    supervisor.until(second, "held")
    done = supervisor.run("approve", "--all-shown", listed["snapshot"], "--yes")
    assert (done.returncode, done.stdout.count("approved Write")) == (0, 2), done.stderr
    assert supervisor.until(first, "replied", "failed")["reply"] == "both"
    late = supervisor.queue()
    assert {one["run"] for one in late} == {second}
    wrong = [f"{late[0]['id']}={late[0]['digest']}", f"{late[1]['id']}={late[0]['digest']}"]
    assert supervisor.run("approve", *wrong, "--yes").returncode == 6
    assert supervisor.run("approve", "--all-shown", listed["snapshot"], "--yes").returncode == 4
    assert supervisor.run("approve", "--all-shown", "s_0", "--yes").returncode == 3
    assert [one["state"] for one in supervisor.queue(second)] == ["pending", "pending"]
    assert supervisor.run("deny", *[one["id"] for one in late]).returncode == 0
    assert supervisor.until(second, "replied", "failed")["state"] == "replied"


def test_an_agent_that_asks_again_for_what_was_denied_is_ended(supervisor: SupervisorProcess) -> None:
    """B10, L8: a person is asked once."""
    supervisor.script(*[[write("a.txt", "A")]] * 7)
    supervisor.start()
    supervisor.publish()
    run = supervisor.send()
    supervisor.until(run, "held")
    assert supervisor.run("deny", supervisor.queue(run)[0]["id"], "--reason", "not here").returncode == 0
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["state"], "5 of its calls were denied" in ended["reason"]) == ("failed", True), ended
    assert (len(ended["calls"]), supervisor.queue(run), list(supervisor.cwd.iterdir())) == (5, [], [])


def test_a_flood_of_calls_is_capped_and_the_model_is_told(supervisor: SupervisorProcess) -> None:
    """L8: distinct arguments; what is over the cap is refused, nobody is asked about it."""
    supervisor.script([write(f"{number}.txt", "x") for number in range(22)], [text("enough")])
    supervisor.start()
    supervisor.publish()
    run = supervisor.send()
    supervisor.until(run, "held")
    waiting = supervisor.queue(run)
    assert len(waiting) == 20
    listed = supervisor.ask("approvals")
    assert supervisor.run("deny", "--all-shown", listed["snapshot"]).returncode == 0
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["state"], ended["reply"], len(ended["calls"])) == ("replied", "enough", 22)
    assert all("already wait for a person" in call["outcome"] for call in ended["calls"][20:])
    assert list(supervisor.cwd.iterdir()) == []
