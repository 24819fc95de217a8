"""Budgets and usage as people see them: who spent what, which runs wait for money, and letting one go on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from runner.approvals import Approver
from runner.errors import UsageError
from runner.lifecycle import RUN_ENDS, RunState
from runner.model import Json, JsonObject
from runner.store import Connection, RunRow, Store, contacts, runs, spending
from runner.store.spending import MONEY, OWNER_BOOK, TOKENS, Amount, BudgetHold, Scope
from runner.supervisor.changes import Changes
from runner.supervisor.ids import Ids
from runner.supervisor.progress import Clock, Enqueue, advance
from runner.supervisor.purse import words
from runner.supervisor.views import run_line, sender_name

_MICRO = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Implements `runner.api.service.Spending`."""

    store: Store
    changes: Changes
    clock: Clock
    ids: Ids
    enqueue: Enqueue

    async def usage(self, *, by: str, days: int) -> JsonObject:
        """What was spent in the last `days` days, today included (UTC)."""
        today = datetime.fromtimestamp(self.clock(), UTC).date()
        since = (today - timedelta(days=max(days, 1) - 1)).isoformat()
        return {"by": by, "since": since, "rows": await self.store.query(_rows, by=by, since=since)}

    async def holds(self) -> JsonObject:
        """Runs that wait for a budget."""
        return {"holds": await self.store.query(_holds)}

    async def raise_budget(self, ref: str, *, tokens: int, usd: float, who: Approver) -> JsonObject:
        """Add to the budget that a run waits for, or to its own; it goes on with that.

        Raises:
            NotFoundError: No such run.
            UsageError: It has ended, or waits for the other of the two.
        """
        more = Amount(tokens=tokens, micro_usd=round(usd * _MICRO))
        row = await self.store.call(self._raise, ref, more, who=who)
        self.changes.ring()
        return run_line(row)

    def _raise(self, conn: Connection, ref: str, more: Amount, *, who: Approver) -> RunRow:
        row = runs.find(conn, ref)
        if row.state in RUN_ENDS:
            raise UsageError(f"cannot raise the budget of {row.id}: it has ended")
        hold = spending.held(conn, row.id) if row.state is RunState.PARKED else None
        if hold is not None and not (more.tokens if hold.what == TOKENS else more.micro_usd):
            wanted = "--tokens" if hold.what == TOKENS else "--usd"
            raise UsageError(f"cannot raise the budget of {row.id} so: {words(hold)}", resolution=f"say {wanted}")
        scope = hold.scope if hold is not None else Scope(kind="run", name=row.id).key
        now = self.clock()
        spending.allow(conn, scope, more, id=self.ids.booking(), by=who, run=row.id, now=now)
        if hold is not None:
            spending.release(conn, row.id)
        return advance(conn, row.id, now=now, enqueue=self.enqueue) or runs.get(conn, row.id)


def usage_of(conn: Connection, row: RunRow) -> JsonObject:
    """What a run has spent, and what it waits for, as `run show` has it."""
    used = spending.used(conn, Scope(kind="run", name=row.id))
    hold = spending.held(conn, row.id) if row.state is RunState.PARKED else None
    return {"usd": used.micro_usd / _MICRO, "waits_for": None if hold is None else words(hold)}


def _rows(conn: Connection, *, by: str, since: str) -> list[Json]:
    names = {OWNER_BOOK: OWNER_BOOK} | {one.fingerprint: one.petname for one in contacts.all(conn)} if by == "contact" else {}
    found: list[Json] = []
    for one in spending.totals(conn, by=by, since=since):
        name, money = str(one["name"]), one["micro_usd"]
        kept = {key: one[key] for key in ("requests", "input_tokens", "output_tokens")}
        found.append({"name": names.get(name, name), **kept, "usd": int(str(money)) / _MICRO})
    return found


def _holds(conn: Connection) -> list[Json]:
    return [_hold(conn, hold) for hold in spending.waiting(conn)]


def _hold(conn: Connection, hold: BudgetHold) -> JsonObject:
    row = runs.get(conn, hold.run)
    return {
        "run": hold.run,
        "agent": row.agent,
        "sender": sender_name(row.sender),
        "says": words(hold),
        "scope": hold.scope.partition(":")[0],
        "what": MONEY if hold.what == MONEY else TOKENS,
        "created": hold.created,
    }
