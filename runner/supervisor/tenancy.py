"""This supervisor's lease on its database: renewed by a thread of its own, which no stalled loop holds up (M8, §8).

Owns that a supervisor which cannot say that it lives removes its own containers, and that one which finds another in its place
is over at once. A second supervisor on one database is refused while the first one lives. A database may hang, so that a second
thread watches the time and asks nothing of it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from runner.errors import SandboxError, StoreError, SupervisorUnavailableError
from runner.sandbox import reaping
from runner.store import Store, leases
from runner.store.leases import Lease
from runner.supervisor.progress import Clock
from runner.supervisor.steady import since_boot

_log = logging.getLogger(__name__)

#: Beats in the time of a lease: some may fail, or wait for a writer.
BEATS = 6
#: Seconds after the end of a lease at which it is looked at.
_LATE = 0.01


@dataclass(slots=True, kw_only=True)
class Tenancy:
    """Takes the lease, keeps it and gives it back.

    `park` is called from a thread while the lease has run out; `over` when it is another's.
    """

    store: Store
    engine: Callable[[], AbstractAsyncContextManager[reaping.Finder]]  #: one more, for a loop of its own
    owner: str
    boot: str
    seconds: float
    clock: Clock
    over: Callable[[], None]
    park: Callable[[], None] = lambda: None
    running: Callable[[], float] = since_boot
    _renewed: float = 0.0
    _fenced: bool = False
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def fenced(self) -> bool:
        """Whether the lease has run out without being renewed."""
        return self._fenced

    def take(self) -> None:
        """Take the lease. Blocking.

        Raises:
            SupervisorUnavailableError: Another state directory's supervisor has it.
        """
        wanted, asked = self._wanted(), self.running()
        with self.store.begin() as conn:
            taken = leases.take(conn, wanted, now=self.clock())
            other = leases.current(conn)
        if taken is None and other is not None:
            until = datetime.fromtimestamp(other.until, UTC).strftime("%H:%M:%S UTC")
            raise SupervisorUnavailableError(
                f"cannot start: a supervisor of another state directory has this database, as it says until {until}",
                resolution="stop that one; if its host is gone, start again after that time",
            )
        self._renewed = asked

    async def begin(self) -> Callable[[], Awaitable[None]]:
        """Take it, keep it from one thread and watch it from another; the answer gives it back.

        Raises:
            SupervisorUnavailableError: Another state directory's supervisor has it.
        """
        await asyncio.to_thread(self.take)
        threads = [
            threading.Thread(target=self._again_and_again, args=(act, pause), name=name, daemon=True)
            for name, act, pause in (("lease", self.beat, self._until_beat), ("lease-watch", self.watch, self._until_look))
        ]
        for thread in threads:
            thread.start()

        async def stop() -> None:
            self._stop.set()
            for thread in threads:
                await asyncio.to_thread(thread.join, self.seconds)
            await self.store.call(leases.release, self._wanted(), now=self.clock())

        return stop

    def beat(self) -> None:
        """Renew it once. Blocking, for as long as the database is; for the first thread."""
        wanted = self._wanted()
        asked = self.running()
        try:
            with self.store.begin() as conn:
                mine = leases.renew(conn, wanted)
        except StoreError as error:
            _log.error("cannot say that this supervisor lives: %s", error.brief)
            return
        if mine:
            self._renewed = asked
            self._fenced = self._fenced and self._spent
            return
        _log.critical("another supervisor has this database: this one is over")
        try:
            self._remove()
        finally:
            self.over()

    def watch(self) -> None:
        """See whether it has run out, whatever became of the beats; for the second thread, which waits for no database.

        While it has, containers are parked where the loop still turns, and removed where it does not; later ones too.
        """
        if not self._spent:
            return
        if not self._fenced:
            self._fenced = True
            _log.critical("the lease ran out: this supervisor's containers are removed")
        try:
            self.park()
        finally:
            self._remove()

    @property
    def _spent(self) -> bool:
        return self.running() - self._renewed > self.seconds

    def _until_beat(self) -> float:
        return self.seconds / BEATS

    def _until_look(self) -> float:
        """To the moment at which it runs out, if that comes before the next beat."""
        left = self._renewed + self.seconds - self.running()
        return min(self._until_beat(), left + _LATE) if left > 0 else self._until_beat()

    def _again_and_again(self, act: Callable[[], None], pause: Callable[[], float]) -> None:
        """The threads' edge: whatever breaks in here, the next beat is tried and the time is watched."""
        while not self._stop.wait(pause()):
            try:
                act()
            except Exception:  # noqa: BLE001 -- an edge: a thread that ends of a fault would fence nobody
                _log.exception("keeping the lease failed; it is tried again")

    def _wanted(self) -> Lease:
        return Lease(owner=self.owner, boot=self.boot, until=self.clock() + self.seconds)

    def _remove(self) -> None:
        """Remove this boot's containers, over a connection and a loop of this thread's own."""
        try:
            gone = asyncio.run(self._removed())
        except SandboxError as error:
            _log.error("cannot remove this supervisor's containers: %s", error.brief)
        else:
            if gone:
                _log.warning("removed %d container(s)", len(gone))

    async def _removed(self) -> frozenset[str]:
        async with self.engine() as engine:
            made = await reaping.ours(engine, owner=self.owner, boot=self.boot)
            return await reaping.remove(engine, made, owner=self.owner)
