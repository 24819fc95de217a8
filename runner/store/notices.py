"""Notices on their way: what is to be told, joined with what it is about, and each channel's delivery (C1, C4, C6).

What begins a notice is a row of the audit, so an event and its notice can never part; a place kept in `meta` says how far the
audit has been read. Deliveries move along `lifecycle.NOTICE` only, by compare-and-set.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

from sqlalchemy import ColumnElement, Connection, case, func, not_, or_, select, true, update

from runner.lifecycle import NOTICE, ApprovalState, CaptureState, NoticeEvent, NoticeState, ReplyState, RunState, sources
from runner.model import ApprovalId
from runner.store import audit, meta, schema
from runner.store.rows import AuditRow
from runner.store.schema_notices import deliveries, notice_subjects, notices
from runner.store.schema_replies import replies

#: The key in `meta`: place of the last row of the audit that was looked at.
_READ = "notices_read"
_OPEN, _TOLD, _NEEDLESS = "open", "told", "needless"
#: Rows looked at in one transaction: whoever decides waits no longer than that for the lock.
_BATCH, _NEAR = 250, 100

#: The state of an approval, a capture, a reply or a run in which it needs somebody; None: it is told however it stands.
Need: TypeAlias = ApprovalState | CaptureState | ReplyState | RunState | None
_TABLES = {ApprovalState: schema.approvals, CaptureState: schema.captures, ReplyState: replies, RunState: schema.runs}


class Subject(NamedTuple):
    """What a notice is about: an approval, a call. `mark` sets the same subject apart at another deadline."""

    kind: str
    subject: str
    mark: float
    agent: str
    at: float


class Notice(NamedTuple):
    """What is told: `body` is canonical JSON, the same for every try."""

    id: str
    kind: str
    body: str
    created: float


class Delivery(NamedTuple):
    """A notice on its way to a channel. `attempts` counts the tries that were begun."""

    notice: Notice
    channel: str
    attempts: int
    due: float


class Tally(NamedTuple):
    """How a channel does."""

    channel: str
    waiting: int
    dead: int
    delivered: int
    error: str | None


def news(conn: Connection, events: Collection[str]) -> tuple[AuditRow, ...]:
    """Rows of the audit of these events that were not looked at yet; each comes once."""
    read, end = int(meta.get(conn, _READ) or "0"), audit.length(conn)
    if read >= end:
        return ()
    until = min(read + _BATCH, end)
    table = schema.audit.c
    where = (table.seq > read, table.seq <= until, table.event.in_(sorted(events)))
    found = conn.execute(select(schema.audit).where(*where).order_by(table.seq)).mappings().all()
    meta.put(conn, _READ, str(until))
    return tuple(AuditRow(**columns) for columns in found)


def open_subject(conn: Connection, subject: Subject) -> bool:
    """Note that somebody is to be told; False when that was noted before."""
    table = notice_subjects.c
    where = (table.kind == subject.kind, table.subject == subject.subject, table.mark == subject.mark)
    if conn.execute(select(table.kind).where(*where)).first() is not None:
        return False
    conn.execute(notice_subjects.insert().values(**subject._asdict(), state=_OPEN, notice=None))
    return True


def drop_needless(conn: Connection, kind: str, need: Need, *, until: float) -> None:
    """Note that nobody need be told any more about what was decided meanwhile, of what has been known since `until` (C6)."""
    where = (*_ripe(kind, until), not_(_needed(need)))
    conn.execute(update(notice_subjects).where(*where).values(state=_NEEDLESS))


def ripe(conn: Connection, kind: str, *, until: float, limit: int) -> tuple[tuple[Subject, ...], int]:
    """What is to be told and has been known since `until` or longer: the oldest of it, and how much there is."""
    total = conn.execute(select(func.count()).select_from(notice_subjects).where(*_ripe(kind, until))).scalar_one()
    return _subjects(conn, *_ripe(kind, until), limit=limit), total


def close_ripe(conn: Connection, kind: str, *, until: float, notice: str) -> None:
    """Note that all of it is told by a notice."""
    conn.execute(update(notice_subjects).where(*_ripe(kind, until)).values(state=_TOLD, notice=notice))


def drop(conn: Connection, one: Subject) -> None:
    """Note that nobody need be told about this one."""
    table = notice_subjects.c
    where = (table.kind == one.kind, table.subject == one.subject, table.mark == one.mark, table.state == _OPEN)
    conn.execute(update(notice_subjects).where(*where).values(state=_NEEDLESS))


def subjects_of(conn: Connection, notice: str, *, limit: int) -> tuple[tuple[Subject, ...], int]:
    """What a notice tells about: the oldest of it, and how much there is."""
    where = notice_subjects.c.notice == notice
    total = conn.execute(select(func.count()).select_from(notice_subjects).where(where)).scalar_one()
    return _subjects(conn, where, limit=limit), total


def is_needed(conn: Connection, notice: str, need: Need) -> bool:
    """Whether anything that a notice tells about still needs somebody."""
    where = (notice_subjects.c.notice == notice, _needed(need))
    return conn.execute(select(notice_subjects.c.kind).where(*where).limit(1)).first() is not None


def _ripe(kind: str, until: float) -> tuple[ColumnElement[bool], ...]:
    table = notice_subjects.c
    return (table.state == _OPEN, table.kind == kind, table.at <= until)


def _needed(need: Need) -> ColumnElement[bool]:
    """Whether a subject is still in the state in which somebody has to do something about it."""
    if need is None:
        return true()
    table = _TABLES[type(need)].c
    return select(table.id).where(table.id == notice_subjects.c.subject, table.state == need.value).exists()


def _subjects(conn: Connection, *where: ColumnElement[bool], limit: int) -> tuple[Subject, ...]:
    table = notice_subjects.c
    query = select(*(table[name] for name in Subject._fields)).where(*where).order_by(table.at, table.subject)
    return tuple(Subject(*found) for found in conn.execute(query.limit(limit)))


def near_deadline(conn: Connection, kind: str, *, share: float, settle: float, now: float) -> tuple[Subject, ...]:
    """Pending approvals that have waited for this share of their time and were not told about so yet (L4)."""
    table, told = schema.approvals.c, notice_subjects.c
    known = select(told.kind).where(told.kind == kind, told.subject == table.id, told.mark == table.expires).exists()
    query = select(table.id, table.expires, table.agent).where(
        table.state == ApprovalState.PENDING.value,
        table.expires > now,
        table.created <= now - settle,
        now - table.created >= (table.expires - table.created) * share,
        ~known,
    )
    found = conn.execute(query.order_by(table.expires).limit(_NEAR)).all()
    return tuple(Subject(kind=kind, subject=id, mark=expires, agent=agent, at=now) for id, expires, agent in found)


def newest(conn: Connection, kind: str) -> float | None:
    """When the last notice of a kind was made."""
    found: float | None = conn.execute(select(func.max(notices.c.created)).where(notices.c.kind == kind)).scalar_one()
    return found


def add(conn: Connection, notice: Notice, *, channels: Sequence[str]) -> None:
    """Put a notice on its way to every channel."""
    conn.execute(notices.insert().values(**notice._asdict()))
    for channel in channels:
        values = {"notice": notice.id, "channel": channel, "state": NoticeState.WAITING.value, "attempts": 0}
        conn.execute(deliveries.insert().values(**values, due=notice.created, updated=notice.created, error=None))


def claim(conn: Connection, channel: str, *, now: float, until: float) -> Delivery | None:
    """The next delivery of a channel that is due, counted as tried; nobody else gets it before `until`."""
    table = deliveries.c
    columns = (*(notices.c[name] for name in Notice._fields), table.attempts)
    query = select(*columns).join(notices, notices.c.id == table.notice)
    due = query.where(table.state == NoticeState.WAITING.value, table.channel == channel, table.due <= now)
    found = conn.execute(due.order_by(notices.c.created, notices.c.id).limit(1)).first()
    if found is None:
        return None
    *fields, attempts = found
    notice = Notice(*fields)
    where = (table.notice == notice.id, table.channel == channel, table.attempts == attempts)
    values = {"attempts": attempts + 1, "due": until, "updated": now}
    if conn.execute(update(deliveries).where(*where).values(**values)).rowcount != 1:
        return None
    return Delivery(notice=notice, channel=channel, attempts=attempts + 1, due=until)


def move(conn: Connection, delivery: Delivery, event: NoticeEvent, *, now: float, error: str | None = None) -> bool:
    """Let a delivery come to an end; False when it had one."""
    (before, after), *_ = sources(NOTICE, event).items()
    told = {} if event is NoticeEvent.DECIDE else {"error": error}  # what its last try said still stands
    return _change(conn, delivery, before, {"state": after.value, "updated": now, **told})


def put_off(conn: Connection, delivery: Delivery, *, due: float, now: float, error: str) -> bool:
    """Have a delivery that failed tried again later; False when it had an end."""
    return _change(conn, delivery, NoticeState.WAITING, {"due": due, "updated": now, "error": error})


def abandon(conn: Connection, channels: Collection[str], *, error: str, now: float) -> int:
    """Give up what is on its way to any other channel than these."""
    table = deliveries.c
    (before, after), *_ = sources(NOTICE, NoticeEvent.GIVE_UP).items()
    where = (table.state == before.value, table.channel.not_in(sorted(channels)))
    return conn.execute(update(deliveries).where(*where).values(state=after.value, updated=now, error=error)).rowcount


def is_first(conn: Connection, notice: str) -> bool:
    """Whether no channel has taken a notice yet."""
    where = (deliveries.c.notice == notice, deliveries.c.state == NoticeState.DELIVERED.value)
    return conn.execute(select(deliveries.c.notice).where(*where).limit(1)).first() is None


def tally(conn: Connection, *, since: float) -> tuple[Tally, ...]:
    """How each channel does; what ended before `since` is left out."""
    table = deliveries.c

    def counted(state: NoticeState) -> object:
        return func.sum(case((table.state == state.value, 1), else_=0))

    waiting = table.state == NoticeState.WAITING.value
    states = (NoticeState.WAITING, NoticeState.DEAD, NoticeState.DELIVERED)
    query = select(table.channel, *(counted(state) for state in states)).where(waiting | (table.updated >= since))
    found = conn.execute(query.group_by(table.channel).order_by(table.channel)).all()
    return tuple(Tally(channel, int(a), int(b), int(c), _last_error(conn, channel)) for channel, a, b, c in found)


def _last_error(conn: Connection, channel: str) -> str | None:
    """What the last try said, if it failed."""
    table = deliveries.c
    tried = or_(table.state == NoticeState.DELIVERED.value, table.error.is_not(None))
    query = select(table.error).where(table.channel == channel, tried)
    return conn.execute(query.order_by(table.updated.desc()).limit(1)).scalar_one_or_none()


def _change(conn: Connection, delivery: Delivery, before: NoticeState, values: dict[str, object]) -> bool:  # noqa: PLR0917
    table = deliveries.c
    where = (table.notice == delivery.notice.id, table.channel == delivery.channel, table.state == before.value)
    return conn.execute(update(deliveries).where(*where).values(**values)).rowcount == 1


def note_told(conn: Connection, delivery: Delivery, approvals: Sequence[ApprovalId], *, total: int, now: float) -> None:
    """Put on record that somebody was told (A2): of each approval that was named, and of the notice as a whole."""
    facts = {"notice": delivery.notice.id, "kind": delivery.notice.kind, "channel": delivery.channel}
    for approval in approvals:
        audit.append(conn, time=now, event="approval.notified", subject=approval, data={**facts})
    audit.append(conn, time=now, event="notice.deliver", subject=delivery.notice.id, data={**facts, "about": total})
