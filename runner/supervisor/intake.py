"""How a capture becomes a run, once (R36): taken, then delivered, or stored, or kept as a stub until a person accepts it.

Owns the lane a sender is in. Everything of one step is one transaction; nothing here knows by which door a capture came.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from runner.approvals import Approver
from runner.captures import from_json as capture_from_json
from runner.captures import to_json as capture_to_json
from runner.errors import AlreadyDecidedError, NotAllowedError
from runner.fence import Forward, compose
from runner.lifecycle import CaptureEvent, CaptureState
from runner.model import Attempt, Capture, CaptureId, JsonObject, Profile, Sender, SenderKind
from runner.policy.taint import of_capture
from runner.store import (
    CaptureRow,
    Connection,
    ProfileRow,
    RunRow,
    captures,
    contacts,
    forwards,
    pausing,
    profiles,
    runs,
    taints,
)
from runner.supervisor import concealed, threads
from runner.supervisor.floors import Floors
from runner.supervisor.ids import Ids
from runner.supervisor.parsing import parsed
from runner.supervisor.progress import Clock, Enqueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What became of a capture."""

    capture: CaptureId
    state: CaptureState
    run: RunRow | None = None

    @property
    def answer(self) -> JsonObject:
        """As `send --json` says it."""
        if self.run is not None:
            return {"capture": self.capture, "run": self.run.id}
        return {"capture": self.capture, "run": None, "state": self.state.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """Takes captures and hands them to runs."""

    clock: Clock
    ids: Ids
    enqueue: Enqueue
    floors: Floors = field(default_factory=Floors)

    def receive(
        self, conn: Connection, capture: Capture, sender: Sender, *, verified: bool = True, thread: str | None = None
    ) -> Taken:
        """Take a capture; it is delivered at once where its sender is verified and its agent wakes for it (C22, R17).

        One of somebody else for an agent that does more than read unasked waits for a person like an unverified one's (R35).

        Raises:
            NotFoundError: No such agent.
            NotAllowedError: The agent does not list this sender.
            PausedError: The supervisor is paused; nothing is kept (R29).
            FenceError: It cannot be fenced.
            RunnerError: It is to continue a thread, and cannot.
        """
        pausing.refuse(conn, f"send to {capture.agent}")
        stored = profiles.current(conn, capture.agent)
        profile = _listing(stored, sender)
        compose(capture, sender, draw=self.ids.nonce, standing=standing_of(profile, sender))
        text = json.dumps(capture_to_json(capture))
        row = captures.insert(
            conn, CaptureRow(id=self.ids.capture(), agent=capture.agent, sender=sender, text=text, created=self.clock())
        )
        if thread is not None:
            threads.place(conn, row, stored, name=thread, now=self.clock())
        if not verified or self.floors.stubs(conn, profile, sender):
            why = "its agent does more than read unasked" if verified else "its sender is not verified"
            captures.move(conn, row.id, CaptureEvent.HOLD, now=self.clock(), why=why)
            return Taken(capture=row.id, state=CaptureState.STUB)
        return self._wake(conn, row, capture, stored)

    def accept(self, conn: Connection, ref: str, *, by: Approver) -> Taken:
        """Let a stub become a capture like any other; where its agent wakes, its run is queued with it.

        Raises:
            NotFoundError: No such capture, or its agent is gone.
            AlreadyDecidedError: It is no stub any more.
            NotAllowedError: Its sender was blocked or removed, or is not listed any more.
            PausedError: The supervisor is paused.
        """
        row = self._waiting(conn, ref, CaptureState.STUB, "accept")
        stored = profiles.current(conn, row.agent)
        _listing(stored, row.sender)
        captures.move(conn, row.id, CaptureEvent.ACCEPT, now=self.clock(), by=by)
        return self._wake(conn, row, capture_from_json(row.text), stored, stored_already=True)

    def start(self, conn: Connection, ref: str) -> Taken:
        """Queue the run of a stored capture.

        Raises:
            RunnerError: As for `accept`.
        """
        row = self._waiting(conn, ref, CaptureState.STORED, "start")
        stored = profiles.current(conn, row.agent)
        _listing(stored, row.sender)
        return self.deliver(conn, row, capture_from_json(row.text), stored)

    def dismiss(self, conn: Connection, ref: str, *, by: Approver) -> Taken:
        """Let a stub or a stored capture never have a run.

        Raises:
            NotFoundError: No such capture.
            AlreadyDecidedError: It has a run, or was dismissed before.
        """
        row = captures.find(conn, ref)
        state = captures.move(conn, row.id, CaptureEvent.DISMISS, now=self.clock(), by=by)
        if state is None:
            raise AlreadyDecidedError(f"cannot dismiss {row.id}: it is {row.state.value}")
        return Taken(capture=row.id, state=state)

    def _waiting(self, conn: Connection, ref: str, state: CaptureState, doing: str) -> CaptureRow:  # noqa: PLR0917
        row = captures.find(conn, ref)
        pausing.refuse(conn, f"{doing} {row.id}")
        if row.state is not state:
            raise AlreadyDecidedError(
                f"cannot {doing} {row.id}: it is {row.state.value}", resolution="runner captures lists what waits"
            )
        return replace(row, sender=sender_now(conn, row, doing=doing))

    def _wake(  # noqa: PLR0917 - a capture, whole
        self, conn: Connection, row: CaptureRow, capture: Capture, stored: ProfileRow, *, stored_already: bool = False
    ) -> Taken:
        if parsed(stored).wake:
            return self.deliver(conn, row, capture, stored)
        if not stored_already:
            captures.move(conn, row.id, CaptureEvent.STORE, now=self.clock())
        return Taken(capture=row.id, state=CaptureState.STORED)

    def deliver(self, conn: Connection, row: CaptureRow, capture: Capture, stored: ProfileRow) -> Taken:  # noqa: PLR0917
        """The one place where a capture gets its run; its state keeps it from getting a second (R36)."""
        now, sender, profile = self.clock(), row.sender, parsed(stored)
        if captures.move(conn, row.id, CaptureEvent.DELIVER, now=now) is None:
            raise AlreadyDecidedError(f"cannot deliver {row.id}: it has its run already")
        prompt = compose(
            capture,
            sender,
            draw=self.ids.nonce,
            standing=standing_of(profile, sender),
            forwarded=handed_on(conn, row.id),
        )
        before = threads.continued(conn, row, stored)
        inherited = () if before is None else taints.of_run(conn, before.id)
        run = runs.insert(
            conn,
            RunRow(
                id=self.ids.run(),
                capture=row.id,
                agent=row.agent,
                profile_digest=stored.digest,
                sender=sender,
                strict=self.floors.strict_for(profile, capture, sender) or bool(inherited),
                created=now,
                updated=now,
                session_id=(before.session_id if before is not None else None) or self.ids.session(),
                nonce=prompt.nonce,
            ),
        )
        concealed.record(conn, run.id, capture, now=now)
        if before is not None:
            taints.inherit(conn, run.id, before.id, now=now)
        taints.add(conn, run.id, of_capture(capture, sender, id=run.capture), now=now)
        self.enqueue(conn, Attempt(run.id, 0, 0), agent=run.agent)
        return Taken(capture=row.id, state=CaptureState.DELIVERED, run=run)


def sender_now(conn: Connection, row: CaptureRow, *, doing: str) -> Sender:
    """Whose a capture is, under the name that the owner has for their key now; the old one may be another's by now.

    Raises:
        NotAllowedError: They were blocked or removed; nothing more of theirs reaches an agent.
    """
    if row.sender.kind is SenderKind.OWNER:
        return row.sender
    contact = contacts.of_key(conn, row.sender.fingerprint or "")
    if contact is None or contact.blocked is not None:
        raise NotAllowedError(
            f"cannot {doing} {row.id}: its sender was {'removed' if contact is None else 'blocked'}",
            resolution=f"runner dismiss {row.id} ends one that waits",
        )
    return contact.sender


def handed_on(conn: Connection, capture: CaptureId) -> Forward | None:
    """How the owner handed a capture on; None for one that was sent."""
    found = forwards.of_capture(conn, capture)
    return None if found is None else Forward(note=found.note, hops=found.hops)


def admits(profile: Profile, sender: Sender) -> bool:
    """Whether the owner listed this sender in the agent's profile (R16, R23)."""
    match sender.kind:
        case SenderKind.OWNER:
            return True
        case SenderKind.CONTACT:
            return sender.petname in profile.contacts
        case SenderKind.AGENT:
            return any(entry.label == sender.petname for entry in profile.from_agents)


def standing_of(profile: Profile, sender: Sender) -> str:
    """The owner's standing word on what a paired agent sends (R25); nothing for anybody else."""
    if sender.kind is not SenderKind.AGENT:
        return ""
    return next((entry.instruction for entry in profile.from_agents if entry.label == sender.petname), "")


def _listing(stored: ProfileRow, sender: Sender) -> Profile:
    profile = parsed(stored)
    if not admits(profile, sender):
        raise NotAllowedError(
            f"cannot send to {profile.name}: its profile does not list {sender.petname}",
            resolution=f"add it to {'from_agents' if sender.kind is SenderKind.AGENT else 'contacts'} and publish",
        )
    return profile
