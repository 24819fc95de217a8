"""A real desk over a real database, for one running attempt; a person's decisions and their effects are one call each."""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from runner import approvals
from runner.gateway import Handover, ModelTurn, ToolUse
from runner.lifecycle import ApprovalEvent, RunEvent
from runner.model import Attempt, Json, Profile, SenderKind, Usage
from runner.policy import PolicyContext
from runner.sandbox.beneath import Beneath
from runner.sandbox.view import SnapshotView
from runner.store import ApprovalRow, CallRow, Connection, Store, calls, runs
from runner.store import approvals as rows
from runner.supervisor.changes import Changes
from runner.supervisor.desk import Desk
from runner.supervisor.ids import Ids
from runner.supervisor.ledger import Ledger
from tests.helpers.builders import a_profile
from tests.helpers.stored import ANNA, NOW, a_run, opened


@dataclass(kw_only=True)
class AtDesk:
    """One attempt's desk and what stands behind it. Nothing here performs an effect."""

    store: Store
    desk: Desk
    attempt: Attempt
    profile: Profile
    changes: Changes
    _ids: Iterator[int] = field(default_factory=itertools.count)

    def use(self, name: str, *, id: str | None = None, **arguments: Json) -> ToolUse:
        """A call as the model wrote it."""
        return ToolUse(id=id or f"toolu_{next(self._ids)}", name=name, raw=json.dumps(arguments))

    async def turn(self, *uses: ToolUse) -> tuple[Handover, ...]:
        """The model makes these calls in one turn."""
        usage = Usage(requests=1, turns=1, input_tokens=10, output_tokens=5)
        model_turn = ModelTurn(model=self.profile.model, texts=(), tool_uses=uses, stop_reason="tool_use", usage=usage)
        return await self.desk.take_turn(model_turn)

    async def queue(self) -> tuple[ApprovalRow, ...]:
        """Every approval of the run in the order of asking, whatever its state."""
        return await self.store.query(rows.list, run=self.attempt.run)

    async def calls(self) -> tuple[CallRow, ...]:
        """Every call on record."""
        return await self.store.query(calls.of_run, self.attempt.run)

    async def carry_out(self, approval: ApprovalRow, outcome: str = "Done.") -> None:
        """A person approves it and its effect is put on record as done."""
        await self.store.call(_carry_out, approval, outcome)
        self.changes.ring()

    async def deny(self, approval: ApprovalRow, reason: str = "no") -> None:
        """A person says no."""
        await self.store.call(approvals.deny, approval.id, who=ANNA, reason=reason, now=NOW)
        self.changes.ring()


@contextmanager
def at_desk(folder: Path, profile: Profile | None = None) -> Iterator[AtDesk]:
    """A desk of a run that runs, over `folder`/cwd and a database beside it.

    Args:
        folder: An empty directory.
        profile: Its cwd is replaced.
    """
    cwd = folder / "cwd"
    cwd.mkdir(exist_ok=True)
    chosen = a_profile(**{"cwd": cwd} if profile is None else {**_fields(profile), "cwd": cwd})
    with opened(folder / "runner.db") as store, Beneath.open(cwd) as beneath:
        with store.begin() as conn:
            run = a_run(conn)
            for event in (RunEvent.CLAIM, RunEvent.START):
                runs.move(conn, run.id, event, now=NOW, segment=0, attempt=0)
        attempt, changes = Attempt(run.id, 0, 0), Changes()
        context = PolicyContext(view=SnapshotView(beneath), sender=SenderKind.OWNER)
        ledger = Ledger(store, attempt, chosen, clock=lambda: NOW, ids=Ids(secrets.token_bytes))
        desk = Desk(ledger, chosen, lambda: context, changes=changes, usage=Usage())
        yield AtDesk(store=store, desk=desk, attempt=attempt, profile=chosen, changes=changes)


def _fields(profile: Profile) -> dict[str, object]:
    return {name: getattr(profile, name) for name in profile.__slots__ if name != "digest"}


def _carry_out(conn: Connection, approval: ApprovalRow, outcome: str) -> None:
    approvals.approve(conn, approval.id, digest=approval.approval_digest, who=ANNA, now=NOW)
    approvals.begin_effect(conn, approval.id, now=NOW)
    approvals.finish_effect(conn, approval.id, event=ApprovalEvent.SUCCEED, outcome=outcome, now=NOW)
