"""What the demo plays on: a state directory of its own, a scripted model, and a real supervisor as a child process.

Owns their lives. Nothing of the person's own settings, state or keys is used.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
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
_UNSET = ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "ANTHROPIC_API_KEY", "RUNNER_KEY_FILE", "RUNNER_MAX_POLICY", "RUNNER_APPROVERS")


class Stage:
    """A started demo.

    Args:
        home: The temporary directory everything is in.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
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
        script.write_text(json.dumps({"scripts": {AGENT: turns()}}), encoding="utf-8")
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
        kept = {name: value for name, value in os.environ.items() if name not in _UNSET}
        database = f"sqlite:///{self.state}/runner.db"
        own = {"RUNNER_STATE_DIR": str(self.state), "RUNNER_DATABASE_URL": database, "RUNNER_MODEL": f"scripted:{script}"}
        # Its approvals are the demo's own, of its own file: it may be tried from within an agent's shell too.
        own |= {"XDG_CONFIG_HOME": str(self.home / "config"), "RUNNER_TRIPWIRES": "off"}
        own["RUNNER_POOL__SIZE"] = "0"  # it ends with nothing left running
        return kept | own | {"NO_COLOR": "1"}


@contextlib.contextmanager
def stage(*, keep: bool) -> Iterator[Stage]:
    """A stage in a directory that only this user can enter; taken down again whatever happens.

    Args:
        keep: Leave the directory, with database, log and the agent's folder.
    """
    home = Path(tempfile.mkdtemp(prefix="runner-demo-"))
    built = Stage(home)
    try:
        yield built
    finally:
        built.stop()
        if not keep:
            shutil.rmtree(home, ignore_errors=True)


def turns() -> list[Json]:
    """The scripted model's turns: reads, two attempts that must fail, a write, an answer."""
    return [
        [
            {"type": "text", "text": "I read the notes, and look around while I am at it."},
            _call(1, "Read", {"file_path": "/workspace/notes.md"}),
            _call(2, "Read", {"file_path": "../../etc/passwd"}),
            _call(3, "Bash", {"command": "id; cat /etc/shadow"}),
        ],
        [
            {"type": "text", "text": "Now the summary."},
            _call(4, "mcp__runner__Write", {"file_path": "/workspace/summary.md", "content": SUMMARY}),
        ],
        [{"type": "text", "text": "The notes are summarised; see summary.md."}],
    ]


def _call(number: int, name: str, arguments: dict[str, Json]) -> Json:
    return {"type": "tool_use", "id": f"toolu_demo_{number}", "name": name, "input": arguments}
