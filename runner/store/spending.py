"""The books: what was set aside for a request to the model, what it cost, and who may spend more (M11).

A reservation counts in full until it is settled, so requests side by side cannot go over a budget together; one whose
supervisor died is settled by the next. Money is in millionths of a US dollar, whole numbers only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, RowMapping, delete, func, select, update

from runner.lifecycle import RunState
from runner.model import Json, RunId
from runner.store import audit, codec, schema
from runner.store.rows import Approver, RunRow

RESERVED, SETTLED = "reserved", "settled"
TOKENS, MONEY = "tokens", "usd"
#: What the owner's own captures are booked under.
OWNER_BOOK = "owner"
_COLUMNS = {"agent": "agent", "contact": "sender", "day": "day"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Tokens and money."""

    tokens: int = 0
    micro_usd: int = 0

    def __add__(self, other: Amount) -> Amount:
        """Both together."""
        return Amount(tokens=self.tokens + other.tokens, micro_usd=self.micro_usd + other.micro_usd)


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """A request's line in the books."""

    id: str
    run: RunId
    agent: str
    sender: str
    day: str  #: UTC, `2026-11-30`
    model: str
    input_tokens: int
    output_tokens: int
    micro_usd: int
    created: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose budget it is: a run's, or an agent's, a contact's or everybody's of one day."""

    kind: str  #: run, agent, contact or day
    name: str  #: the run's id, the agent, the sender's book; empty for everybody
    day: str = ""

    @property
    def key(self) -> str:
        """How allowances and holds name it."""
        return ":".join(part for part in (self.kind, self.name, self.day) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetHold:
    """A run that waits for somebody to raise a budget or to stop it; `used` and `most` in tokens or millionths of a dollar."""

    run: RunId
    scope: str
    what: str
    used: int
    most: int
    created: float


def sender_book(run: RunRow) -> str:
    """What a run's sender is booked under: a contact's key, whatever its petname is now."""
    return run.sender.fingerprint or OWNER_BOOK


def used(conn: Connection, scope: Scope) -> Amount:
    """What has been spent in a scope, reservations included."""
    table = schema.spending.c
    tokens = func.coalesce(func.sum(table.input_tokens + table.output_tokens), 0)
    query = select(tokens, func.coalesce(func.sum(table.micro_usd), 0)).where(*_where(scope))
    found = conn.execute(query).one()
    return Amount(tokens=int(found[0]), micro_usd=int(found[1]))


def allowed(conn: Connection, scope: Scope) -> Amount:
    """What people have added to a scope's budget."""
    table = schema.allowances.c
    query = select(func.coalesce(func.sum(table.tokens), 0), func.coalesce(func.sum(table.micro_usd), 0))
    found = conn.execute(query.where(table.scope == scope.key)).one()
    return Amount(tokens=int(found[0]), micro_usd=int(found[1]))


def reserve(conn: Connection, booking: Booking) -> None:
    """Set an amount aside; whether it fits is the caller's question, in this transaction."""
    values = {name: getattr(booking, name) for name in Booking.__slots__}
    conn.execute(schema.spending.insert().values(**values, state=RESERVED))


def settle(  # noqa: PLR0913 -- one line of the books, whole
    conn: Connection, booking: str, *, input_tokens: int, output_tokens: int, micro_usd: int, now: float
) -> bool:
    """Put what was used in place of what was set aside, once; False when there was nothing to settle."""
    table = schema.spending.c
    values = {"state": SETTLED, "ended": now, "input_tokens": input_tokens, "output_tokens": output_tokens}
    query = update(schema.spending).where(table.id == booking, table.state == RESERVED)
    return conn.execute(query.values(**values, micro_usd=micro_usd)).rowcount == 1


def left(conn: Connection) -> tuple[Booking, ...]:
    """What is still set aside: at a supervisor's start, by one that died."""
    found = conn.execute(select(schema.spending).where(schema.spending.c.state == RESERVED)).mappings()
    return tuple(codec.read(_booking, one) for one in found)


def _booking(found: RowMapping) -> Booking:
    values = {name: found[name] for name in Booking.__slots__}
    return Booking(**values)


def allow(  # noqa: PLR0913 -- one change, whole
    conn: Connection, scope: str, more: Amount, *, id: str, by: Approver, run: RunId, now: float
) -> None:
    """Add to a scope's budget; who did it, and for which run, goes into the audit."""
    columns = {"id": id, "scope": scope, "tokens": more.tokens, "micro_usd": more.micro_usd, "created": now}
    conn.execute(schema.allowances.insert().values(**columns, by=codec.dump(by.facts())))
    facts: dict[str, Json] = {"scope": scope, "tokens": more.tokens, "micro_usd": more.micro_usd}
    audit.append(conn, time=now, event="budget.raise", subject=run, data=facts | codec.by(by))


def hold(conn: Connection, found: BudgetHold) -> None:
    """Put on record that a run waits for a budget."""
    release(conn, found.run)
    conn.execute(schema.budget_holds.insert().values(**{name: getattr(found, name) for name in BudgetHold.__slots__}))
    facts: dict[str, Json] = {"scope": found.scope, "what": found.what, "used": found.used, "most": found.most}
    audit.append(conn, time=found.created, event="budget.hold", subject=found.run, data=facts)


def release(conn: Connection, run: RunId) -> bool:
    """Forget that a run waits; False when it did not."""
    return conn.execute(delete(schema.budget_holds).where(schema.budget_holds.c.run == run)).rowcount == 1


def held(conn: Connection, run: RunId) -> BudgetHold | None:
    """What a run waits for; None when it does not."""
    found = conn.execute(select(schema.budget_holds).where(schema.budget_holds.c.run == run)).mappings().one_or_none()
    return None if found is None else BudgetHold(**{**found, "run": RunId(found["run"])})


def waiting(conn: Connection) -> tuple[BudgetHold, ...]:
    """Every run that waits for a budget, oldest first."""
    parked = select(schema.runs.c.id).where(schema.runs.c.state == RunState.PARKED.value)
    query = select(schema.budget_holds).where(schema.budget_holds.c.run.in_(parked)).order_by(schema.budget_holds.c.created)
    found = conn.execute(query).mappings()
    return tuple(BudgetHold(**{**each, "run": RunId(each["run"])}) for each in found)


def totals(conn: Connection, *, by: str, since: str) -> tuple[Mapping[str, Json], ...]:
    """What was spent since a day, by `agent`, `contact` or `day`: `{"name", "requests", "input_tokens", …}`, dearest first."""
    table = schema.spending.c
    column = table[_COLUMNS[by]]
    sums = (
        func.count().label("requests"),
        func.sum(table.input_tokens).label("input_tokens"),
        func.sum(table.output_tokens).label("output_tokens"),
        func.sum(table.micro_usd).label("micro_usd"),
    )
    order = column.desc() if by == "day" else func.sum(table.micro_usd).desc()
    query = select(column.label("name"), *sums).where(table.day >= since).group_by(column).order_by(order, column)
    return tuple({key: _plain(value) for key, value in found.items()} for found in conn.execute(query).mappings())


def _plain(value: object) -> Json:
    return value if isinstance(value, str) else int(str(value))


def _where(scope: Scope) -> tuple[ColumnElement[bool], ...]:
    table = schema.spending.c
    if scope.kind == "run":
        return (table.run == scope.name,)
    named = {"agent": table.agent, "contact": table.sender}.get(scope.kind)
    return (table.day == scope.day, *(() if named is None else (named == scope.name,)))
