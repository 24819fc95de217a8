"""The lock on a state directory: one supervisor, whose process id it tells. It goes with the process, however that ends.

Light to import: commands that ask who runs need nothing else of the supervisor.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from runner.errors import SupervisorUnavailableError

_LOCK = "lock"
#: `holder` takes the lock for a moment: only who finds it taken this often, this many seconds apart, is refused.
_TRIES, _PAUSE = 10, 0.05


@contextmanager
def hold(state_dir: Path) -> Iterator[None]:
    """Be the one supervisor of a state directory.

    Raises:
        SupervisorUnavailableError: Another one is.
    """
    with (state_dir / _LOCK).open("a+", encoding="utf-8") as file:
        if not _taken(file, fcntl.LOCK_EX):
            raise SupervisorUnavailableError(
                f"cannot start: another supervisor (pid {_said(file) or 'unknown'}) holds {state_dir}",
                resolution="use that one, stop it, or set RUNNER_STATE_DIR to another directory",
            )
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def holder(state_dir: Path) -> int | None:
    """The process id of a state directory's supervisor; None when there is none. 0: there is one that has not said it yet.

    Raises:
        SupervisorUnavailableError: The lock cannot be read.
    """
    try:
        with (state_dir / _LOCK).open(encoding="utf-8") as file:
            return None if _taken(file, fcntl.LOCK_SH, tries=1) else _said(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SupervisorUnavailableError(
            f"cannot tell whether a supervisor holds {state_dir}: {error.strerror}", resolution="runner doctor says more"
        ) from None


def _taken(file: IO[str], kind: int, *, tries: int = _TRIES) -> bool:
    for left in reversed(range(tries)):
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(_PAUSE)
        else:
            return True
    return False


def _said(file: IO[str]) -> int:
    file.seek(0)
    text = file.read(20).strip()
    return int(text) if text.isascii() and text.isdigit() else 0
