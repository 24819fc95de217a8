"""What people are told about, as a table: which event of the audit begins it, and whether it still needs somebody.

A new kind is a row here and its words in `words`. Whatever is decided before its notice goes out is told to nobody (C6).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from runner.errors import NotFoundError
from runner.lifecycle import ApprovalState, CaptureState
from runner.model import ApprovalId, CaptureId
from runner.notify.words import Item
from runner.store import AuditRow, Connection, approvals, audit, captures
from runner.store.notices import Subject

_OVER = "more calls than may wait"
_STRANGER = "a sender nobody has verified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of notice. `urgent`: it waits for no digest. `share`: of a call's time after which it is due by the clock."""

    name: str
    look: Callable[[Connection, str], Item | None]
    event: str | None = None
    urgent: bool = False
    share: float | None = None


def _pending(conn: Connection, subject: str) -> Item | None:
    return _in_state(conn, subject, ApprovalState.PENDING)


def _unknown(conn: Connection, subject: str) -> Item | None:
    return _in_state(conn, subject, ApprovalState.UNKNOWN)


def _in_state(conn: Connection, subject: str, state: ApprovalState) -> Item | None:
    try:
        row = approvals.get(conn, ApprovalId(subject))
    except NotFoundError:
        return None
    if row.state is not state:
        return None
    expires = row.expires if state is ApprovalState.PENDING else None
    return Item(agent=row.agent, tool=row.tool, why=row.why, approval=row.id, expires=expires)


def _stub(conn: Connection, subject: str) -> Item | None:
    """A capture of a sender nobody has verified; what they call themselves is told to nobody."""
    try:
        row = captures.get(conn, CaptureId(subject))
    except NotFoundError:
        return None
    return Item(agent=row.agent, tool="", why=_STRANGER, approval=row.id) if row.state is CaptureState.STUB else None


def _refused(conn: Connection, subject: str) -> Item | None:
    """A call over a cap: it waits for nobody, and people are told that there were such (L8)."""
    for row in audit.of_subject(conn, subject):
        if row.event == "approval.refused":
            facts = json.loads(row.data)
            return Item(agent=str(facts.get("agent")), tool=str(facts.get("tool")), why=_OVER)
    return None


#: In the order in which they are sent.
KINDS: tuple[Kind, ...] = (
    Kind(name="unknown", event="approval.doubt", look=_unknown, urgent=True),
    Kind(name="late", look=_pending, urgent=True, share=0.9),
    Kind(name="half", look=_pending, urgent=True, share=0.5),
    Kind(name="asked", event="approval.request", look=_pending),
    Kind(name="stub", event="capture.hold", look=_stub),
    Kind(name="refused", event="approval.refused", look=_refused),
)
EVENTS = {kind.event: kind for kind in KINDS if kind.event is not None}


def subject_of(row: AuditRow) -> Subject:
    """What an event of the audit is about. Events without an agent of their own are of no agent until they are looked at."""
    agent = json.loads(row.data).get("agent", "")
    return Subject(kind=EVENTS[row.event].name, subject=row.subject, mark=0.0, agent=str(agent), at=row.time)
