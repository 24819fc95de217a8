"""Keeps a run's books: sets aside what a request may cost in every budget it counts in, and settles what it did (M11).

Owns which budgets bind a run. Reservation and check are one transaction, so that requests side by side cannot go over together.
A budget that is spent parks the run: a person raises it or stops the run, and no work is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from runner.errors import GatewayError
from runner.gateway import MIN_REPLY, Hold, Spent
from runner.model import Profile
from runner.store import Connection, RunRow, Store, spending
from runner.store.spending import MONEY, OWNER_BOOK, TOKENS, Booking, BudgetHold, Scope, sender_book
from runner.supervisor.endings import End, Ending
from runner.supervisor.ids import Ids
from runner.supervisor.prices import Price, at_most, cost, price_of
from runner.supervisor.progress import Clock

#: Tokens a second that no model writes faster than: what a reply that was cut may have grown to.
FASTEST = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that may be spent; None: as much as there is."""

    tokens: int | None = None
    micro_usd: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """The operator's budgets of a day (UTC) and prices."""

    agent: Budget = Budget()
    contact: Budget = Budget()
    day: Budget = Budget()
    prices: Mapping[str, Price] = field(default_factory=dict)


class Room(NamedTuple):
    """How much a reply may have, or why there is no room for one."""

    tokens: int
    short: BudgetHold | None


class Made(NamedTuple):
    """When a reservation was made, and how many tokens of input it is for."""

    began: float
    most: int


class RunPurse:
    """Implements the gateway's `Purse` for one attempt. `spent` is set when the run has to wait for a budget."""

    def __init__(self, store: Store, run: RunRow, profile: Profile, *, budgets: Budgets, clock: Clock, ids: Ids) -> None:  # noqa: PLR0913 -- whose books, and what they are kept with
        self._store, self._run, self._clock, self._ids = store, run, clock, ids
        limits = profile.limits
        self._own = Budget(tokens=limits.budget_tokens, micro_usd=round(limits.budget_usd * 1_000_000))
        self._budgets = budgets
        self._model = profile.model
        self._price = price_of(profile.model, budgets.prices)
        self._made: dict[str, Made] = {}  #: by the id of its hold
        self.spent = asyncio.Event()
        self.short: BudgetHold | None = None

    async def reserve(self, *, most: int, count: Callable[[], Awaitable[int]], max_tokens: int) -> Hold:
        """Set aside what a request may cost.

        Raises:
            GatewayError: A budget is spent; the run is to be parked.
            UpstreamError: How long the input is had to be asked for, and nobody said.
        """
        made = await self._store.call(self._reserve, most, max_tokens=max_tokens)
        if isinstance(made, BudgetHold):
            made = await self._store.call(self._reserve, min(await count(), most), max_tokens=max_tokens)
        if isinstance(made, BudgetHold):
            self.short = made
            self.spent.set()
            raise GatewayError(f"cannot go on: {words(made)}")
        return made

    async def settle(self, hold: Hold, spent: Spent | None) -> None:
        """Write what was used; a reply that was cut is charged with all that it can have grown to."""
        used, made = spent or Spent(), self._made.pop(hold.id, Made(0.0, 0))
        if not used.complete:
            used = Spent(
                input_tokens=used.input_tokens,
                cache_write_tokens=min(used.cache_write_tokens, made.most),
                cache_read_tokens=used.cache_read_tokens,
                output_tokens=max(used.output_tokens, _grown(hold.max_tokens, self._clock() - made.began)),
            )
        amount = cost(used, self._price)
        await self._store.call(
            spending.settle,
            hold.id,
            input_tokens=amount.tokens - used.output_tokens,
            output_tokens=used.output_tokens,
            micro_usd=amount.micro_usd,
            now=self._clock(),
        )

    def end(self) -> End:
        """How a run ends its attempt when a budget is spent: parked, until a person raises it."""
        return End(ending=Ending.PARK, hold=self.short, wait=True, reason="" if self.short is None else words(self.short))

    def _reserve(self, conn: Connection, most: int, *, max_tokens: int) -> Hold | BudgetHold:
        now = self._clock()
        day = datetime.fromtimestamp(now, UTC).date().isoformat()
        granted = max_tokens
        for scope, budget in self._binding(day):
            room = self._room(conn, scope, budget, most=most)
            if room.short is not None and room.tokens < min(MIN_REPLY, max_tokens):
                return room.short
            granted = min(granted, room.tokens)
        set_aside = at_most(most, granted, self._price)
        booking = Booking(
            id=self._ids.booking(),
            run=self._run.id,
            agent=self._run.agent,
            sender=sender_book(self._run),
            day=day,
            model=self._model,
            input_tokens=most,
            output_tokens=granted,
            micro_usd=set_aside.micro_usd,
            created=now,
        )
        spending.reserve(conn, booking)
        self._made[booking.id] = Made(now, most)
        return Hold(id=booking.id, max_tokens=granted)

    def _binding(self, day: str) -> list[tuple[Scope, Budget]]:
        """The budgets a request of this run counts in: its own, its agent's, its sender's if that is a contact, everybody's."""
        book, all_of = sender_book(self._run), self._budgets
        scopes = [
            (Scope(kind="run", name=self._run.id), self._own),
            (Scope(kind="agent", name=self._run.agent, day=day), all_of.agent),
            (Scope(kind="day", name="", day=day), all_of.day),
        ]
        if book != OWNER_BOOK:
            scopes.append((Scope(kind="contact", name=book, day=day), all_of.contact))
        return [(scope, budget) for scope, budget in scopes if budget != Budget()]

    def _room(self, conn: Connection, scope: Scope, budget: Budget, *, most: int) -> Room:
        """The tokens left for a reply in one budget, with what to say if they are too few."""
        used, more = spending.used(conn, scope), spending.allowed(conn, scope)
        rooms: list[Room] = []
        if budget.tokens is not None:
            limit = budget.tokens + more.tokens
            rooms.append(Room(limit - used.tokens - most, self._short(scope, TOKENS, used.tokens, limit)))
        if budget.micro_usd is not None:
            limit = budget.micro_usd + more.micro_usd
            left = limit - used.micro_usd - at_most(most, 0, self._price).micro_usd
            rooms.append(Room(int(left // self._price.output), self._short(scope, MONEY, used.micro_usd, limit)))
        return min(rooms, key=lambda room: room.tokens)

    def _short(self, scope: Scope, what: str, used: int, most: int) -> BudgetHold:  # noqa: PLR0917 -- one record
        return BudgetHold(run=self._run.id, scope=scope.key, what=what, used=used, most=most, created=self._clock())


def settle_left(conn: Connection, *, prices: Mapping[str, Price], now: float) -> int:
    """Charge what a dead supervisor had set aside with the most it can have come to; how many there were.

    Nobody knows what the provider wrote after its reader was gone, but not faster than any model writes (M11).
    """
    found = spending.left(conn)
    for one in found:
        output = _grown(one.output_tokens, now - one.created)
        money = min(at_most(one.input_tokens, output, price_of(one.model, prices)).micro_usd, one.micro_usd)
        values = {"input_tokens": one.input_tokens, "output_tokens": output, "micro_usd": money}
        spending.settle(conn, one.id, **values, now=now)
    return len(found)


def _grown(most: int, seconds: float) -> int:
    return min(most, int(max(seconds, 0.0) * FASTEST) + FASTEST)


def words(hold: BudgetHold) -> str:
    """What is spent, in words: `the run's budget of 1.00 USD is spent (0.97 USD used)`."""
    whose = {"run": "the run's budget", "agent": "its agent's budget of the day", "contact": "its sender's budget of the day"}
    name = whose.get(hold.scope.partition(":")[0], "the day's budget")
    return f"{name} of {_said(hold.most, hold.what)} is spent ({_said(hold.used, hold.what)} used)"


def _said(value: int, what: str) -> str:
    return f"{value} tokens" if what == TOKENS else f"{value / 1_000_000:.2f} USD"
