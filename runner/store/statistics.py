"""How people decided, counted from approvals and the audit, without any of their content.

The time on the card runs from the first showing within `SITTING` before the decision to the decision; a decision without a
showing on record counts as decided and has no time.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from sqlalchemy import Connection, or_, select

from runner.lifecycle import ApprovalState
from runner.store import schema

#: Seconds before a decision in which a showing belongs to it: a card looked at yesterday was not read today.
SITTING = 3600.0
#: A decision that took less was not read.
HASTY = 2.0
#: Whose row calls are in that nobody decided about in time.
NOBODY = "nobody"
_UNDO = "Undo"


class Decided(NamedTuple):
    """One call that is decided or expired."""

    id: str
    tool: str
    state: str
    person: str
    uid: int | None
    at: float


@dataclass(slots=True, kw_only=True)
class Tally:
    """What one person did with one tool's calls. `seconds`: of each decision whose card was shown to them."""

    person: str
    tool: str
    decided: int = 0
    approved: int = 0
    denied: int = 0
    undone: int = 0
    expired: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        """Of the time on the card; None where no showing is on record."""
        return median(self.seconds) if self.seconds else None

    @property
    def hasty(self) -> float | None:
        """Share of those decided in under two seconds; None where no showing is on record."""
        return sum(one < HASTY for one in self.seconds) / len(self.seconds) if self.seconds else None


def decisions(conn: Connection, *, since: float) -> tuple[Tally, ...]:
    """Per person and tool, by name; only what was decided or expired at `since` or later."""
    shown, undone = _showings(conn, since), _undone(conn)
    found: dict[tuple[str, str], Tally] = {}
    for one in _decided(conn, since):
        tally = found.setdefault((one.person, one.tool), Tally(person=one.person, tool=one.tool))
        if one.person == NOBODY:
            tally.expired += 1
            continue
        tally.decided += 1
        tally.denied += one.state == ApprovalState.DENIED.value
        tally.approved += one.state != ApprovalState.DENIED.value
        tally.undone += one.id in undone
        looks = [time for time, uid in shown.get(one.id, ()) if uid == one.uid and one.at - SITTING <= time <= one.at]
        if looks:
            tally.seconds.append(one.at - min(looks))
    return tuple(found[key] for key in sorted(found))


def _decided(conn: Connection, since: float) -> Iterator[Decided]:
    table = schema.approvals.c
    ended = or_(table.decided_by.is_not(None), table.state == ApprovalState.EXPIRED.value)
    query = select(table.id, table.tool, table.state, table.decided_by, table.decided_at)
    for id, tool, state, by, at in conn.execute(query.where(ended, table.decided_at >= since, table.tool != _UNDO)):
        who = {} if by is None else json.loads(by)
        name = NOBODY if by is None else str(who.get("name") or f"uid {who.get('uid')}")
        yield Decided(id=id, tool=tool, state=state, person=name, uid=who.get("uid"), at=at)


def _showings(conn: Connection, since: float) -> Mapping[str, list[tuple[float, int | None]]]:
    """When each call's card was shown, and to which uid."""
    table = schema.audit.c
    query = select(table.subject, table.time, table.data).where(table.event == "approval.shown", table.time >= since - SITTING)
    found: dict[str, list[tuple[float, int | None]]] = defaultdict(list)
    for subject, time, data in conn.execute(query):
        who = json.loads(data).get("by")
        found[subject].append((time, who.get("uid") if isinstance(who, dict) else None))
    return found


def _undone(conn: Connection) -> frozenset[str]:
    """Calls whose effect was taken back, and is so still or was for a while."""
    table, audit = schema.approvals.c, schema.audit.c
    done = set(conn.execute(select(table.id).where(table.tool == _UNDO, table.state == ApprovalState.DONE.value)).scalars())
    rows = conn.execute(select(audit.subject, audit.data).where(audit.event == "approval.undo"))
    return frozenset(subject for subject, data in rows if json.loads(data).get("undo") in done)
