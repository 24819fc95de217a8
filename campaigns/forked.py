"""A supervisor that is forked off a process which has imported it already: a process like any other, but for the import.

A campaign starts a few hundred; each is killed, waited for and looked at as one that was executed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import runner.app  # noqa: F401  imported here, once, for every supervisor that is forked
from runner.cli.main import main
from tests.helpers.supervisor_process import SupervisorProcess

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_HANDLES = 1024


class Forked(subprocess.Popen[bytes]):
    """What `Popen` is for an executed process; only what a campaign asks of one."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode = None  # type: ignore[assignment]
        self.args = ("runner", "serve")
        self.stdin = self.stdout = self.stderr = None

    def __del__(self) -> None:
        """Nothing: the stage that made it has ended it."""

    def poll(self) -> int | None:
        """Its exit code once it has ended."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            time.sleep(0.005)
        return code

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)


class ForkedSupervisor(SupervisorProcess):
    """`runner serve` without an interpreter's start."""

    def spawn(self) -> subprocess.Popen[bytes]:
        """Fork; the child never comes back."""
        pid = os.fork()
        if pid == 0:
            _be(["serve"], self.variables, self.log_file)
        return Forked(pid)

    def run(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """One command, off a terminal and without anything to read; what it says on both streams is in `stderr`."""
        assert stdin is None, "a forked command reads nothing"
        with tempfile.NamedTemporaryFile() as said:
            pid = os.fork()
            if pid == 0:
                _be(arguments, self.variables, Path(said.name))
            code = Forked(pid).wait()
            return subprocess.CompletedProcess(arguments, code, "", Path(said.name).read_text())


def _be(arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> NoReturn:
    """Be a command, with its environment and its streams."""
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.default_int_handler)
        os.environ.clear()
        os.environ.update(environment)
        os.dup2(os.open(os.devnull, os.O_RDONLY), _STDIN)
        file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(file, _STDOUT)
        os.dup2(file, _STDERR)
        os.closerange(_STDERR + 1, _HANDLES)
        sys.argv = ["runner", *arguments]
        code = main(arguments)
    except BaseException:  # noqa: BLE001  the edge of a process
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
