"""What a person does with captures that wait before any agent sees them: list, accept, start, dismiss (R17, R22, R32, C22)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from runner.approvals import Approver
from runner.errors import NotAllowedError, UsageError
from runner.lifecycle import CaptureState
from runner.model import JsonObject
from runner.store import Connection, Store, captures, contacts
from runner.store.captures import CaptureLine
from runner.supervisor.changes import Changes
from runner.supervisor.intake import Intake, Taken
from runner.supervisor.views import sender_name

#: Captures of one answer.
MOST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Captures:
    """Implements `runner.api.contact_service.Captures`."""

    store: Store
    intake: Intake
    changes: Changes

    async def listed(self, *, state: str | None) -> list[JsonObject]:
        """Captures without their content, newest first; without `state`, those that wait."""
        if state == "all":
            states = None
        elif state is None:
            states = {CaptureState.STUB, CaptureState.STORED}
        else:
            states = {_state(state)}
        return await self.store.query(_lines, states=states)

    async def pictures(self, ref: str) -> list[JsonObject]:
        """A capture's pictures, as the model is given them; those of a stub wait with the rest of it (R32).

        Raises:
            NotFoundError: No such capture.
            NotAllowedError: Nobody has let it in yet.
        """
        row = await self.store.query(captures.find, ref)
        if row.state is CaptureState.STUB:
            raise NotAllowedError(f"cannot show the pictures of {row.id}: nobody has let it in", resolution="runner accept ID")
        images = json.loads(row.text).get("images")
        return [*images] if isinstance(images, list) else []

    async def accept(self, ref: str, *, who: Approver) -> JsonObject:
        """Let a stub become a capture like any other."""
        return await self._do(self.intake.accept, ref, by=who)

    async def start(self, ref: str, *, who: Approver) -> JsonObject:
        """Queue the run of a stored capture."""
        del who  # the run's own first row has the capture; who started it adds nothing that could be decided by
        return await self._do(self.intake.start, ref)

    async def dismiss(self, ref: str, *, who: Approver) -> JsonObject:
        """Let it never have a run."""
        return await self._do(self.intake.dismiss, ref, by=who)

    async def _do(self, step: Callable[..., Taken], ref: str, **kw: Approver) -> JsonObject:
        taken = await self.store.call(step, ref, **kw)
        self.changes.ring()
        return {**taken.answer, "state": taken.state.value}


def _lines(conn: Connection, *, states: set[CaptureState] | None) -> list[JsonObject]:
    """Those that wait say what their sender is called now: it is by that name that they are let in (R14)."""
    named = {row.fingerprint: row.sender for row in contacts.all(conn)}
    waiting = {CaptureState.STUB, CaptureState.STORED}
    found = captures.listing(conn, states=states, limit=MOST)
    now = {line.id: named.get(line.sender.fingerprint or "", line.sender) for line in found if line.state in waiting}
    return [line_view(line._replace(sender=now.get(line.id, line.sender))) for line in found]


def line_view(line: CaptureLine) -> JsonObject:
    """All that is said of a capture whose content nobody accepted yet (R32)."""
    return {
        "id": line.id,
        "agent": line.agent,
        "sender": sender_name(line.sender),
        "state": line.state.value,
        "size": line.size,
        "created": line.created,
    }


def _state(text: str) -> CaptureState:
    try:
        return CaptureState(text)
    except ValueError:
        raise UsageError(
            f"cannot list captures in state {text!r}: there is none",
            resolution=", ".join([*(state.value for state in CaptureState), "all"]),
        ) from None
