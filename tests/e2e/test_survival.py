"""A waiting call costs nothing and outlives container and supervisor (issue 3, invariants 4 and 11)."""

from __future__ import annotations

import subprocess

import pytest

from tests.helpers.supervisor_process import SupervisorProcess, eventually, text, use, write

pytestmark = pytest.mark.docker

TURN = [
    text("read, then three writes"),
    use("Read", file_path="/workspace/in.txt"),
    write("a.txt", "A"),
    write("b.txt", "B"),
    use("Bash", command="ls"),
    write("c.txt", "C"),
]


def prepared(supervisor: SupervisorProcess, *, hold: str) -> str:
    """A started supervisor with a run that waits for three approvals."""
    (supervisor.cwd / "in.txt").write_text("INSIDE-DATA\n")
    supervisor.script(TURN, [text("All done.")])
    supervisor.start()
    supervisor.publish(approvals=f'[approvals]\nhold = "{hold}"')
    run = supervisor.send()
    supervisor.until(run, "held", "parked")
    return run


def finish(supervisor: SupervisorProcess, run: str) -> None:
    """Approve what waits and see that everything happened once, with every outcome told."""
    waiting = supervisor.queue(run)
    assert [row["tool"] for row in waiting] == ["Write", "Write", "Write"]
    for row in waiting:
        assert supervisor.approve(row).returncode == 0
    ended = supervisor.until(run, "replied", "failed")
    assert (ended["state"], ended["reply"]) == ("replied", "All done."), (ended, supervisor.log)
    assert {name: (supervisor.cwd / f"{name}.txt").read_text() for name in "abc"} == {"a": "A", "b": "B", "c": "C"}
    writes = [call["outcome"] for call in ended["calls"] if call["tool"] == "Write"]
    assert writes == [f"Created /workspace/{name}.txt: 1 bytes written." for name in "abc"]


def test_a_parked_run_has_no_container_and_goes_on_when_all_its_calls_are_decided(supervisor: SupervisorProcess) -> None:
    """Design.md §3.6-3.8, L6."""
    run = prepared(supervisor, hold="0s")
    supervisor.until(run, "parked")
    assert supervisor.containers() == []
    finish(supervisor, run)
    assert [segment["segment"] for segment in supervisor.show(run)["segments"]] == [0, 1]


def test_an_effect_happens_at_once_whether_the_run_is_parked_or_not(supervisor: SupervisorProcess) -> None:
    """Design.md §3.7: the supervisor acts in its own time, with no container in existence."""
    run = prepared(supervisor, hold="0s")
    supervisor.until(run, "parked")
    first = supervisor.queue(run)[0]
    assert supervisor.approve(first).returncode == 0
    assert (supervisor.cwd / "a.txt").read_text() == "A"
    assert supervisor.show(run)["state"] == "parked"
    supervisor.run("stop", run)


def test_a_denied_call_of_a_parked_turn_is_told_like_the_others(supervisor: SupervisorProcess) -> None:
    """R40: none lost, none done that was refused."""
    run = prepared(supervisor, hold="0s")
    supervisor.until(run, "parked")
    first, second, third = supervisor.queue(run)
    supervisor.approve(third)
    supervisor.run("deny", second["id"], "--reason", "not b")
    supervisor.approve(first)
    ended = supervisor.until(run, "replied")
    assert sorted(path.name for path in supervisor.cwd.iterdir()) == ["a.txt", "c.txt", "in.txt"]
    assert "not b" in [call["outcome"] for call in ended["calls"]][2]


def test_killing_the_supervisor_while_a_run_is_held_loses_nothing(supervisor: SupervisorProcess) -> None:
    """M8, L6, H2, case 97: kill -9, start again, approve, done; no container is left over."""
    run = prepared(supervisor, hold="50s")
    before = [(row["id"], row["digest"]) for row in supervisor.queue(run)]
    supervisor.kill()
    assert len(supervisor.containers()) == 1
    supervisor.start()
    assert supervisor.containers() == []
    assert [(row["id"], row["digest"]) for row in supervisor.queue(run)] == before
    finish(supervisor, run)


def test_killing_the_supervisor_while_a_run_is_parked_loses_nothing(supervisor: SupervisorProcess) -> None:
    """Invariant 11: a parked run is rows only."""
    run = prepared(supervisor, hold="0s")
    supervisor.until(run, "parked")
    supervisor.kill()
    supervisor.start()
    finish(supervisor, run)


def test_killing_the_supervisor_between_two_decisions_loses_neither(supervisor: SupervisorProcess) -> None:
    """B8: what was done stays done and is not done again."""
    run = prepared(supervisor, hold="50s")
    first, *rest = supervisor.queue(run)
    assert supervisor.approve(first).returncode == 0
    (supervisor.cwd / "a.txt").write_text("changed by a person since")
    supervisor.kill()
    supervisor.start()
    for row in rest:
        assert supervisor.approve(row).returncode == 0
    assert supervisor.until(run, "replied")["reply"] == "All done."
    assert (supervisor.cwd / "a.txt").read_text() == "changed by a person since"


def test_a_run_killed_while_it_starts_or_runs_goes_on_from_its_rows(supervisor: SupervisorProcess) -> None:
    """Recovery while starting or running: it is done again from what is on record."""
    supervisor.script([use("Glob", pattern="**/*")], [text("seen")])
    supervisor.start()
    supervisor.publish()
    runs = []
    for _ in range(3):
        run = supervisor.send()
        eventually(lambda run=run: True if supervisor.show(run)["state"] != "queued" else None, "it is taken")
        supervisor.kill()
        supervisor.start()
        runs.append(run)
    for run in runs:
        assert supervisor.until(run, "replied", "failed")["reply"] == "seen", supervisor.log


def test_a_run_killed_while_it_is_queued_is_still_run(supervisor: SupervisorProcess) -> None:
    """H3: what was accepted is written before the answer."""
    supervisor.script([text("here")])
    supervisor.start()
    supervisor.publish()
    run = supervisor.send()
    supervisor.kill()
    supervisor.start()
    assert supervisor.until(run, "replied")["reply"] == "here"


def test_a_container_that_dies_while_calls_wait_is_a_parked_run(supervisor: SupervisorProcess) -> None:
    """L10, case 64: the approval stands and a fresh container goes on."""
    run = prepared(supervisor, hold="50s")
    (container,) = supervisor.containers()
    subprocess.run(["docker", "kill", container], check=True, capture_output=True)
    supervisor.until(run, "parked")
    finish(supervisor, run)


def test_sigterm_parks_what_waits_and_the_next_supervisor_finishes_it(supervisor: SupervisorProcess) -> None:
    """SIGTERM drains: held runs park, containers go, exit code 0."""
    run = prepared(supervisor, hold="50s")
    assert supervisor.stop() == 0
    assert supervisor.containers() == []
    supervisor.start()
    assert supervisor.show(run)["state"] == "parked"
    finish(supervisor, run)


def test_a_second_supervisor_on_the_same_state_directory_is_refused(supervisor: SupervisorProcess) -> None:
    """Issue 2, bad input; M8: two supervisors can never adopt the same runs."""
    supervisor.start()
    second = supervisor.run("serve")
    assert second.returncode == 9
    assert "another supervisor" in second.stderr
    assert "hint:" in second.stderr
    assert supervisor.run("status").returncode == 0
