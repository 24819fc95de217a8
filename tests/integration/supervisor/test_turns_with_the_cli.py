"""Generated turns with the real CLI: parked, killed, decided in any order, and still nothing is lost or done twice (issue 3).

`RUNNER_TURNS` says how many runs are generated (12), `RUNNER_TURNS_SEED` where their seeds begin (1); a failure names its seed.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from runner.api.client import Client
from runner.sandbox.engine import ImageInfo
from tests.helpers.supervisor_process import PATIENCE, SupervisorProcess, eventually, labelled
from tests.integration.supervisor.model import Model
from tests.integration.supervisor.turns import Run, check_conversation, check_effects

pytestmark = pytest.mark.docker

COUNT = int(os.environ.get("RUNNER_TURNS", "12"))
FIRST = int(os.environ.get("RUNNER_TURNS_SEED", "1"))
ENDS = {"replied", "failed", "cancelled", "lost"}


@pytest.fixture
def model() -> Iterator[Model]:
    with Model().serving() as serving:
        yield serving


@pytest.fixture
def supervisor(tmp_path: Path, sandbox_image: ImageInfo, model: Model) -> Iterator[SupervisorProcess]:
    process = SupervisorProcess(tmp_path / "home", environment={"RUNNER_MODEL": model.url})
    yield process
    process.stop()
    assert process.containers() == []


class Players:
    """Plays persons and accidents for many runs at once, each by its own seed."""

    def __init__(self, supervisor: SupervisorProcess, model: Model, runs: list[Run]) -> None:
        self.supervisor = supervisor
        self.model = model
        self.runs = runs
        self.odd = random.Random(sum(run.seed for run in runs))

    def begin(self) -> None:
        """Publish every run's agent and send it a capture."""
        for run in self.runs:
            self.model.scripts[f"model-{run.name}"] = run.script
            self.supervisor.publish(
                run.name,
                model=json.dumps(f"model-{run.name}"),
                cwd=json.dumps(str(run.cwd)),
                approvals=f'[approvals]\nhold = "{run.hold}"',
            )
            run.id = self.supervisor.send(agent=run.name)

    def play(self, *, until: int = 0) -> None:
        """Decide and break things until that many runs are left that have not ended."""
        patience = time.monotonic() + PATIENCE + 20.0 * len(self.runs)
        while len(left := [run for run in self.runs if self.state(run) not in ENDS]) > until:
            assert time.monotonic() < patience, (
                [(run.seed, self.supervisor.show(run.id)) for run in left],
                self.supervisor.log,
            )
            for run in left:
                self.step(run)

    def state(self, run: Run) -> str:
        return str(self.supervisor.show(run.id)["state"])

    def step(self, run: Run) -> None:
        """Perhaps one thing happens to a run."""
        waiting = self.supervisor.queue(run.id)
        if not waiting:
            return
        if run.kill and self.state(run) == "held" and self.odd.random() < 0.5:
            run.kill = False
            for container in labelled(f"runner.run={run.id}"):
                subprocess.run(["docker", "kill", container], check=False, capture_output=True)
        if self.odd.random() < 0.5:
            self.decide(run, self.odd.choice(waiting))

    def decide(self, run: Run, waiting: Mapping[str, Any]) -> None:
        """As the run's seed has it."""
        with Client(self.supervisor.state / "control.sock") as client:
            asked = client.get("approvals", run=run.id, state=["pending", "done", "denied", "stale", "failed", "unknown"])
            ids = [one["id"] for one in asked["approvals"]]  # type: ignore[index, call-overload, union-attr]
            call = run.gated[ids.index(waiting["id"])]
            body = {"reason": f"because of {run.seed}"}
            if call.verdict == "approve":
                body["digest"] = waiting["digest"]
            client.post("approvals", waiting["id"], call.verdict, body=body)  # type: ignore[arg-type]

    def decide_all(self, run: Run) -> None:
        """Everything of it that waits."""
        for waiting in self.supervisor.queue(run.id):
            self.decide(run, waiting)

    def check(self) -> None:
        """What must hold of every run."""
        for run in self.runs:
            shown = self.supervisor.show(run.id)
            asked = self.model.asked[f"model-{run.name}"]
            evidence = json.dumps({"seed": run.seed, "shown": shown, "asked": asked[-1:]}, indent=1)
            assert (shown["state"], shown["reply"]) == ("replied", f"Finished {run.seed}."), evidence
            check_conversation(run, asked, shown)
            with Client(self.supervisor.state / "control.sock") as client:
                states = ["pending", "done", "denied", "stale", "failed", "unknown", "expired", "superseded", "cancelled"]
                listed: Any = client.get("approvals", run=run.id, state=states)
                found = [client.record("approvals", one["id"]) for one in listed["approvals"]]
            check_effects(run, found)


def generated(supervisor: SupervisorProcess, count: int, first: int) -> list[Run]:
    """Runs, each with a directory of its own."""
    runs = []
    for seed in range(first, first + count):
        cwd = supervisor.home / f"agent-{seed}"
        cwd.mkdir()
        (cwd / "in.txt").write_text("INSIDE\n")
        runs.append(Run(seed, cwd))
    return runs


def test_generated_turns_lose_nothing_and_double_nothing(supervisor: SupervisorProcess, model: Model) -> None:
    """Design.md §3.6-3.8, invariants 4, 11, 13; B11, cases 54, 55, 64."""
    supervisor.start()
    players = Players(supervisor, model, generated(supervisor, COUNT, FIRST))
    players.begin()
    players.play()
    players.check()
    assert supervisor.containers() == []


@pytest.mark.parametrize("how", ["kill", "drain"])
def test_a_run_whose_model_was_thinking_goes_on_as_if_nothing_had_been(
    supervisor: SupervisorProcess, model: Model, how: str
) -> None:
    """H2: interrupted after any kind of turn, or before the first: the model is asked what it was being asked."""
    supervisor.start()
    runs = generated(supervisor, 4, FIRST + 2000)
    kinds = [[], ["read", "glob"], ["read", "undeclared"], ["write", "outside"]]
    for run, turn in zip(runs, kinds, strict=True):
        run.hold, run.kill, run.turns = "50s", False, [[run.call(kind) for kind in turn]] if turn else []
        model.thinks_at[f"model-{run.name}"] = len(run.turns)
    players = Players(supervisor, model, runs)
    players.begin()
    for run in runs:
        eventually(lambda run=run: players.decide_all(run) or model.thinks(run.name, len(run.turns)), f"{run.name} thinks")
    if how == "kill":
        supervisor.kill()
    else:
        supervisor.stop()
    model.go.set()
    supervisor.start()
    players.play()
    players.check()
    for run in runs:
        assert "No response requested" not in json.dumps(model.asked[f"model-{run.name}"][-1])


def test_the_same_holds_when_the_supervisor_is_killed_in_the_middle(supervisor: SupervisorProcess, model: Model) -> None:
    """M8, B8, H2, case 97: kill -9 with runs in every state there is at that moment, three times."""
    supervisor.start()
    players = Players(supervisor, model, generated(supervisor, max(COUNT // 2, 4), FIRST + 1000))
    players.begin()
    for left in (len(players.runs) - 1, len(players.runs) // 2, 1):
        players.play(until=left)
        supervisor.kill()
        supervisor.start()
    players.play()
    players.check()
