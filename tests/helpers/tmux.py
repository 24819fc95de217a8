"""A real terminal emulator: one tmux server with its own socket, in which a command is typed at and looked at."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

_PATIENCE = 30.0


class Tmux:
    """One window with one command of ours.

    Args:
        arguments: What follows `runner`.
        environment: Variables of the command, and no others but those of tmux.
        home: Where the socket is.
        size: Columns and lines.
    """

    def __init__(self, *arguments: str, environment: Mapping[str, str], home: Path, size: tuple[int, int] = (80, 24)) -> None:
        self._socket = home / "tmux.sock"
        words = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), "TERM=screen-256color"]
        command = [*words, sys.executable, "-m", "runner", *arguments]
        shell = " ".join(f"'{word}'" for word in command)
        size_words = ["-x", str(size[0]), "-y", str(size[1])]
        self._ask("-f", "/dev/null", "new-session", "-d", *size_words, f"{shell}; echo ended with $?; sleep 60")
        self._ask("set-option", "-g", "status", "off")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ask("kill-server")

    @property
    def lines(self) -> list[str]:
        """What the window shows, a line each."""
        return [line.rstrip() for line in self._ask("capture-pane", "-p").splitlines()]

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self._ask("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type a text as it is."""
        self._ask("send-keys", "-l", text)

    def shows(self, text: str) -> None:
        """Wait until the window shows `text` on one line.

        Raises:
            AssertionError: It never did.
        """
        until = time.monotonic() + _PATIENCE
        while not any(text in line for line in self.lines):
            if time.monotonic() > until:
                raise AssertionError(f"{text!r} never came; in the window:\n" + "\n".join(self.lines))
            time.sleep(0.05)

    def _ask(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words], capture_output=True, text=True, check=True, timeout=_PATIENCE
        )
        return done.stdout
