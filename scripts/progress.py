"""Set-up's voice: numbered steps, commands with their output in a log, a sign of life while they run.

Owns nothing of what is done; stops the set-up with a sentence and a hint instead of a traceback.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

HEARTBEAT = 10.0  #: seconds between signs of life
TAIL = 25  #: lines of a failed command's output that are shown


class SetupError(Exception):
    """Set-up cannot go on: what, and what the person can do."""

    def __init__(self, what: str, *, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


def say(text: str) -> None:
    """One line (or block) for the person, on stderr, at once."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def step(number: int, total: int, title: str) -> None:
    """Announce a step."""
    say(f"[{number}/{total}] {title}")


def done(text: str, *, since: float | None = None) -> None:
    """Say how a step ended, with its time when it took any."""
    took = "" if since is None else f" ({time.monotonic() - since:.0f} s)"
    say(f"      {text}{took}")


def tail(path: Path, lines: int = TAIL) -> str:
    """The last lines of a log, indented; empty when there is none."""
    if not path.exists():
        return ""
    last = path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
    return "\n".join(f"      | {line}" for line in last)


def run(argv: Sequence[str], *, log: Path, what: str, env: Mapping[str, str] | None = None) -> None:
    """Run a command to its end with its output in `log`.

    Args:
        argv: The command; never a shell's text.
        log: Where its output goes; its tail is shown when it fails.
        what: What it does, for the signs of life ("installing packages").
        env: Variables besides those of this process.

    Raises:
        SetupError: It could not be started or ended with another code than 0.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with log.open("wb") as out:
        try:
            process = subprocess.Popen(
                list(argv), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}
            )
        except OSError as error:
            raise SetupError(
                f"cannot run {argv[0]}: {error.strerror}", hint="install it and run the same command again"
            ) from None
        try:
            code = _wait(process, what, began)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if code:
        shown = tail(log)
        raise SetupError(f"{what} failed with code {code}:\n{shown}", hint=f"the whole output is in {log}")


def _wait(process: subprocess.Popen[bytes], what: str, began: float) -> int:
    while True:
        try:
            return process.wait(timeout=HEARTBEAT)
        except subprocess.TimeoutExpired:
            say(f"      {what} … {time.monotonic() - began:.0f} s")
