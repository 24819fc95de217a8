"""A process that kills itself around one transaction: for fault campaigns, which set it; nothing else does."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence


def failpoint(where: str | None) -> Callable[[str, Sequence[str]], None] | None:
    """What kills this process with SIGKILL around a certain transaction; None without a setting (fault campaigns only).

    Args:
        where: An audit event, `before` or `after` its transaction is committed, and which one: `run.hold:after:2`.
    """
    if where is None:
        return None
    event, when, *rest = where.split(":")
    left = [int(rest[0]) if rest else 1]

    def watch(now: str, events: Sequence[str]) -> None:
        if now == when and event in events:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return watch
