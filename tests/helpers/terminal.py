"""A person at a terminal: a command on a pseudo-terminal of its own, typed at, read from, and seen as an emulator draws it.

`stage` and `reset` give a test file one supervisor of plain dicts to look at.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import pyte
import pytest

from tests.helpers.fake_service import FakeService, served

#: Variables of whoever runs the tests that change what a screen shows.
_THEIRS = frozenset({"COLUMNS", "LINES", "NO_COLOR"})
_STYLES = re.compile(rb"\x1b\[[0-9;]*m")
#: What the emulator does not know and would draw: the keyboard protocol's requests.
_UNKNOWN = re.compile(rb"\x1b\[[<>=][0-9]*u|\x1b\[\?[0-9]+\$p")
_PATIENCE = 30.0


@contextmanager
def stage(factory: pytest.TempPathFactory) -> Iterator[tuple[FakeService, Path]]:
    """A fake supervisor on a real socket, for a whole test file: a server takes longer to stop than most tests take."""
    fake = FakeService()
    directory = factory.mktemp("state")
    directory.chmod(0o700)
    with served(fake, directory):
        yield fake, directory


def reset(staged: tuple[FakeService, Path], patch: pytest.MonkeyPatch) -> FakeService:
    """The staged supervisor as a new one, and an environment in which commands find it."""
    fake, directory = staged
    vars(fake).clear()
    vars(fake).update(vars(FakeService()))
    patch.setenv("RUNNER_STATE_DIR", str(directory))
    patch.delenv("XDG_RUNTIME_DIR", raising=False)
    return fake


class Terminal:
    """One command of ours on a terminal.

    Args:
        arguments: What follows `runner`.
        columns: Width.
        rows: Height.
        environment: Variables on top of this process's.
        before: Typed before the command starts.
        shell: A redirection, as the shell writes it.
    """

    def __init__(
        self,
        *arguments: str,
        columns: int = 100,
        rows: int = 200,
        environment: dict[str, str] | None = None,
        before: bytes = b"",
        shell: str = "",
    ) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
        if before:
            os.write(self._master, before)
        kept = {name: value for name, value in os.environ.items() if name not in _THEIRS}
        command = [sys.executable, "-m", "runner", *arguments]
        self._process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" {shell}', "sh", *command] if shell else command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=kept | {"TERM": "xterm-256color"} | (environment or {}),
            cwd=Path.cwd(),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - the child needs a terminal of its own
        )
        os.close(slave)
        self.seen = b""
        self._screen = pyte.Screen(columns, rows)
        self._emulator = pyte.ByteStream(self._screen)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._master, keys)

    def hang_up(self) -> int:
        """Close the window; the exit code."""
        self._process.send_signal(1)
        return self.end()

    def wait_for(self, text: str) -> None:
        """Read until `text` is on the screen.

        Raises:
            AssertionError: It never came.
        """
        until = time.monotonic() + _PATIENCE
        while text not in self.text:
            if time.monotonic() > until or not self._read():
                raise AssertionError(f"{text!r} never came; on the screen: {self.text!r}")

    def press(self, keys: bytes, *, until: str) -> None:
        """Press keys until `until` is on the screen: once more whenever they did not count within five seconds.

        Raises:
            AssertionError: It never came.
        """
        end = time.monotonic() + _PATIENCE
        while until not in self.text:
            if time.monotonic() > end:
                raise AssertionError(f"{until!r} never came; on the screen: {self.text!r}")
            self.type(keys)
            again = time.monotonic() + 5
            while until not in self.text and (left := again - time.monotonic()) > 0:
                self._read(seconds=left)

    def answer(self, keys: bytes) -> int:
        """Press keys, again and again until they count; the exit code."""
        until = time.monotonic() + _PATIENCE
        while self._process.poll() is None and time.monotonic() < until:
            self.type(keys)
            self._read(seconds=0.4)
        return self.end()

    def end(self) -> int:
        """Read to the end; the exit code."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and self._read():
            pass
        return self._process.wait(timeout=_PATIENCE)

    @property
    def text(self) -> str:
        """What came, without our own styles."""
        return _STYLES.sub(b"", self.seen).decode("utf-8").replace("\r\n", "\n")

    @property
    def display(self) -> list[str]:
        """What an emulator shows of it, a line each."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def styles(self) -> list[str]:
        """The parameters of every style that came."""
        return [found.decode()[2:-1] for found in _STYLES.findall(self.seen)]

    @property
    def pid(self) -> int:
        """The command's process."""
        return self._process.pid

    def until(self, look: Callable[[], bool], *, what: str = "") -> None:
        """Read until the emulator shows what is looked for.

        Raises:
            AssertionError: It never did.
        """
        end = time.monotonic() + _PATIENCE
        while not look():
            if time.monotonic() > end or not self._read(seconds=0.2):
                raise AssertionError(f"{what or 'it'} never came; on the screen:\n" + "\n".join(self.display))

    def shows(self, text: str) -> None:
        """Read until the emulator shows `text` on one line."""
        self.until(lambda: any(text in line for line in self.display), what=repr(text))

    def settle(self, *, seconds: float = 0.3) -> None:
        """Read until nothing has come for a while."""
        before, until = -1, time.monotonic() + _PATIENCE
        while len(self.seen) != before and time.monotonic() < until:
            before = len(self.seen)
            self._read(seconds=seconds)

    def resize(self, columns: int, rows: int) -> None:
        """Another size of the window."""
        self._screen.resize(rows, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def _read(self, *, seconds: float = _PATIENCE) -> bool:
        """Whether more may come."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the last writer closed it
            return False
        self.seen += data
        self._emulator.feed(_UNKNOWN.sub(b"", data))
        return bool(data)
