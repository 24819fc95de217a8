"""A person at a terminal: a command on a pseudo-terminal of its own, typed at and read from."""

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
from pathlib import Path
from types import TracebackType
from typing import Self

_STYLES = re.compile(rb"\x1b\[[0-9;]*m")
_PATIENCE = 30.0


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
        kept = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
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
        return bool(data)
