"""Files that the owner hands to a contact: shown with what they would give away, then kept for exactly that contact.

What is shown is a draft: it is in this process alone, for minutes. A yes names its digest, so what leaves is what was shown, to
whom it was shown, and nothing of it is kept while the supervisor is paused (R26-R28, R31).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from runner.approvals import Approver
from runner.captures import sharing
from runner.captures.revealing import links
from runner.captures.sharing import Found, Live
from runner.digest import digest_json
from runner.errors import AlreadyDecidedError, DigestMismatchError, NotAllowedError, UsageError
from runner.lifecycle import ShareEvent, ShareState
from runner.model import Digest, Json, JsonObject, Sender
from runner.store import Connection, Store, audit, contacts, pausing, replies, shares
from runner.store.contacts import ContactRow
from runner.store.shares import LIVE, FileRow, ShareRow
from runner.supervisor.changes import Changes
from runner.supervisor.ids import Ids
from runner.supervisor.progress import Clock
from runner.supervisor.sharing_views import draft_view, share_line, share_view

#: Seconds in which a yes to what was shown counts, and how many drafts are kept for one.
DRAFTED, DRAFTS = 900.0, 4
#: Seconds that a share is kept at most, whatever is asked.
LONGEST = 90 * 86400.0
#: Shares that wait or can be fetched again at once, and shares of one answer.
MOST_LIVING, MOST = 100, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What was shown."""

    to: Sender
    note: str
    seconds: float
    files: tuple[Found, ...]
    contents: tuple[bytes, ...]
    warnings: tuple[str, ...]
    made: float


@dataclass(slots=True, kw_only=True)
class Shares:
    """Implements `runner.api.share_service.Shares`. `seconds`: how long one is kept unless the owner says."""

    store: Store
    changes: Changes
    clock: Clock
    ids: Ids
    seconds: float
    _drafts: OrderedDict[str, Draft] = field(default_factory=OrderedDict)

    async def plan(self, petname: str, files: Sequence[tuple[str, bytes]], *, note: str, seconds: float | None) -> JsonObject:
        """What would be shared, and what it would give away; nothing of it is on disk."""
        wanted = self.seconds if seconds is None else seconds
        if not 0 < wanted <= LONGEST:
            days = LONGEST / 86400
            raise UsageError(
                f"cannot share for {wanted / 86400:.1f} days: {days:.0f} are the most", resolution=f"such as --for {days:.0f}d"
            )
        sharing.check(files, note)
        to, live = await self.store.query(_planned, petname)
        found = await asyncio.to_thread(lambda: tuple(sharing.look(name, data, live) for name, data in files))
        draft = Draft(
            to=to,
            note=note,
            seconds=wanted,
            files=found,
            contents=tuple(data for _, data in files),
            warnings=_warnings(found, note, live),
            made=self.clock(),
        )
        digest = _bound(draft)
        self._keep(digest, draft)
        return draft_view(draft, digest=digest, links=links(note))

    async def share(self, digest: str, *, who: Approver) -> JsonObject:
        """Let the contact fetch what was shown under this digest."""
        self._forget()
        draft = self._drafts.pop(digest, None)
        if draft is None:
            raise DigestMismatchError(
                "cannot share: nothing was shown here lately under this digest",
                resolution="run the same command again: it shows what would leave as it is now",
            )
        row = await self.store.call(self._share, draft, digest=Digest(digest), who=who)
        self.changes.ring()
        return await self.shown(row.id)

    async def listed(self, *, state: str | None) -> list[JsonObject]:
        """Those that can be fetched, or those in a state, or `all`; newest first."""
        states = LIVE if state is None else None if state == "all" else {_state(state)}
        return [share_line(row) for row in await self.store.query(shares.list, states=states, limit=MOST)]

    async def shown(self, ref: str) -> JsonObject:
        """One, with its files and history."""
        return await self.store.query(_whole, ref)

    async def withdraw(self, ref: str, *, reason: str | None, who: Approver) -> JsonObject:
        """Take one back: what was not fetched never will be."""
        row = await self.store.call(self._withdraw, ref, reason=reason, who=who)
        self.changes.ring()
        return await self.shown(row.id)

    async def expire(self) -> None:
        """Put an end to those whose time is up, and forget what was shown long ago."""
        self._forget()
        if await self.store.query(shares.due, self.clock()):
            await self.store.call(self._expire)
            self.changes.ring()

    def _keep(self, digest: Digest, draft: Draft) -> None:
        self._forget()
        self._drafts[digest] = draft
        while len(self._drafts) > DRAFTS:
            self._drafts.popitem(last=False)

    def _forget(self) -> None:
        now = self.clock()
        for digest in [digest for digest, draft in self._drafts.items() if now - draft.made > DRAFTED]:
            del self._drafts[digest]

    def _share(self, conn: Connection, draft: Draft, *, digest: Digest, who: Approver) -> ShareRow:
        to = _receiver(conn, draft.to.petname or "")
        if to != draft.to:
            raise NotAllowedError(
                f"cannot share with {draft.to.petname}: the name has another key since it was shown",
                resolution="run the same command again",
            )
        if shares.living(conn) >= MOST_LIVING:
            raise UsageError(
                f"cannot share: {MOST_LIVING} shares can be fetched already",
                resolution="runner shares; runner share withdraw ID",
            )
        now = self.clock()
        files = tuple(
            FileRow(n=n, name=one.name, kind=one.kind, size=one.size, digest=one.digest) for n, one in enumerate(draft.files, 1)
        )
        row = ShareRow(
            id=self.ids.share(),
            to=draft.to,
            note=draft.note,
            digest=digest,
            warnings=draft.warnings,
            shared_by=who,
            created=now,
            expires=now + draft.seconds,
            files=files,
        )
        return shares.insert(conn, row, draft.contents)

    def _withdraw(self, conn: Connection, ref: str, *, reason: str | None, who: Approver) -> ShareRow:
        row = shares.find(conn, ref)
        ended = shares.end(conn, row.id, ShareEvent.WITHDRAW, now=self.clock(), by=who, reason=reason)
        if ended is None:
            raise AlreadyDecidedError(
                f"cannot withdraw {row.id}: it is {row.state.value} already", resolution=f"runner show {row.id}"
            )
        return ended

    def _expire(self, conn: Connection) -> None:
        for share in shares.due(conn, self.clock()):
            shares.end(conn, share, ShareEvent.EXPIRE, now=self.clock(), reason="its time was up")


def withdraw_all(conn: Connection, contact: ContactRow, *, now: float, by: Approver) -> list[Json]:
    """Take back everything that a contact could still fetch, in the transaction that removes it; the ids."""
    found = shares.list(conn, states=LIVE, fingerprint=contact.fingerprint)
    reason = f"{contact.petname} was removed"
    return [row.id for row in found if shares.end(conn, row.id, ShareEvent.WITHDRAW, now=now, by=by, reason=reason)]


def _planned(conn: Connection, petname: str) -> tuple[Sender, Live]:
    """Whom a petname names, as `_receiver`; and what must not leave."""
    to, alive = _receiver(conn, petname), replies.alive(conn)
    return to, Live(alive.nonces, alive.ids)


def _receiver(conn: Connection, petname: str) -> Sender:
    """Whom a petname names, if they may be handed anything now.

    Raises:
        PausedError: A pause is in force.
        NotFoundError: There is no such contact.
        NotAllowedError: It is blocked, or nobody has verified its key.
    """
    pausing.refuse(conn, f"share with {petname}")
    row = contacts.get(conn, petname)
    if row.blocked is not None:
        raise NotAllowedError(
            f"cannot share with {petname}: the contact is blocked", resolution=f"runner contact unblock {petname}"
        )
    if not row.verified:
        raise NotAllowedError(
            f"cannot share with {petname}: nobody has verified that the key is theirs",
            resolution=f"compare fingerprints, then runner contact verify {petname}",
        )
    return row.sender


def _bound(draft: Draft) -> Digest:
    """What a yes is to: these bytes, this contact, this note and this time."""
    facts: JsonObject = {
        "to": [draft.to.kind.value, draft.to.petname, draft.to.fingerprint],
        "note": draft.note,
        "seconds": draft.seconds,
        "files": [[one.name, one.size, one.digest] for one in draft.files],
    }
    return digest_json("runner.share.v1", facts)


def _warnings(files: Sequence[Found], note: str, live: Live) -> tuple[str, ...]:
    """What was found, each with where."""
    said = [f"the note: {clause}" for clause in sharing.look_at_note(note, live)]
    return tuple(said + [f"{one.name}: {clause}" for one in files for clause in one.warnings])


def _whole(conn: Connection, ref: str) -> JsonObject:
    row = shares.find(conn, ref)
    return share_view(row, audit.of_subject(conn, row.id))


def _state(text: str) -> ShareState:
    try:
        return ShareState(text)
    except ValueError:
        raise UsageError(
            f"cannot list shares in state {text!r}: there is none",
            resolution=", ".join([*(state.value for state in ShareState), "all"]),
        ) from None
