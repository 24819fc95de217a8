"""Contacts as the owner keeps them: added, renamed, verified, blocked, removed. Each takes effect at once and is on record.

Blocking takes nothing more and cancels what of theirs is queued and has not begun. Removing also ends what runs, and closes
what waits. What is on record keeps the petname and the fingerprint it came under.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runner.approvals import Approver
from runner.captures import keys, petnames
from runner.captures.ed25519 import KeyUnusableError
from runner.errors import UsageError
from runner.lifecycle import RUN_ENDS, CaptureEvent, CaptureState, RunState
from runner.model import OWNER, Attempt, Capture, Json, JsonObject, RunId, SenderKind
from runner.store import Connection, RunRow, Store, captures, contacts, profiles, runs
from runner.store.contacts import ContactRow
from runner.supervisor.changes import Changes
from runner.supervisor.endings import End, Ending, Endings
from runner.supervisor.intake import Intake, admits
from runner.supervisor.live import Live
from runner.supervisor.parsing import parsed
from runner.supervisor.pictures import Pictures
from runner.supervisor.progress import Clock
from runner.supervisor.shares import withdraw_all
from runner.supervisor.views import sender_name

_KINDS = {"person": SenderKind.CONTACT, "agent": SenderKind.AGENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contacts:
    """Implements `runner.api.contact_service.Contacts`. `changed` is told of every change, for whoever keeps a copy."""

    store: Store
    intake: Intake
    endings: Endings
    live: Live
    changes: Changes
    clock: Clock
    changed: Callable[[], None]
    pictures: Pictures

    async def add(self, petname: str, key: str, *, kind: str, verified: bool, who: Approver) -> JsonObject:
        """Add a contact under a petname of the owner's."""
        return await self._change(self._add, petname, key, kind=kind, verified=verified, who=who)

    async def listed(self) -> list[JsonObject]:
        """Every contact."""
        return [contact_view(row) for row in await self.store.query(contacts.all)]

    async def shown(self, petname: str) -> JsonObject:
        """One contact, with the agents that list it and what of it waits."""
        return await self.store.query(_whole, petname)

    async def rename(self, petname: str, to: str, *, who: Approver) -> JsonObject:
        """Give a contact another petname."""
        return await self._change(self._rename, petname, to, who=who)

    async def block(self, petname: str, *, blocked: bool, who: Approver) -> JsonObject:
        """Take nothing more from a contact, or take from it again."""
        return await self._change(self._block, petname, blocked=blocked, who=who)

    async def verify(self, petname: str, *, verified: bool, who: Approver) -> JsonObject:
        """Say whether the key is known to be theirs."""
        return await self._change(self._verify, petname, verified=verified, who=who)

    async def remove(self, petname: str, *, who: Approver) -> JsonObject:
        """Forget a contact, end its runs and close what of it waits."""
        return await self._change(self._remove, petname, who=who)

    async def send_as(self, petname: str, capture: Capture) -> JsonObject:
        """Take a capture as if this contact had sent it."""
        taken = await self.store.call(self._send_as, petname, await self.pictures.clean(capture, sender=OWNER))
        self.changes.ring()
        return taken

    async def _change(self, do: Callable[..., tuple[JsonObject, list[RunId]]], *args: str, **kw: object) -> JsonObject:
        view, stopped = await self.store.call(do, *args, **kw)
        self.changed()
        for run in stopped:
            segment = self.live.get(run)
            if segment is not None:
                segment.stop.set()
        self.changes.ring()
        return view

    def _add(  # noqa: PLR0913 - one contact, whole
        self, conn: Connection, petname: str, key: str, *, kind: str, verified: bool, who: Approver
    ) -> tuple[JsonObject, list[RunId]]:
        if kind not in _KINDS:
            raise UsageError(f"cannot add a contact of kind {kind!r}: it is person or agent")
        try:
            public = keys.checked(key)
        except KeyUnusableError as error:
            raise UsageError(
                f"cannot add {petname!r}: the key is unfit: {error}", resolution="copy the line keygen printed"
            ) from None
        others = contacts.all(conn)
        petnames.check_key(petname, public, others)
        row = ContactRow(
            petname=petname,
            skeleton=petnames.check_name(petname, others),
            kind=_KINDS[kind],
            key=public,
            fingerprint=keys.shown(public),
            verified=verified,
            created=self.clock(),
        )
        contacts.insert(conn, row, who=who)
        return _whole(conn, petname), []

    def _rename(self, conn: Connection, petname: str, to: str, *, who: Approver) -> tuple[JsonObject, list[RunId]]:
        row = contacts.get(conn, petname)
        seen = petnames.check_name(to, [other for other in contacts.all(conn) if other.petname != petname])
        lost: list[Json] = [*_listed_by(conn, row)]
        contacts.rename(conn, row, to, skeleton=seen, who=who, now=self.clock())
        return _whole(conn, to) | {"before": petname, "lost": lost}, []

    def _block(self, conn: Connection, petname: str, *, blocked: bool, who: Approver) -> tuple[JsonObject, list[RunId]]:
        row = contacts.get(conn, petname)
        if (row.blocked is not None) is not blocked:
            contacts.block(conn, row, blocked=blocked, who=who, now=self.clock())
        stopped = self._cancel(conn, row, {RunState.QUEUED}, f"{petname} was blocked", who) if blocked else []
        return _whole(conn, petname) | {"cancelled": [*stopped]}, stopped

    def _verify(self, conn: Connection, petname: str, *, verified: bool, who: Approver) -> tuple[JsonObject, list[RunId]]:
        row = contacts.get(conn, petname)
        if row.verified is not verified:
            contacts.verify(conn, row, verified=verified, who=who, now=self.clock())
        return _whole(conn, petname), []

    def _remove(self, conn: Connection, petname: str, *, who: Approver) -> tuple[JsonObject, list[RunId]]:
        row = contacts.get(conn, petname)
        contacts.remove(conn, row, who=who, now=self.clock())
        closed: list[Json] = []
        for line in captures.listing(conn, states={CaptureState.STUB, CaptureState.STORED}):
            if line.sender.fingerprint == row.fingerprint:
                captures.move(conn, line.id, CaptureEvent.DISMISS, now=self.clock(), by=who)
                closed.append(line.id)
        stopped = self._cancel(conn, row, set(RunState) - RUN_ENDS, f"{petname} was removed", who)
        taken = withdraw_all(conn, row, now=self.clock(), by=who)
        return {**contact_view(row), "cancelled": [*stopped], "closed": closed, "withdrawn": taken}, stopped

    def _cancel(  # noqa: PLR0917 - for one transaction
        self, conn: Connection, row: ContactRow, states: set[RunState], reason: str, who: Approver
    ) -> list[RunId]:
        found = [run for run in runs.list(conn, states=states) if run.sender.fingerprint == row.fingerprint]
        return [run.id for run in found if self._ended(conn, run, reason, who)]

    def _ended(self, conn: Connection, run: RunRow, reason: str, who: Approver) -> bool:  # noqa: PLR0917
        end = End(ending=Ending.CANCEL, reason=reason, by=who)
        return self.endings.record_in(conn, Attempt(run.id, run.segment, run.attempt), end) is not None

    def _send_as(self, conn: Connection, petname: str, capture: Capture) -> JsonObject:
        row = contacts.get(conn, petname)
        if row.blocked is not None:
            raise UsageError(
                f"cannot send as {petname}: the contact is blocked", resolution=f"runner contact unblock {petname}"
            )
        return self.intake.receive(conn, capture, row.sender, verified=row.verified).answer


def contact_view(row: ContactRow) -> JsonObject:
    """A contact in a list."""
    return {
        "petname": row.petname,
        "fingerprint": row.fingerprint,
        "kind": "agent" if row.kind is SenderKind.AGENT else "person",
        "trust": "trusted" if row.verified else "unverified",
        "blocked": row.blocked,
        "created": row.created,
        "sender": sender_name(row.sender),
    }


def _whole(conn: Connection, petname: str) -> JsonObject:
    row = contacts.get(conn, petname)
    agents: list[Json] = [*_listed_by(conn, row)]
    lines = captures.listing(conn, states={CaptureState.STUB, CaptureState.STORED})
    waiting: list[Json] = [line.id for line in lines if line.sender.fingerprint == row.fingerprint]
    return {**contact_view(row), "key": row.key, "agents": agents, "waiting": waiting}


def _listed_by(conn: Connection, row: ContactRow) -> list[str]:
    return [stored.name for stored in profiles.all(conn) if admits(parsed(stored), row.sender)]
