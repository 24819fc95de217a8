"""A supervisor with one check taken out, for the outside judge: `python -m tests.helpers.broken BUILD serve` (A4).

The shipped program has no such switch; this reaches into it before it starts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from runner import approvals, lifecycle
from runner.__main__ import main
from runner.broker import Effect
from runner.broker.values import Change
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.store import approvals as rows
from runner.supervisor import effects


def writes_other_bytes() -> None:
    """The broker writes something else than was approved, and says so."""

    def act(row: Any, cwd: Path, *, restores: object = None) -> Effect:
        del restores
        path = row.paths[0].resolved
        (cwd / path.name).write_bytes(b"other")
        return Effect(state="done", outcome="wrote it", changed=(Change(path=path, data=b"other"),))

    vars(effects)["act"] = act


def carries_out_what_was_denied() -> None:
    """A no is followed by the effect."""
    arrow = (ApprovalState.DENIED, ApprovalEvent.EXECUTE)
    lifecycle.APPROVAL[arrow] = ApprovalState.EXECUTING  # type: ignore[index]
    approvals.begin_effect = lambda conn, id, *, now: rows.move(conn, id, ApprovalEvent.EXECUTE, now=now)
    deny = effects.Effects.deny

    async def broken(self: effects.Effects, approval: Any, **more: Any) -> Any:
        await deny(self, approval, **more)
        return await self.carry_out(approval)

    effects.Effects.deny = broken  # type: ignore[method-assign]


BUILDS: Mapping[str, Callable[[], None]] = {"ACK002": carries_out_what_was_denied, "ACK003": writes_other_bytes}

if __name__ == "__main__":
    BUILDS[sys.argv.pop(1)]()
    sys.exit(main())
