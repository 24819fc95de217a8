"""The supervisor in the background, and what a person sees of it: up, down, doctor, log, watch, todo, settle (issue 3)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from runner import approvals
from runner.approvals import Approver
from runner.store import Store
from runner.supervisor.lock import holder
from tests.helpers.supervisor_process import PATIENCE, SupervisorProcess, eventually, text, write

pytestmark = pytest.mark.docker


@pytest.fixture
def background(supervisor: SupervisorProcess) -> Iterator[SupervisorProcess]:
    """A supervisor that `runner up` starts; whatever a test leaves of it is ended."""
    yield supervisor
    pid = holder(supervisor.state) if supervisor.state.exists() else None
    if pid:
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: True if holder(supervisor.state) is None else None, "it is gone")


def test_up_is_ready_when_it_returns_and_down_parks_what_runs(background: SupervisorProcess) -> None:
    """Issue 3 item 3: idempotent, a log in the state directory, a drain that is waited for, 9 when none runs."""
    background.script([write("a.txt", "A")], [text("done")])
    first = background.ask("up")
    assert first == {"pid": holder(background.state), "started": True, "log": str(background.state / "serve.log")}
    assert os.getsid(first["pid"]) == first["pid"]
    again = background.run("up")
    assert (again.returncode, again.stdout) == (0, f"runs already, pid {first['pid']}\n")
    background.publish()
    run = background.send()
    background.until(run, "held")
    stopped = background.run("down")
    assert stopped.returncode == 0, stopped.stderr
    assert stopped.stderr.startswith(f"stopping pid {first['pid']}; {run} parked first\n")
    assert background.containers() == []
    assert (background.run("status").returncode, background.run("down").returncode) == (9, 9)
    assert background.ask("up")["pid"] != first["pid"]
    (waiting,) = background.queue(run)
    assert background.show(run)["state"] == "parked"
    assert background.approve(waiting).returncode == 0
    assert background.until(run, "replied")["reply"] == "done"
    assert background.run("down", "--now").returncode == 0


def test_a_start_that_fails_says_why_and_leaves_nothing(background: SupervisorProcess) -> None:
    background.environment["RUNNER_MODEL"] = "scripted:/no/such/file.json"
    done = background.run("up")
    assert (done.returncode, done.stdout) == (9, "")
    assert "/no/such/file.json" in done.stderr
    assert holder(background.state) is None


def test_doctor_finds_nothing_wrong_here_and_what_is_broken_when_it_is(background: SupervisorProcess) -> None:
    """Issue 3 item 3: with a supervisor, without one, with a leftover container, with a model that cannot be used."""

    def levels() -> dict[str, str]:
        done = background.run("doctor", "--json")
        found = json.loads(done.stdout)
        assert done.returncode == (0 if found["ok"] else 1)
        assert all(check["fix"] for check in found["checks"] if check["level"] == "wrong")
        return {check["name"]: check["level"] for check in found["checks"]}

    before = levels()
    assert "wrong" not in before.values()
    assert not background.state.exists()
    background.script([write("a.txt", "A")])
    background.start()
    background.publish()
    run = background.send()
    background.until(run, "held")
    live = ("supervisor", "state directory", "database", "containers", "notices", "prices")
    assert levels() == before | dict.fromkeys(live, "fine")
    background.kill()
    background.environment["RUNNER_MODEL"] = "http://127.0.0.1:9"
    broken = levels()
    assert [name for name, level in broken.items() if level == "wrong"] == ["model", "containers"]
    del background.environment["RUNNER_MODEL"]
    background.start()
    background.run("stop", run)


def test_log_todo_and_watch_follow_a_run_to_its_end(supervisor: SupervisorProcess) -> None:
    supervisor.script([write("a.txt", "A")], [text("done")])
    supervisor.start()
    supervisor.publish()
    command = [sys.executable, "-m", "runner", "log", "--follow", "--json", "-n", "1"]
    with subprocess.Popen(command, env=supervisor.variables, stdout=subprocess.PIPE, text=True) as log:
        run = supervisor.send()
        supervisor.until(run, "held")
        (waiting,) = supervisor.queue(run)
        todo = supervisor.ask("todo")
        assert [(item["kind"], item["id"]) for item in todo["items"]] == [("approval", waiting["id"])]
        assert supervisor.run("todo", "-q").returncode == 1
        watched = subprocess.Popen(
            [sys.executable, "-m", "runner", "watch", "--exit-status", "--json-lines"],
            env=supervisor.variables,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert watched.stdout is not None
        assert json.loads(watched.stdout.readline())["approvals"] == [waiting["id"]]
        assert supervisor.approve(waiting).returncode == 0
        rest, _ = watched.communicate(timeout=PATIENCE)
        assert (watched.returncode, json.loads(rest.splitlines()[-1])["state"]) == (0, "replied")
        assert supervisor.run("todo", "-q").returncode == 0
        assert log.stdout is not None
        events = []
        while not events or events[-1]["event"] != "run.reply":
            events.append(json.loads(log.stdout.readline()))
        log.terminate()
    assert [event["seq"] for event in events] == list(range(events[0]["seq"], events[0]["seq"] + len(events)))
    who = {event["event"]: event["who"] for event in events}
    assert (who["capture.receive"], who["run.claim"], who["approval.approve"]) == ("owner", "supervisor", f"uid {os.getuid()}")


def test_what_a_killed_supervisor_left_unknown_waits_until_a_person_settles_it(supervisor: SupervisorProcess) -> None:
    """B9, invariant 4: the disk says neither before nor after, nothing is done again, the run goes on with a person's word."""
    supervisor.script([write("a.txt", "A")], [text("I see")])
    supervisor.start()
    supervisor.publish(approvals='[approvals]\nhold = "0s"')
    run = supervisor.send()
    supervisor.until(run, "parked")
    (waiting,) = supervisor.queue(run)
    supervisor.stop()
    interrupted_within(supervisor, waiting)
    (supervisor.cwd / "a.txt").write_text("neither")
    supervisor.start()
    (item,) = supervisor.ask("todo")["items"]
    assert (item["kind"], item["id"]) == ("unknown", waiting["id"])
    assert supervisor.show(run)["unknown"] == [waiting["id"]]
    assert "settle" in supervisor.show(run)["progress"]
    assert supervisor.approve(waiting).returncode == 4
    assert supervisor.run("settle", waiting["id"], "not-happened", "--reason", "I looked").returncode == 0
    ended = supervisor.until(run, "replied")
    assert (supervisor.cwd / "a.txt").read_text() == "neither"
    assert "a person looked and found that it was not done" in ended["calls"][0]["outcome"]
    assert supervisor.run("settle", waiting["id"], "happened").returncode == 4


def interrupted_within(supervisor: SupervisorProcess, waiting: dict[str, str]) -> None:
    """Put on record what a supervisor that dies within an effect leaves behind."""
    store = Store(f"sqlite:///{supervisor.state}/runner.db")
    store.open()
    with store.begin() as conn:
        row = approvals.find(conn, waiting["id"])
        me = Approver(uid=os.getuid(), channel="test")
        approvals.approve(conn, row.id, digest=row.approval_digest, who=me, now=row.created + 1)
        approvals.begin_effect(conn, row.id, now=row.created + 1)
    store.close()
