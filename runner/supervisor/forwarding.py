"""The owner hands a contact's capture to another agent: their note outside, all of the contact's inside (S4, R12, R13).

It is a capture of its own, from the same sender, by the owner's hand: strict and fresh like every run of somebody else's. What
it answers goes to the owner, and its contact hears nothing of it (R36).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from runner.approvals import Approver
from runner.captures import from_json as capture_from_json
from runner.captures import to_json as capture_to_json
from runner.errors import NotAllowedError, UsageError
from runner.fence import Forward, compose
from runner.lifecycle import CaptureState
from runner.model import OWNER, CaptureId, JsonObject, SenderKind
from runner.store import CaptureRow, Connection, Store, captures, forwards, pausing, profiles
from runner.store.forwards import ForwardRow
from runner.supervisor.changes import Changes
from runner.supervisor.intake import Intake, Taken, sender_now

#: By so many hands a capture may have gone; more of them say no more.
MOST_HOPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Forwarding:
    """Implements `runner.api.forward_service.Forwarding`."""

    store: Store
    intake: Intake
    changes: Changes

    async def forward(self, ref: str, *, to: str, note: str, who: Approver) -> JsonObject:
        """Hand a capture on: `{"capture", "run", "of", "via"}`."""
        taken, row = await self.store.call(self._forward, ref, to=to, note=note, who=who)
        self.changes.ring()
        return {**taken.answer, "of": row.of, "via": ["you" if hop == OWNER else hop.petname for hop in row.hops]}

    def _forward(self, conn: Connection, ref: str, *, to: str, note: str, who: Approver) -> tuple[Taken, ForwardRow]:
        row = captures.find(conn, ref)
        pausing.refuse(conn, f"forward {row.id}")
        _check(row)
        sender = sender_now(conn, row, doing="forward")
        before, now = forwards.of_capture(conn, row.id), self.intake.clock()
        hops = (*(before.hops if before else ()), OWNER)
        if len(hops) > MOST_HOPS:
            raise UsageError(f"cannot forward {row.id}: it went through {MOST_HOPS} hands already")
        stored = profiles.current(conn, to)
        capture = replace(capture_from_json(row.text), agent=to)
        compose(capture, sender, draw=self.intake.ids.nonce, forwarded=Forward(note=note, hops=hops))
        made = CaptureRow(
            id=CaptureId(self.intake.ids.capture()),
            agent=to,
            sender=sender,
            text=json.dumps(capture_to_json(capture)),
            created=now,
        )
        captures.insert(conn, made)
        handed = ForwardRow(capture=made.id, of=row.id, note=note, hops=hops)
        forwards.insert(conn, handed, who=who, now=now)
        return self.intake.deliver(conn, made, capture, stored), handed


def _check(row: CaptureRow) -> None:
    """What nobody has let in goes nowhere, by whatever route (R36); the owner's own words need no forwarding."""
    if row.sender.kind is SenderKind.OWNER:
        raise UsageError(f"cannot forward {row.id}: it is your own", resolution="runner send sends it to another agent")
    if row.state in {CaptureState.STUB, CaptureState.CLOSED}:
        why = "nobody has let it in" if row.state is CaptureState.STUB else "it is closed"
        raise NotAllowedError(f"cannot forward {row.id}: {why}", resolution="runner accept lets a stub in")
