"""The last word of a run that is not the owner's: decided like every call, held for review, released once, exactly as reviewed.

To its sender a reply is `received` until it is released, and `closed` when it is not (R19-R21, B4, O1, O2, design.md §3.9).
"""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

from runner.approvals import Approver
from runner.captures.revealing import traces
from runner.digest import digest_json, parse_call
from runner.errors import (
    AlreadyDecidedError,
    ApprovalExpiredError,
    DigestMismatchError,
    NotAllowedError,
    UsageError,
)
from runner.lifecycle import RUN_ENDS, CaptureState, ReplyEvent, ReplyState, RunState
from runner.model import Decision, Digest, Json, JsonObject, Policy, Profile, RunId, Sender, SenderKind, Verdict
from runner.paths import EntryKind
from runner.policy import PolicyContext, decide
from runner.store import (
    CaptureRow,
    Connection,
    RunRow,
    Store,
    audit,
    choices,
    contacts,
    forwards,
    keep,
    pausing,
    profiles,
    replies,
    runs,
)
from runner.store.replies import ReplyRow
from runner.supervisor.changes import Changes
from runner.supervisor.countersigning import complete, countersigned, signatures_view
from runner.supervisor.ids import Ids
from runner.supervisor.parsing import parsed
from runner.supervisor.progress import Clock
from runner.supervisor.reception import Released
from runner.supervisor.reviewing import reply_line, reply_view

TOOL = "Reply"
_FOUND, _PAUSED, _GONE, _SEVERAL = "found", "paused", "no_receiver", "several"
_SAYS = {
    _FOUND: "Waits for a person's review: something in it must not leave unseen.",
    _PAUSED: "Waits for a person's review: it was ready while the supervisor was paused.",
    _SEVERAL: "Waits for a person's review: its agent's calls need several approvers, and so does what it says.",
    _GONE: "Waits for a person's review: whoever it is for is no contact any more.",
}
#: Replies of one answer.
MOST = 1000


class NoFiles:
    """A view in which nothing stands: a reply has no path."""

    def kind(self, parts: tuple[str, ...]) -> EntryKind:
        """Nothing is there."""
        return _nothing(parts)

    def link_target(self, parts: tuple[str, ...]) -> str:
        """Nothing is there."""
        return _nothing(parts)

    def hard_links(self, parts: tuple[str, ...]) -> int:
        """Nothing is there."""
        return _nothing(parts)

    def size(self, parts: tuple[str, ...]) -> int:
        """Nothing is there."""
        return _nothing(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """Implements `runner.api.reply_service.Replies` and `runner.supervisor.reception.ReplyGate`."""

    store: Store
    changes: Changes
    clock: Clock
    ids: Ids
    max_policy: Policy

    def answered(self, conn: Connection, run: RunRow, *, private: bool) -> None:
        """Take a run's last word, in the transaction that ends the run.

        Args:
            conn: The transaction.
            run: The run, replied.
            private: Whether anything could be read in its snapshot, as far as that is known.
        """
        if run.sender.kind is SenderKind.OWNER or forwards.of_capture(conn, run.capture) is not None:
            return
        profile = parsed(profiles.get(conn, run.profile_digest))
        text, now = run.reply or "", self.clock()
        decision = self._decide(conn, run.agent, profile, text=text, sender=run.sender, private=private or run.segment > 0)
        known = replies.alive(conn)
        warnings = traces(text, nonces=(*known.nonces, run.nonce or ""), ids=known.ids)
        several = profile.approvals.required > 1
        rule = self._held_by(conn, run.sender, warnings, several=several) if decision.verdict is Verdict.ALLOW else None
        row = ReplyRow(
            id=self.ids.reply(),
            run=run.id,
            capture=run.capture,
            agent=run.agent,
            sender=run.sender,
            text=text,
            digest=Digest(""),
            call_digest=decision.call_digest,
            profile_digest=run.profile_digest,
            rule=rule or decision.rule,
            reason=_SAYS[rule] if rule else decision.reason,
            warnings=warnings,
            created=now,
            expires=now + profile.approvals.expires,
        )
        row = replies.insert(conn, replace(row, digest=bound(row)))
        if decision.verdict is Verdict.DENY:
            replies.move(conn, row.id, ReplyEvent.DENY, now=now, reason=decision.reason)
        elif decision.verdict is Verdict.ALLOW and rule is None:
            self._release(conn, row, reason=decision.reason)

    def released(self, conn: Connection, capture: CaptureRow, run: RunRow | None) -> Released:
        """What of a run its own sender hears: `received`, `answered` or `closed`, and nothing finer (R36)."""
        if run is None:
            return Released("closed" if capture.state is CaptureState.CLOSED else "received")
        if run.state in RUN_ENDS - {RunState.REPLIED}:
            return Released("closed")
        row = replies.of_run(conn, run.id)
        if row is None:
            return Released("closed" if run.state is RunState.REPLIED else "received")
        match row.state:
            case ReplyState.RELEASED:
                return Released("answered", row.text)
            case ReplyState.DENIED | ReplyState.EXPIRED:
                return Released("closed")
            case _:
                return Released("received")

    async def listed(self, *, state: str | None) -> list[JsonObject]:
        """Those that wait, or those in a state, or `all`; oldest first."""
        states = {ReplyState.HELD} if state is None else None if state == "all" else {_state(state)}
        return [reply_line(row) for row in await self.store.query(replies.list, states=states, limit=MOST)]

    async def shown(self, ref: str) -> JsonObject:
        """One, whole."""
        return await self.store.query(_whole, ref)

    async def approve(self, ref: str, *, digest: str, reason: str | None, who: Approver) -> JsonObject:
        """Let exactly this text go out, once; where several approvers have to, with the last of them (D5)."""
        row = await self.store.call(self._approve, ref, digest=digest, reason=reason, who=who)
        self.changes.ring()
        return await self.shown(row.id)

    async def deny(self, ref: str, *, reason: str | None, who: Approver) -> JsonObject:
        """Keep it back."""
        row = await self.store.call(self._deny, ref, reason=reason, who=who)
        self.changes.ring()
        return await self.shown(row.id)

    async def expire(self) -> None:
        """Put an end to those whose time is up: they are never sent (L2)."""
        if await self.store.query(replies.due, self.clock()):
            await self.store.call(self._expire)
            self.changes.ring()

    def _approve(self, conn: Connection, ref: str, *, digest: str, reason: str | None, who: Approver) -> ReplyRow:
        row = replies.find(conn, ref)
        pausing.refuse(conn, f"release {row.id}")
        self._open(row, "release")
        if not (hmac.compare_digest(digest.encode(), row.digest.encode()) and bound(row) == row.digest):
            keep(conn, partial(_mismatch, row=row, who=who, now=self.clock()))
            raise DigestMismatchError(
                f"cannot release {row.id}: the digest is not this reply's",
                resolution=f"look at it again with runner reply show {row.id}",
            )
        if self._gone(conn, row.sender):
            raise NotAllowedError(
                f"cannot release {row.id}: {row.sender.petname} was blocked or removed",
                resolution=f"runner reply deny {row.id} ends it",
            )
        decision = self._again(conn, row)
        if decision.verdict is Verdict.DENY and decision.rule != "no_channel":
            raise NotAllowedError(f"cannot release {row.id}: {decision.reason}", resolution=f"runner reply deny {row.id}")
        signed = countersigned(conn, row, who=who, now=self.clock())
        return self._release(conn, signed, by=who, reason=reason) if complete(conn, signed) else signed

    def _deny(self, conn: Connection, ref: str, *, reason: str | None, who: Approver) -> ReplyRow:
        row = replies.find(conn, ref)
        self._open(row, "deny")
        return replies.move(conn, row.id, ReplyEvent.DENY, now=self.clock(), by=who, reason=reason) or self._lost(row)

    def _release(self, conn: Connection, row: ReplyRow, *, by: Approver | None = None, reason: str | None = None) -> ReplyRow:
        """Approve and hand over in one transaction: there is no moment in which it is one and not the other."""
        now = self.clock()
        if replies.move(conn, row.id, ReplyEvent.APPROVE, now=now, by=by, reason=reason) is None:
            return self._lost(row)
        return replies.move(conn, row.id, ReplyEvent.RELEASE, now=now, by=by) or self._lost(row)

    def _expire(self, conn: Connection) -> None:
        for row in replies.list(conn, states={ReplyState.HELD}):
            if row.expires <= self.clock():
                replies.move(conn, row.id, ReplyEvent.EXPIRE, now=self.clock(), reason="its time was up")

    def _open(self, row: ReplyRow, verb: str) -> None:
        if row.state is not ReplyState.HELD:
            raise _decided(row, verb)
        if row.expires <= self.clock():
            raise ApprovalExpiredError(f"cannot {verb} {row.id}: its time was up", resolution="ask the agent anew")

    def _lost(self, row: ReplyRow) -> NoReturn:
        raise _decided(row, "decide about")

    def _held_by(self, conn: Connection, sender: Sender, warnings: tuple[str, ...], *, several: bool) -> str | None:
        """Why a reply waits though the profile lets replies go out."""
        if warnings:
            return _FOUND
        if pausing.current(conn) is not None:
            return _PAUSED
        if several:
            return _SEVERAL
        return _GONE if self._gone(conn, sender) else None

    def _gone(self, conn: Connection, sender: Sender) -> bool:
        found = contacts.of_key(conn, sender.fingerprint or "")
        return found is None or found.blocked is not None

    def _again(self, conn: Connection, row: ReplyRow) -> Decision:
        """The decision as it is now: a block saved since binds (R109)."""
        profile = parsed(profiles.get(conn, row.profile_digest))
        return self._decide(conn, row.agent, profile, text=row.text, sender=row.sender, private=True)

    def _decide(  # noqa: PLR0913 - one call and its world
        self, conn: Connection, agent: str, profile: Profile, *, text: str, sender: Sender, private: bool
    ) -> Decision:
        base = PolicyContext(view=NoFiles(), sender=sender.kind, tainted=True, sensitive=private, own_reply=True)
        context = choices.of_agent(conn, agent).into(base, host=self.max_policy)
        offered = replace(profile, tools=tuple(dict.fromkeys((*profile.tools, TOOL))))
        return decide(parse_call(TOOL, json.dumps({"text": text})), offered, context)


def bound(row: ReplyRow) -> Digest:
    """What a review is of: this text, to this person, of this run (B2)."""
    facts: JsonObject = {
        "id": row.id,
        "run": row.run,
        "capture": row.capture,
        "agent": row.agent,
        "to": [row.sender.kind.value, row.sender.petname, row.sender.fingerprint],
        "text": row.text,
        "call": row.call_digest,
        "profile": row.profile_digest,
    }
    return digest_json("runner.reply.v1", facts)


def _whole(conn: Connection, ref: str) -> JsonObject:
    row = replies.find(conn, ref)
    capture: Json = runs.get(conn, RunId(row.run)).capture
    return reply_view(row, audit.of_subject(conn, row.id)) | signatures_view(conn, row) | {"capture": capture}


def _mismatch(conn: Connection, *, row: ReplyRow, who: Approver, now: float) -> None:
    audit.append(conn, time=now, event="reply.mismatch", subject=row.id, data={"by": who.facts()})


def _decided(row: ReplyRow, verb: str) -> AlreadyDecidedError:
    by = row.decided_by
    who = "" if by is None else f" by {by.name or f'uid {by.uid}'}"
    return AlreadyDecidedError(
        f"cannot {verb} {row.id}: it is {row.state.value} already{who}", resolution=f"runner reply show {row.id}"
    )


def _nothing(parts: tuple[str, ...]) -> NoReturn:
    raise FileNotFoundError("/".join(parts))


def _state(text: str) -> ReplyState:
    try:
        return ReplyState(text)
    except ValueError:
        raise UsageError(
            f"cannot list replies in state {text!r}: there is none",
            resolution=", ".join([*(state.value for state in ReplyState), "all"]),
        ) from None
