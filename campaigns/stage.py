"""A supervisor, real engine and real CLI, on which one case after another is played; how a case is looked at afterwards.

One home serves many cases: its agents are published once, and every case has a run of its own and fresh files.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from campaigns.engine import containers
from campaigns.tally import Count
from runner.api.client import Client
from runner.broker import UNDO
from runner.errors import RunnerError
from runner.lifecycle import APPROVAL_ENDS, RUN_ENDS, ApprovalEvent, ApprovalState
from runner.model import JsonObject
from runner.store import ApprovalRow, Connection, RunRow, Store, audit, runs
from runner.store import approvals as rows
from tests.helpers.own_engine import OwnEngine
from tests.helpers.stored import url
from tests.helpers.supervisor_process import SupervisorProcess, text, use

T = TypeVar("T")
FILES = {"log.txt": "A", "other.txt": "B"}
ENDED = {state.value for state in RUN_ENDS}
#: Seconds after which a case has failed.
PATIENCE = 60.0


class DiedError(Exception):
    """The supervisor is gone, as it was told to."""


def edit(name: str) -> dict[str, Any]:
    """An edit that shows how often it was done: each time adds a line."""
    return use("mcp__runner__Edit", file_path=name, old_string="end\n", new_string=f"{FILES[name]}\nend\n")


EDITS = [[use("Read", file_path="log.txt"), edit("log.txt"), edit("other.txt")], [text("All done.")]]
#: Agent → what its model says.
SCRIPTS: Mapping[str, Any] = {
    "holder": EDITS,
    "parker": EDITS,
    "brief": EDITS,
    "soon": EDITS,
    "loose": EDITS,
    "pair": [EDITS[0][1:], EDITS[1]],  # without a read, which taints a run and keeps its calls out of batches (D4)
    "short": [[use("Read", file_path="log.txt")], [text("All done.")]],
    "slow": [{"blocks": [use("Read", file_path="log.txt")]}, {"blocks": [text("All done.")], "delay": 4}],
}
#: Agent → what its profile has of its own.
PROFILES: Mapping[str, Mapping[str, str]] = {
    "holder": {"approvals": '[approvals]\nhold = "50s"'},
    "parker": {"approvals": '[approvals]\nhold = "0s"'},
    "pair": {"approvals": '[approvals]\nhold = "0s"'},
    "brief": {"approvals": '[approvals]\nhold = "50s"\nexpires = "4s"'},
    "soon": {"approvals": '[approvals]\nhold = "1s"'},
    "loose": {"strict": "false", "approvals": '[approvals]\nhold = "0s"'},
    "short": {"limits": "[limits]\nturns = 1"},
    "slow": {},
}


@dataclass
class Stage:
    """A home with its supervisor, and the case that is on."""

    supervisor: SupervisorProcess
    agent: str = "holder"
    run: str | None = None
    memory: dict[str, Any] = field(default_factory=dict)  #: what a scene notes for its next supervisor
    first: str = "holder"  #: the agent that was published first
    engine: OwnEngine | None = None  #: whose containers are looked at; None: the machine's
    _seen: set[str] = field(default_factory=set)

    @classmethod
    def built(
        cls,
        home: Path,
        *,
        agents: Collection[str] = tuple(PROFILES),
        environment: Mapping[str, str] | None = None,
        process: type[SupervisorProcess] = SupervisorProcess,
    ) -> Stage:
        """A stage whose agents are published; its supervisor runs."""
        supervisor = process(home, dict(environment or {}))
        supervisor.script_file.write_text(json.dumps({"scripts": {name: SCRIPTS[name] for name in agents}}))
        stage = cls(supervisor)
        stage.reset(stage.first)
        supervisor.start()
        for name in agents:
            supervisor.publish(name, **PROFILES[name])
        return stage

    def left(self) -> list[str]:
        """Containers of this supervisor, running or not."""
        if self.engine is not None:
            return self.engine.docker("ps", "-aq").stdout.split()
        return containers(f"runner.state={self.supervisor.label}")

    def stored(self, read: Callable[[Connection], T]) -> T:
        """Read the rows while no supervisor runs."""
        store = Store(url(self.supervisor.state / "runner.db"))
        store.open()
        try:
            with store.reading() as conn:
                return read(conn)
        finally:
            store.close()

    def newest(self, conn: Connection) -> RunRow | None:
        """The case's run by the rows alone."""
        found = [row for row in runs.list(conn, agent=self.agent) if row.id not in self._seen]
        return found[0] if found else None

    def reset(self, agent: str) -> None:
        """A new case with fresh files."""
        if self.run is not None:
            self._seen.add(self.run)
        self.agent, self.run, self.memory = agent, None, {}
        self.cwd.mkdir(exist_ok=True)
        for name in FILES:
            (self.cwd / name).write_text("start\nend\n")

    def start(self, failpoint: str | None = None) -> None:
        """Start a supervisor, one that dies at a failpoint where one is given."""
        self.supervisor.environment.pop("RUNNER_FAILPOINT", None)
        if failpoint is not None:
            self.supervisor.environment["RUNNER_FAILPOINT"] = failpoint
        try:
            self.supervisor.start()
        except AssertionError:
            if failpoint is None or not self.dead:
                raise

    def end(self) -> None:
        """Leave no supervisor, and no container of one that was killed."""
        if not self.dead:
            self.supervisor.kill()
        self.supervisor.process = None
        for one in self.left():
            subprocess.run(["docker", "rm", "--force", one], env=self.supervisor.variables, capture_output=True, check=False)

    @property
    def cwd(self) -> Path:
        """The directory of the case's agent; the one published first has the home's, the others one each."""
        return self.supervisor.cwd if self.agent == self.first else self.supervisor.home / f"agent-{self.agent}"

    @property
    def dead(self) -> bool:
        """Whether the supervisor ended by itself."""
        process = self.supervisor.process
        return process is None or process.poll() is not None

    def ask(self, work: Callable[[Client], T]) -> T:
        """Ask the supervisor something.

        Raises:
            DiedError: It is gone.
            RunnerError: As it answered.
        """
        try:
            with Client(self.supervisor.state / "control.sock") as client:
                return work(client)
        except RunnerError:
            self.alive()
            raise

    def alive(self) -> None:
        """Raise where the supervisor is gone; a kill is seen only a moment after the connection broke."""
        for _ in range(5):
            if self.dead:
                raise DiedError
            time.sleep(0.01)

    def tell(self, *segments: str, **body: Any) -> JsonObject | None:
        """Ask for something to be done; None where the supervisor refuses."""
        try:
            return self.post(*segments, **body)
        except RunnerError:
            return None

    def post(self, *segments: str, **body: Any) -> JsonObject:
        """Ask for something to be done.

        Raises:
            RunnerError: As it was refused.
        """
        found: Any = self.ask(lambda client: client.post(*segments, body=body))
        return dict(found)

    def send(self) -> str:
        """The case's run, sent unless the supervisor before this one took it."""
        if self.run is None:
            listed: Any = self.ask(lambda client: client.get("runs", agent=self.agent))
            fresh = [one["id"] for one in listed if one["id"] not in self._seen]
            sent: Any = {"run": fresh[0]} if fresh else None
            sent = sent or self.ask(lambda client: client.post("captures", body={"agent": self.agent, "note": "go"}))
            self.run = str(sent["run"])
        return self.run

    def look(self) -> JsonObject:
        """The run as it is."""
        run = self.send()
        return self.ask(lambda client: client.record("runs", run))

    def state(self) -> str:
        """The run's state."""
        return str(self.look()["state"])

    def queue(self, *states: str) -> list[dict[str, Any]]:
        """The run's approvals in these states; without any, those that wait for a person."""
        found: Any = self.ask(lambda client: client.get("approvals", run=self.send(), state=list(states) or None))
        return list(found["approvals"])

    def approve(self, approval: Mapping[str, Any]) -> JsonObject | None:
        """Say yes to exactly what was listed."""
        return self.tell("approvals", approval["id"], "approve", digest=approval["digest"])

    def until(self, look: Callable[[], T | None], what: str) -> T:
        """The first thing `look` gives that is not None.

        Raises:
            DiedError: The supervisor is gone.
            AssertionError: It did not come about.
        """
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = look()
            if found is not None:
                return found
            self.alive()
            time.sleep(0.05)
        raise AssertionError(f"{what}: did not happen; {self.look()}")

    def reaches(self, *states: str) -> str:
        """Wait until the run is in one of the states, or has ended."""
        return self.until(lambda: found if (found := self.state()) in {*states, *ENDED} else None, " or ".join(states))

    def approve_all(self) -> None:
        """Approve whatever waits until the run has ended."""

        def look() -> bool | None:
            for approval in self.queue():
                self.approve(approval)
            return True if self.state() in ENDED else None

        self.until(look, "the run ends")

    def judge(self, count: Count, *, ends: Collection[str] = ("replied",)) -> None:
        """Count what went wrong with the run; the supervisor must be up and the case played to its end."""
        with contextlib.suppress(AssertionError):
            self.until(lambda: None if self.left() else True, "no container is left")
        count.containers += len(self.left())
        self.supervisor.kill()
        run, found, histories, broken = self.stored(self._record)
        count.lost_runs += run is None or run.state.value not in ends
        count.audit += broken
        for row in found:
            count.lost_approvals += row.state not in APPROVAL_ENDS
            _judge(row, histories[row.id], count)
        self._judge_files(found, count)

    def _record(self, conn: Connection) -> tuple[RunRow | None, tuple[ApprovalRow, ...], dict[str, list[str]], bool]:
        run = self.newest(conn)
        found = () if run is None else rows.list(conn, run=run.id)
        histories = {str(row.id): [one.event for one in audit.of_subject(conn, row.id)] for row in found}
        return run, found, histories, audit.verify(conn) is not None

    def _judge_files(self, found: Collection[ApprovalRow], count: Count) -> None:
        undone = {str(row.raw) for row in found if row.tool == UNDO and row.state is ApprovalState.DONE}
        for name, letter in FILES.items():
            if name in self.memory:  # somebody else wrote it meanwhile: the scene's own check
                continue
            times = (self.cwd / name).read_text().splitlines().count(letter)
            edits = [row for row in found if row.tool == "Edit" and name in row.raw and row.state is ApprovalState.DONE]
            there = bool(edits) and not any(row.id in one for row in edits for one in undone)
            count.doubled += times > 1
            count.unapproved += times > 0 and not there
            count.lost_approvals += there and times == 0


def _judge(row: ApprovalRow, history: list[str], count: Count) -> None:
    """An effect begins after a yes, and again only after proof that it did not happen."""
    begun = f"approval.{ApprovalEvent.EXECUTE.value}"
    again = f"approval.{ApprovalEvent.NOT_HAPPENED.value}"
    yes = f"approval.{ApprovalEvent.APPROVE.value}"
    count.doubled += history.count(begun) > 1 + history.count(again)
    if begun in history:
        count.unapproved += yes not in history[: history.index(begun)]
    if row.state is ApprovalState.DONE:
        count.unapproved += yes not in history
