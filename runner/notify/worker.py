"""Brings notices to their channels: at least once, each try with the same key, until it is taken, given up or needless (C4).

Owns the pace. A tick that fails is tried at the next; a channel that fails is tried later and later, then shown as dead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from runner.errors import RunnerError
from runner.lifecycle import NoticeEvent
from runner.model import ApprovalId, Json, JsonObject
from runner.notify.gathering import Gathering
from runner.notify.kinds import KINDS
from runner.notify.sending import Channel, Courier
from runner.notify.timing import Timing
from runner.notify.words import NAMED, body_of, message_of
from runner.store import Approver, Connection, Store, audit, notices
from runner.store.notices import Delivery, Tally

_log = logging.getLogger(__name__)

_NEEDS = {kind.name: kind.need for kind in KINDS}
_REMOVED = "this channel is not set up any more"
#: Seconds that ended deliveries count in what status and doctor say.
_RECENT = 7 * 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often is looked, how long a try may take, how long to wait after a failed one, and when to give up."""

    tick: float = 1.0
    deadline: float = 20.0
    first: float = 5.0
    longest: float = 3600.0
    tries: int = 16

    def wait(self, attempts: int) -> float:
        """Seconds after this many failed tries."""
        return float(min(self.first * 2 ** (attempts - 1), self.longest))


class Notifier:
    """Tells people; None of its trouble reaches a call.

    Args:
        store: Where what happened and what is on its way stand.
        channels: Where to; without any nothing is gathered.
        timing: When.
        clock: Epoch seconds.
        new_key: Makes a notice's key.
        pace: How often and how long.
    """

    def __init__(  # noqa: PLR0913 -- wired once
        self,
        store: Store,
        channels: Sequence[Channel],
        *,
        timing: Timing,
        clock: Callable[[], float],
        new_key: Callable[[], str],
        pace: Pace | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._timing = timing
        self._new_key = new_key
        self._pace = pace or Pace()
        self._couriers = [Courier(channel, deadline=self._pace.deadline) for channel in channels]
        self.names = [courier.name for courier in self._couriers]
        self._gathering = Gathering(timing=timing, channels=self.names, new_key=new_key)
        self._busy: dict[str, asyncio.Task[None]] = {}

    def start(self) -> Callable[[], Awaitable[None]]:
        """Begin to tell; the answer stops it. What is on its way then goes on at the next start."""
        task = asyncio.create_task(self._run())

        async def stop() -> None:
            under_way = [task, *self._busy.values()]
            for one in under_way:
                one.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

        return stop

    async def tick(self) -> None:
        """Look what happened, and have every channel that is free take what is due."""
        await self._store.call(self._gathering.gather, now=self._clock())
        if self._timing.is_quiet(self._clock()):
            return
        for courier in self._couriers:
            task = self._busy.get(courier.name)
            if task is None or task.done():
                self._busy[courier.name] = asyncio.create_task(self._deliver(courier))

    async def delivered(self) -> None:
        """Wait until no channel is at work."""
        await asyncio.gather(*self._busy.values())

    async def summary(self) -> JsonObject:
        """How the channels do: `{"channels": [{"name", "waiting", "dead", "delivered", "error"}], "dead"}`."""
        found = {one.channel: one for one in await self._store.query(notices.tally, since=self._clock() - _RECENT)}
        names = [*self.names, *(name for name in found if name not in self.names)]
        tallies = [found.get(name) or Tally(name, 0, 0, 0, None) for name in names]
        shown: list[Json] = [
            {"name": one.channel, **{key: value for key, value in one._asdict().items() if key != "channel"}} for one in tallies
        ]
        return {"channels": [*shown], "dead": sum(one.dead for one in tallies)}

    async def test(self, *, who: Approver) -> JsonObject:
        """Send a test to every channel at once, past quiet hours: `{"channels": [{"name", "delivered", "error"}]}`."""
        key = self._new_key()
        message = message_of(body_of(key, "test", [], total=0))
        said = await asyncio.gather(*(courier.send(message) for courier in self._couriers))
        shown: list[Json] = [
            {"name": name, "delivered": error is None, "error": error} for name, error in zip(self.names, said, strict=True)
        ]
        await self._store.call(_note_test, key=key, taken=said.count(None), tried=len(said), who=who, now=self._clock())
        return {"channels": shown}

    async def _run(self) -> None:
        if not self._couriers:
            return
        gone: bool = False
        while True:
            try:
                if not gone:
                    await self._store.call(notices.abandon, self.names, error=_REMOVED, now=self._clock())
                    gone = True
                await self.tick()
            except RunnerError as error:
                _log.error("cannot look for what to tell people: %s", error.diagnostics())
            await asyncio.sleep(self._pace.tick)

    async def _deliver(self, courier: Courier) -> None:
        try:
            while not self._timing.is_quiet(self._clock()):
                delivery = await self._store.call(self._next, courier.name)
                if delivery is None:
                    return
                error = await courier.send(message_of(delivery.notice.body))
                await self._store.call(self._record, delivery, error)
                if error is not None:
                    return
        except RunnerError as error:
            _log.error("cannot record a notice: %s", error.diagnostics())

    def _next(self, conn: Connection, channel: str) -> Delivery | None:
        """What a channel is to be told now; what was decided since is told to nobody."""
        while True:
            now = self._clock()
            lease = now + self._pace.deadline * 2
            delivery = notices.claim(conn, channel, now=now, until=lease)
            if delivery is None or self._is_needed(conn, delivery):
                return delivery
            notices.move(conn, delivery, NoticeEvent.DECIDE, now=now)

    def _is_needed(self, conn: Connection, delivery: Delivery) -> bool:
        kind = delivery.notice.kind
        return kind not in _NEEDS or notices.is_needed(conn, delivery.notice.id, _NEEDS[kind])

    def _record(self, conn: Connection, delivery: Delivery, error: str | None) -> None:
        now = self._clock()
        if error is None:
            self._record_taken(conn, delivery, now)
        elif delivery.attempts >= self._pace.tries:
            notices.move(conn, delivery, NoticeEvent.GIVE_UP, now=now, error=error)
            facts: JsonObject = {"channel": delivery.channel, "error": error, "tries": delivery.attempts}
            audit.append(conn, time=now, event="notice.give_up", subject=delivery.notice.id, data=facts)
            _log.warning("a notice was given up: %s: %s", delivery.channel, error)
        else:
            notices.put_off(conn, delivery, due=now + self._pace.wait(delivery.attempts), now=now, error=error)

    def _record_taken(self, conn: Connection, delivery: Delivery, now: float) -> None:
        told, total = notices.subjects_of(conn, delivery.notice.id, limit=NAMED)
        first = notices.is_first(conn, delivery.notice.id)
        if notices.move(conn, delivery, NoticeEvent.DELIVER, now=now):
            named = [ApprovalId(one.subject) for one in told if first and one.subject.startswith("a_")]
            notices.note_told(conn, delivery, named, total=total, now=now)


def _note_test(conn: Connection, *, key: str, taken: int, tried: int, who: Approver, now: float) -> None:  # noqa: PLR0913
    facts: JsonObject = {"taken": taken, "channels": tried, "by": {"uid": who.uid, "channel": who.channel, "name": who.name}}
    audit.append(conn, time=now, event="notice.test", subject=key, data=facts)
