"""The state machines of a capture, a run, an approval, an effect, a reply and a share, as tables.

Everything that affects transitions lives here. This file does not know who moves a state or why; `store` applies it by
compare-and-set and a database trigger generated from the same tables aborts every other change (invariant 9).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar


class RunState(Enum):
    """One capture's life."""

    QUEUED = "queued"  #: accepted, waiting for a place
    STARTING = "starting"  #: snapshot, container, proof
    RUNNING = "running"  #: the agent thinks or reads
    HELD = "held"  #: the container waits for a person
    PARKED = "parked"  #: nothing but rows waits for a person
    REPLIED = "replied"  #: ended with a reply
    FAILED = "failed"  #: ended without one; the reason is on record, and a person may let it go on
    CANCELLED = "cancelled"  #: stopped by a person
    LOST = "lost"  #: its supervisor died and the run cannot be resumed


class RunEvent(Enum):
    """What can happen to a run."""

    CLAIM = "claim"
    START = "start"
    HOLD = "hold"
    RELEASE = "release"
    PARK = "park"
    RESUME = "resume"
    RETRY = "retry"
    REPLY = "reply"
    FAIL = "fail"
    CANCEL = "cancel"
    LOSE = "lose"


class CaptureState(Enum):
    """What has become of a capture before any agent sees it."""

    RECEIVED = "received"  #: taken; in the same transaction it is delivered, stored, or kept as a stub
    STUB = "stub"  #: from a sender nobody has verified: its content is shown to nobody until a person accepts it
    STORED = "stored"  #: waits for a person to start its run
    DELIVERED = "delivered"  #: a run has it, this one and no other (R36)
    CLOSED = "closed"  #: no run will ever have it


class CaptureEvent(Enum):
    """What can happen to a capture."""

    DELIVER = "deliver"
    HOLD = "hold"
    STORE = "store"
    ACCEPT = "accept"
    DISMISS = "dismiss"


class ApprovalState(Enum):
    """One gated call's life in the queue."""

    PENDING = "pending"
    APPROVED = "approved"
    EXECUTING = "executing"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"  #: may have happened; a person settles it
    DENIED = "denied"
    EXPIRED = "expired"
    NO_CHANNEL = "no_channel"  #: nobody could be asked
    STALE = "stale"  #: the world it was proposed in has changed
    SUPERSEDED = "superseded"  #: its run can no longer take the answer
    CANCELLED = "cancelled"  #: its run ended


class ApprovalEvent(Enum):
    """What can happen to an approval."""

    APPROVE = "approve"
    DENY = "deny"
    EXPIRE = "expire"
    NO_CHANNEL = "no_channel"
    CANCEL = "cancel"
    SUPERSEDE = "supersede"
    GO_STALE = "go_stale"
    EXECUTE = "execute"
    SUCCEED = "succeed"
    FAIL = "fail"
    DOUBT = "doubt"
    NOT_HAPPENED = "not_happened"
    SETTLE_HAPPENED = "settle_happened"
    SETTLE_NOT_HAPPENED = "settle_not_happened"


class ReplyState(Enum):
    """A run's last word on its way to somebody who is not the owner."""

    HELD = "held"  #: waits for a person's review
    APPROVED = "approved"  #: may go out; in the same transaction it is released
    RELEASED = "released"  #: its sender can fetch it
    DENIED = "denied"
    EXPIRED = "expired"


class ReplyEvent(Enum):
    """What can happen to a reply."""

    APPROVE = "approve"
    RELEASE = "release"
    DENY = "deny"
    EXPIRE = "expire"


class ShareState(Enum):
    """Files that the owner hands to a contact."""

    OFFERED = "offered"  #: its contact can fetch it
    FETCHED = "fetched"  #: some of it has left; its contact can fetch it again until its time is up
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


class ShareEvent(Enum):
    """What can happen to a share."""

    FETCH = "fetch"
    WITHDRAW = "withdraw"
    EXPIRE = "expire"


class NoticeState(Enum):
    """One notice on its way to one channel."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"  #: given up; shown in doctor and status
    NEEDLESS = "needless"  #: decided before it could be told


class NoticeEvent(Enum):
    """What can happen to a notice on its way."""

    DELIVER = "deliver"
    GIVE_UP = "give_up"
    DECIDE = "decide"


_R, _E = RunState, RunEvent

#: (state, event) → state. A pair that is not here is refused.
RUN: Mapping[tuple[RunState, RunEvent], RunState] = {
    (_R.QUEUED, _E.CLAIM): _R.STARTING,
    (_R.QUEUED, _E.FAIL): _R.FAILED,
    (_R.QUEUED, _E.CANCEL): _R.CANCELLED,
    (_R.STARTING, _E.START): _R.RUNNING,
    (_R.STARTING, _E.PARK): _R.PARKED,
    (_R.STARTING, _E.FAIL): _R.FAILED,
    (_R.STARTING, _E.CANCEL): _R.CANCELLED,
    (_R.STARTING, _E.LOSE): _R.LOST,
    (_R.RUNNING, _E.HOLD): _R.HELD,
    (_R.RUNNING, _E.PARK): _R.PARKED,
    (_R.RUNNING, _E.REPLY): _R.REPLIED,
    (_R.RUNNING, _E.FAIL): _R.FAILED,
    (_R.RUNNING, _E.CANCEL): _R.CANCELLED,
    (_R.RUNNING, _E.LOSE): _R.LOST,
    (_R.HELD, _E.RELEASE): _R.RUNNING,
    (_R.HELD, _E.PARK): _R.PARKED,
    (_R.HELD, _E.FAIL): _R.FAILED,
    (_R.HELD, _E.CANCEL): _R.CANCELLED,
    (_R.HELD, _E.LOSE): _R.LOST,
    (_R.PARKED, _E.RESUME): _R.QUEUED,
    (_R.PARKED, _E.FAIL): _R.FAILED,
    (_R.PARKED, _E.CANCEL): _R.CANCELLED,
    (_R.FAILED, _E.RETRY): _R.QUEUED,
}

_C, _K = CaptureState, CaptureEvent

#: (state, event) → state. Nothing leads out of `delivered`: a capture is handed to an agent once, by whatever route (R36).
CAPTURE: Mapping[tuple[CaptureState, CaptureEvent], CaptureState] = {
    (_C.RECEIVED, _K.DELIVER): _C.DELIVERED,
    (_C.RECEIVED, _K.HOLD): _C.STUB,
    (_C.RECEIVED, _K.STORE): _C.STORED,
    (_C.STUB, _K.ACCEPT): _C.STORED,
    (_C.STUB, _K.DISMISS): _C.CLOSED,
    (_C.STORED, _K.DELIVER): _C.DELIVERED,
    (_C.STORED, _K.DISMISS): _C.CLOSED,
}

_A, _V = ApprovalState, ApprovalEvent

#: (state, event) → state. `executing` never goes back to `approved` but by proof that nothing happened (B9).
APPROVAL: Mapping[tuple[ApprovalState, ApprovalEvent], ApprovalState] = {
    (_A.PENDING, _V.APPROVE): _A.APPROVED,
    (_A.PENDING, _V.DENY): _A.DENIED,
    (_A.PENDING, _V.EXPIRE): _A.EXPIRED,
    (_A.PENDING, _V.NO_CHANNEL): _A.NO_CHANNEL,
    (_A.PENDING, _V.CANCEL): _A.CANCELLED,
    (_A.PENDING, _V.SUPERSEDE): _A.SUPERSEDED,
    (_A.APPROVED, _V.EXECUTE): _A.EXECUTING,
    (_A.APPROVED, _V.GO_STALE): _A.STALE,
    (_A.APPROVED, _V.CANCEL): _A.CANCELLED,
    (_A.EXECUTING, _V.SUCCEED): _A.DONE,
    (_A.EXECUTING, _V.FAIL): _A.FAILED,
    (_A.EXECUTING, _V.DOUBT): _A.UNKNOWN,
    (_A.EXECUTING, _V.NOT_HAPPENED): _A.APPROVED,
    (_A.UNKNOWN, _V.SETTLE_HAPPENED): _A.DONE,
    (_A.UNKNOWN, _V.SETTLE_NOT_HAPPENED): _A.FAILED,
}

#: (state, event) → state. Nothing leads back: a reply is reviewed once, and what is out is out.
REPLY: Mapping[tuple[ReplyState, ReplyEvent], ReplyState] = {
    (ReplyState.HELD, ReplyEvent.APPROVE): ReplyState.APPROVED,
    (ReplyState.HELD, ReplyEvent.DENY): ReplyState.DENIED,
    (ReplyState.HELD, ReplyEvent.EXPIRE): ReplyState.EXPIRED,
    (ReplyState.APPROVED, ReplyEvent.RELEASE): ReplyState.RELEASED,
}

#: (state, event) → state. At either end its bytes are gone from here; what was fetched is with its contact.
SHARE: Mapping[tuple[ShareState, ShareEvent], ShareState] = {
    (ShareState.OFFERED, ShareEvent.FETCH): ShareState.FETCHED,
    (ShareState.OFFERED, ShareEvent.WITHDRAW): ShareState.WITHDRAWN,
    (ShareState.OFFERED, ShareEvent.EXPIRE): ShareState.EXPIRED,
    (ShareState.FETCHED, ShareEvent.WITHDRAW): ShareState.WITHDRAWN,
    (ShareState.FETCHED, ShareEvent.EXPIRE): ShareState.EXPIRED,
}

#: (state, event) → state. A failed try leaves a notice waiting, for later.
NOTICE: Mapping[tuple[NoticeState, NoticeEvent], NoticeState] = {
    (NoticeState.WAITING, NoticeEvent.DELIVER): NoticeState.DELIVERED,
    (NoticeState.WAITING, NoticeEvent.GIVE_UP): NoticeState.DEAD,
    (NoticeState.WAITING, NoticeEvent.DECIDE): NoticeState.NEEDLESS,
}

REPLY_ENDS = frozenset({ReplyState.RELEASED, ReplyState.DENIED, ReplyState.EXPIRED})
SHARE_ENDS = frozenset({ShareState.WITHDRAWN, ShareState.EXPIRED})
CAPTURE_ENDS = frozenset({_C.DELIVERED, _C.CLOSED})
RUN_ENDS = frozenset({_R.REPLIED, _R.FAILED, _R.CANCELLED, _R.LOST})
#: States in which an approval has an outcome that its agent can be told.
APPROVAL_ENDS = frozenset(_A) - {_A.PENDING, _A.APPROVED, _A.EXECUTING, _A.UNKNOWN}

_WORDS = {
    _R.QUEUED: "waiting",
    _R.STARTING: "doing",
    _R.RUNNING: "doing",
    _R.HELD: "needs you",
    _R.PARKED: "needs you",
    _R.REPLIED: "done",
    _R.FAILED: "refused",
    _R.CANCELLED: "refused",
    _R.LOST: "refused",
}

State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)


def sources(table: Mapping[tuple[State, Event], State], event: Event) -> dict[State, State]:
    """The states `event` may find, each with the state it leads to."""
    return {before: after for (before, what), after in table.items() if what is event}


def moves(table: Mapping[tuple[State, Event], State]) -> frozenset[tuple[State, State]]:
    """Every legal (before, after) pair of a table, for the database trigger and the diagrams."""
    return frozenset((before, after) for (before, _), after in table.items())


def word(state: RunState) -> str:
    """The word of design.md §9 a person is shown: waiting, doing, done, refused, needs you."""
    return _WORDS[state]
