"""A real supervisor as a process of its own, with a state directory, a scripted model and an agent's folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from runner.api.client import Client
from runner.app import owner_label
from runner.model import Json

T = TypeVar("T")
#: Generous: these tests ask whether, never how fast.
PATIENCE = 60.0
Script = Sequence[Sequence[Mapping[str, Any]]]


def text(words: str) -> dict[str, Any]:
    """A text block of a scripted turn."""
    return {"type": "text", "text": words}


def use(name: str, /, id: str | None = None, **arguments: Any) -> dict[str, Any]:
    """A tool use of a scripted turn, under the name the model sees."""
    block: dict[str, Any] = {"type": "tool_use", "name": name, "input": arguments}
    return block if id is None else block | {"id": id}


def write(path: str, content: str) -> dict[str, Any]:
    """A call of the brokered Write."""
    return use("mcp__runner__Write", file_path=path, content=content)


def eventually(look: Callable[[], T | None], what: Callable[[], str] | str) -> T:
    """The first thing `look` gives that is not None."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = look()
        if found is not None:
            return found
        time.sleep(0.05)
    raise AssertionError(f"did not happen: {what if isinstance(what, str) else what()}")


@dataclass
class SupervisorProcess:
    """`runner serve` and the command line against it."""

    home: Path
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    command: Sequence[str] = ("runner", "serve")  #: the module that is the supervisor, and its arguments
    within: Sequence[str] = ()  #: what every process is started by, such as one of another network namespace

    def __post_init__(self) -> None:
        """Make the folders and an empty script."""
        self.state = self.home / "state"
        self.cwd = self.home / "agent"
        self.cwd.mkdir(parents=True)
        self._owner_of_cwd: str | None = None
        self.script_file = self.home / "script.json"
        self.log_file = self.home / "serve.log"
        self.script_file.write_text("[]")

    @property
    def variables(self) -> dict[str, str]:
        """The environment of the supervisor and of every command."""
        keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "DOCKER_HOST") if name in os.environ}
        own = {"RUNNER_STATE_DIR": str(self.state), "RUNNER_MODEL": f"scripted:{self.script_file}"}
        own["RUNNER_TRIPWIRES"] = "off"  # the tests may be run from within an agent's shell
        own["RUNNER_POOL__SIZE"] = "0"  # tests of it say so: others count containers
        own["RUNNER_HOST__MAX_LOAD"] = "1000"  # the machine that tests is as busy as it is
        return keep | own | self.environment

    @property
    def label(self) -> str:
        """The label value of this supervisor's containers."""
        return owner_label(self.state)

    @property
    def log(self) -> str:
        """What the supervisor said so far."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def script(self, *turns: Sequence[Mapping[str, Any]]) -> None:
        """What the model says, turn by turn; takes effect at the next start."""
        self.script_file.write_text(json.dumps(list(turns)))

    def spawn(self) -> subprocess.Popen[bytes]:
        """The supervisor's process."""
        with self.log_file.open("ab") as log:
            return subprocess.Popen(
                [*self.within, sys.executable, "-m", *self.command],
                env=self.variables,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def start(self) -> None:
        """Start and wait until it is ready."""
        said = len(self.log)
        self.process = self.spawn()
        process = self.process

        def ready() -> bool | None:
            assert process.poll() is None, f"the supervisor ended:\n{self.log[said:]}"
            return True if "runner: ready" in self.log[said:] else None

        eventually(ready, "the supervisor is ready")

    def kill(self) -> None:
        """Send SIGKILL."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = None

    def stop(self) -> int:
        """SIGTERM, and its exit code."""
        if self.process is None:
            return 0
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        self.process = None
        return code

    def run(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """One command, off a terminal."""
        return subprocess.run(
            [*self.within, sys.executable, "-m", "runner", *arguments],
            env=self.variables,
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE * 2,
        )

    def ask(self, *arguments: str) -> Any:
        """A command's `--json` answer; it must succeed."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def publish(self, name: str = "tester", **changes: str) -> None:
        """Publish a profile over this home's folder; `changes` are lines of TOML, tables last.

        No two agents share a directory: the first one has this home's folder, each other one a copy of it as it is now.
        """
        cwd = self.cwd
        self._owner_of_cwd = self._owner_of_cwd or name
        if name != self._owner_of_cwd:
            cwd = self.home / f"agent-{name}"
            shutil.copytree(self.cwd, cwd, dirs_exist_ok=True)
        tables = {key: value for key, value in changes.items() if value.startswith("[")}
        plain = {key: value for key, value in changes.items() if key not in tables}
        values = {
            "schema": "1",
            "name": json.dumps(name),
            "description": '"for tests"',
            "kind": '"claude-sdk"',
            "model": '"claude-sonnet-4-5"',
            "system_prompt": '"You are tested."',
            "cwd": json.dumps(str(cwd)),
            "tools": '["Read", "Glob", "Grep", "Write", "Edit"]',
            "policy": '"read_only"',
        } | plain
        file = self.home / f"{name}.toml"
        file.write_text("".join(f"{key} = {value}\n" for key, value in values.items()) + "\n".join(tables.values()) + "\n")
        done = self.run("profile", "publish", str(file))
        assert done.returncode == 0, done.stderr

    def send(self, note: str = "go", *more: str, agent: str = "tester") -> str:
        """Send a capture; the run's id."""
        sent = self.ask("send", agent, "--note", note, *more)
        return str(sent["run"])

    def show(self, run: str) -> dict[str, Any]:
        """What `run show --json` answers, asked without the cost of a process."""
        with Client(self.state / "control.sock") as client:
            return dict(client.record("runs", run))

    def until(self, run: str, *states: str) -> dict[str, Any]:
        """The run once it is in one of the states."""

        def look() -> dict[str, Any] | None:
            found = self.show(run)
            return found if found["state"] in states else None

        return eventually(look, lambda: f"{run} is {' or '.join(states)}; it is {self.show(run)}\n{self.log}")

    def queue(self, run: str | None = None) -> list[dict[str, Any]]:
        """The pending approvals."""
        with Client(self.state / "control.sock") as client:
            found: Any = client.get("approvals", run=run)
        return list(found["approvals"])

    def approve(self, approval: Mapping[str, Json]) -> subprocess.CompletedProcess[str]:
        """Approve exactly what was listed."""
        return self.run("approve", str(approval["id"]), "--digest", str(approval["digest"]), "--yes")

    def containers(self) -> list[str]:
        """Ids of this supervisor's containers, running or not."""
        return labelled(f"runner.state={self.label}")


def labelled(label: str) -> list[str]:
    """Ids of containers with a label."""
    listed = subprocess.run(
        ["docker", "ps", "-aq", "--no-trunc", "--filter", f"label={label}"], capture_output=True, text=True, check=True
    )
    return listed.stdout.split()
