"""The kill table: SIGKILL at every arrow of the state tables, then a new supervisor; nothing lost, doubled or left.

Each case drives one run with two gated edits over a real supervisor, engine and CLI; the supervisor is killed around the
transaction of one event. Counted per state: runs that did not end as they should, approvals that disappeared, effects that
happened twice, effects nobody approved, containers that were left. Usage: python -m campaigns.kills [ROUNDS]
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from runner.errors import RunnerError
from tests.helpers.supervisor_process import SupervisorProcess, eventually, text, use

#: State in which the kill finds the run → the failpoints that put it there. `hold` alternates between parked and held.
POINTS: dict[str, tuple[str, ...]] = {
    "queued": ("run.queue:before", "run.queue:after", "run.claim:before", "capture.receive:after", "run.queue:after"),
    "starting": ("run.claim:after", "run.start:before", "run.claim:after", "run.start:before", "run.claim:after"),
    "running": ("run.start:after", "call.decide:before", "run.start:after", "call.decide:before", "run.reply:before"),
    "held": ("run.hold:before", "run.hold:after", "approval.request:after", "approval.request:before", "run.release:before"),
    "deciding": (
        *("approval.approve:before", "approval.approve:after", "approval.deny:before", "approval.deny:after"),
        "approval.approve:after:2",
    ),
    "executing": (
        *("approval.execute:before", "approval.execute:after", "approval.succeed:before", "approval.succeed:after"),
        "approval.execute:after:2",
    ),
    "parked": ("run.park:before", "run.park:after", "run.park:after", "approval.succeed:before:2", "run.park:before"),
    "resuming": ("run.resume:before", "run.resume:after", "run.claim:after:2", "run.start:before:2", "run.start:after:2"),
    "ending": ("run.reply:before", "run.reply:after", "approval.deliver:before", "approval.deliver:after", "run.release:after"),
}


@dataclass
class Count:
    """What went wrong; all zeros is the goal. `fired`: how many of the kills really happened."""

    kills: int = 0
    fired: int = 0
    lost_runs: int = 0
    lost_approvals: int = 0
    doubled: int = 0
    unapproved: int = 0
    containers: int = 0

    @property
    def clean(self) -> bool:
        """Nothing went wrong."""
        return not any(getattr(self, field.name) for field in fields(self) if field.name not in ("kills", "fired"))

    def add(self, other: Count) -> None:
        """Sum up."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


def edit(letter: str) -> dict[str, object]:
    """An edit that shows how often it was done: each time adds a line."""
    return use("mcp__runner__Edit", file_path="log.txt", old_string="end\n", new_string=f"{letter}\nend\n")


def scripted(supervisor: SupervisorProcess) -> None:
    """One read and two gated edits in a turn, then the answer."""
    (supervisor.cwd / "log.txt").write_text("start\nend\n")
    (supervisor.cwd / "other.txt").write_text("end\n")
    second = use("mcp__runner__Edit", file_path="other.txt", old_string="end\n", new_string="B\nend\n")
    supervisor.script([use("Read", file_path="log.txt"), edit("A"), second], [text("All done.")])


def killed_at(point: str, home: Path, *, hold: str) -> Count:
    """One case: a supervisor that dies at `point`, and one that takes over."""
    supervisor = SupervisorProcess(home)
    scripted(supervisor)
    supervisor.start()
    supervisor.publish(approvals=f'[approvals]\nhold = "{hold}"')
    supervisor.stop()
    supervisor.environment["RUNNER_FAILPOINT"] = point
    supervisor.start()
    decided: dict[str, str] = {}
    sent = supervisor.run("send", "tester", "--note", "go", "--json")
    with contextlib.suppress(RunnerError, AssertionError, OSError, ValueError):  # it dies under our hands, as it was told to
        drive(supervisor, decided, deny="deny" in point)
    fired = died(supervisor)
    supervisor.environment.pop("RUNNER_FAILPOINT")
    if fired:
        supervisor.process = None
        supervisor.start()
    count = Count(kills=1, fired=int(fired))
    if sent.returncode == 0 or supervisor.ask("runs")["runs"]:
        finish(supervisor, decided, count, deny="deny" in point)
    count.containers = len(supervisor.containers())
    supervisor.stop()
    count.containers += len(supervisor.containers())
    return count


def died(supervisor: SupervisorProcess) -> bool:
    """Whether the process ended by itself."""
    assert supervisor.process is not None
    return supervisor.process.poll() is not None


def drive(supervisor: SupervisorProcess, decided: dict[str, str], *, deny: bool) -> None:
    """Decide whatever waits until the run has ended or the supervisor is gone."""

    def look() -> bool | None:
        if died(supervisor):
            return True
        for row in supervisor.queue():
            answer = "denied" if deny and row["tool"] == "Edit" and not decided else "approved"
            decided[row["id"]] = answer
            if answer == "denied":
                supervisor.run("deny", row["id"], "--reason", "no")
            else:
                supervisor.approve(row)
        runs = supervisor.ask("runs")["runs"]
        return True if runs and runs[0]["state"] in ("replied", "failed", "cancelled", "lost") else None

    eventually(look, "the run ends or the supervisor dies")


def finish(supervisor: SupervisorProcess, decided: dict[str, str], count: Count, *, deny: bool) -> None:
    """Let the second supervisor bring the run to its end, then count."""
    try:
        drive(supervisor, decided, deny=deny)
    except AssertionError:
        count.lost_runs += 1
    run = supervisor.ask("runs")["runs"][0]["id"]
    shown = supervisor.show(run)
    if (shown["state"], shown["reply"]) != ("replied", "All done."):
        print(f"    {run} is {shown['state']}: {shown['reason']}", file=sys.stderr)
        count.lost_runs += 1
    edits = [call for call in shown["calls"] if call["tool"] == "Edit"]
    count.lost_approvals += sum(1 for call in edits if call["verdict"] == "ask" and call["outcome"] is None)
    for name, letter in (("log.txt", "A"), ("other.txt", "B")):
        times = (supervisor.cwd / name).read_text().splitlines().count(letter)
        told = [call["outcome"] for call in edits if name in call["input"]]
        done = any(str(outcome).startswith(("Edited", "Done")) for outcome in told)
        count.doubled += times > 1
        count.unapproved += times == 1 and "approved" not in decided.values()
        count.lost_approvals += done and times == 0


def cases(rounds: int) -> Iterator[tuple[str, str, str]]:
    """State, failpoint, hold."""
    for state, points in POINTS.items():
        for number in range(rounds):
            yield state, points[number % len(points)], "0s" if state in ("parked", "resuming") or number % 2 else "50s"


def main(rounds: int) -> int:
    """Print the table; 1 when anything was lost, doubled or left."""
    table: dict[str, Count] = {state: Count() for state in POINTS}
    for state, point, hold in cases(rounds):
        with tempfile.TemporaryDirectory(prefix="kills-") as folder:
            count = killed_at(point, Path(folder) / "home", hold=hold)
        print(f"  {state:10} {point:28} hold {hold:4} {'ok' if count.clean else count}", flush=True)
        table[state].add(count)
    names = [field.name for field in fields(Count)]
    print(f"\n{'state':10} " + " ".join(f"{name:>14}" for name in names))
    for state, count in table.items():
        print(f"{state:10} " + " ".join(f"{getattr(count, name):14}" for name in names))
    return 0 if all(count.clean for count in table.values()) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
