"""What the demo plays on: a state directory of its own, a scripted model, and a real supervisor as a child process.

Owns their lives. Nothing of the person's own settings, state or keys is used.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from runner.api.client import Client
from runner.cli.launching import serve_command
from runner.cli.supervisor import READY
from runner.errors import SupervisorUnavailableError
from runner.model import Json
from runner.settings import CONTROL_SOCKET

AGENT = "scribe"
NOTES = """# Team meeting

- The release moves to Thursday, because the importer still drops umlauts.
- Mina takes the importer; Jo reviews.
- Nobody may write to the shared folder until then.
"""
SUMMARY = """# Summary

Release: Thursday. Importer: Mina, reviewed by Jo. The shared folder stays as it is until then.
"""
_PATIENCE = 180.0
_UNSET = ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "ANTHROPIC_API_KEY")
#: Of the person's own settings only these count here: what the containers need to start at all.
_KEPT = ("RUNNER_RUNTIME", "RUNNER_POOL__SIZE")


class Stage:
    """A started demo.

    Args:
        home: The temporary directory everything is in.
        script: The scripted model's turns.
    """

    def __init__(self, home: Path, script: Sequence[Json]) -> None:
        self.home = home
        self._script = list(script)
        self.state = home / "state"
        self.log = home / "serve.log"
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        """The agent's directory."""
        return self.state / "agents" / AGENT

    def client(self) -> Client:
        """A client of the demo's supervisor."""
        return Client(self.state / CONTROL_SOCKET)

    def start(self) -> None:
        """Start the supervisor and wait until it is ready.

        Raises:
            SupervisorUnavailableError: It ended, or is not ready in time.
        """
        script = self.home / "script.json"
        script.write_text(json.dumps({"scripts": {AGENT: self._script}}), encoding="utf-8")
        with self.log.open("wb") as log:
            self._child = subprocess.Popen(  # noqa: S603 - our own words, no shell
                serve_command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment(script),
            )
        until = time.monotonic() + _PATIENCE
        while READY not in self.log.read_text(errors="replace"):
            if self._child.poll() is not None:
                raise SupervisorUnavailableError("cannot run the demo: its supervisor ended", details=self.tail())
            if time.monotonic() > until:
                raise SupervisorUnavailableError(
                    "cannot run the demo: its supervisor is not ready in time", details=self.tail()
                )
            time.sleep(0.05)

    def door(self) -> Path:
        """A program in the stage's directory that is `runner` for this supervisor, and knows no other."""
        door = self.home / "runner"
        unset = [name for name in os.environ if _is_theirs(name)]
        words = ["exec", "env", *(word for name in unset for word in ("-u", name))]
        words += [f"{name}={value}" for name, value in self._own().items()]
        words += [sys.executable, "-P", "-m", "runner"]
        door.write_text(f'#!/bin/sh\n{shlex.join(words)} "$@"\n', encoding="utf-8")
        door.chmod(0o700)
        return door

    def tail(self) -> str:
        """The end of the supervisor's log."""
        with contextlib.suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-25:])
        return ""

    def stop(self) -> None:
        """Stop the supervisor: SIGTERM, and SIGKILL if it does not listen."""
        child, self._child = self._child, None
        if child is None or child.poll() is not None:
            return
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(timeout=30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def _environment(self, script: Path) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not _is_theirs(name)}
        return kept | self._own() | {"RUNNER_MODEL": f"scripted:{script}", "NO_COLOR": "1"}

    def _own(self) -> dict[str, str]:
        """What makes a process one of this stage."""
        own = {"RUNNER_STATE_DIR": str(self.state), "RUNNER_DATABASE_URL": f"sqlite:///{self.state}/runner.db"}
        # Its approvals are the stage's own, of its own file: it may be tried from within an agent's shell too.
        return own | {"XDG_CONFIG_HOME": str(self.home / "config"), "RUNNER_TRIPWIRES": "off"}


def _is_theirs(name: str) -> bool:
    """Whether a variable speaks of the person's own supervisor, keys or settings."""
    return name in _UNSET or (name.startswith("RUNNER_") and name not in _KEPT)


@contextlib.contextmanager
def stage(*, keep: bool, script: Sequence[Json]) -> Iterator[Stage]:
    """A stage in a directory that only this user can enter; taken down again whatever happens.

    Args:
        keep: Leave the directory, with database, log and the agent's folder.
        script: The scripted model's turns.
    """
    home = Path(tempfile.mkdtemp(prefix="runner-demo-"))
    built = Stage(home, script)
    try:
        yield built
    finally:
        built.stop()
        if not keep:
            shutil.rmtree(home, ignore_errors=True)


def turns() -> list[Json]:
    """The demo's turns of the scripted model: reads, two attempts that must fail, a write, an answer."""
    return [
        [
            {"type": "text", "text": "I read the notes, and look around while I am at it."},
            call(1, "Read", {"file_path": "/workspace/notes.md"}),
            call(2, "Read", {"file_path": "../../etc/passwd"}),
            call(3, "Bash", {"command": "id; cat /etc/shadow"}),
        ],
        [
            {"type": "text", "text": "Now the summary."},
            call(4, "mcp__runner__Write", {"file_path": "/workspace/summary.md", "content": SUMMARY}),
        ],
        [{"type": "text", "text": "The notes are summarised; see summary.md."}],
    ]


def call(number: int, name: str, arguments: dict[str, Json]) -> Json:
    """A call of a scripted turn."""
    return {"type": "tool_use", "id": f"toolu_demo_{number}", "name": name, "input": arguments}
