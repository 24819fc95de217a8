"""What people are told about, as a table: which event of the audit begins it, and whether it still needs somebody.

A new kind is a row here and its words in `words`. Whatever is decided before its notice goes out is told to nobody (C6).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from runner.lifecycle import ApprovalState, CaptureState, ReplyState, RunState
from runner.model import ApprovalId, CaptureId, RunId
from runner.notify.words import Item
from runner.store import AuditRow, Connection, approvals, audit, captures, replies, runs
from runner.store.notices import Need, Subject

_OVER = "more calls than may wait"
_STRANGER = "a sender nobody has verified"
_REVIEW = "an answer to somebody else waits for review"
_SPENT = "its budget is spent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of notice.

    `event` of the audit begins it, or a `share` of a call's time is up. `need`: the state in which its subject still needs
    somebody. `look` tells of one. `urgent`: it waits for no digest.
    """

    name: str
    look: Callable[[Connection, str], Item]
    need: Need
    event: str | None = None
    urgent: bool = False
    share: float | None = None


def _call(conn: Connection, subject: str) -> Item:
    row = approvals.get(conn, ApprovalId(subject))
    expires = row.expires if row.state is ApprovalState.PENDING else None
    return Item(agent=row.agent, tool=row.tool, why=row.why, approval=row.id, expires=expires)


def _stub(conn: Connection, subject: str) -> Item:
    """A capture of a sender nobody has verified; what they call themselves is told to nobody."""
    row = captures.get(conn, CaptureId(subject))
    return Item(agent=row.agent, tool="", why=_STRANGER, approval=row.id)


def _reply(conn: Connection, subject: str) -> Item:
    """A reply that waits for review; nothing of it, and not to whom."""
    row = replies.get(conn, subject)
    return Item(agent=row.agent, tool="", why=_REVIEW, approval=row.id, expires=row.expires)


def _budget(conn: Connection, subject: str) -> Item:
    """A run that waits for more budget."""
    row = runs.get(conn, RunId(subject))
    return Item(agent=row.agent, tool="", why=_SPENT, approval=row.id)


def _refused(conn: Connection, subject: str) -> Item:
    """A call over a cap: it waits for nobody, and people are told that there were such (L8)."""
    found = next((row.data for row in audit.of_subject(conn, subject) if row.event == "approval.refused"), "{}")
    facts = json.loads(found)
    return Item(agent=str(facts.get("agent", "")), tool=str(facts.get("tool", "")), why=_OVER)


_A, _C = ApprovalState, CaptureState
#: In the order in which they are sent.
KINDS: tuple[Kind, ...] = (
    Kind(name="unknown", event="approval.doubt", look=_call, need=_A.UNKNOWN, urgent=True),
    Kind(name="late", look=_call, need=_A.PENDING, urgent=True, share=0.9),
    Kind(name="half", look=_call, need=_A.PENDING, urgent=True, share=0.5),
    Kind(name="asked", event="approval.request", look=_call, need=_A.PENDING),
    Kind(name="stub", event="capture.hold", look=_stub, need=_C.STUB),
    Kind(name="reply", event="reply.hold", look=_reply, need=ReplyState.HELD),
    Kind(name="budget", event="budget.hold", look=_budget, need=RunState.PARKED),
    Kind(name="refused", event="approval.refused", look=_refused, need=None),
)
EVENTS = {kind.event: kind for kind in KINDS if kind.event is not None}


def subject_of(row: AuditRow) -> Subject:
    """What an event of the audit is about. Events without an agent of their own are of no agent until they are looked at."""
    agent = json.loads(row.data).get("agent", "")
    return Subject(kind=EVENTS[row.event].name, subject=row.subject, mark=0.0, agent=str(agent), at=row.time)
