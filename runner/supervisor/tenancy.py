"""This supervisor's lease on its database: renewed by a thread of its own, which no stalled loop holds up (M8, §8).

Owns that a supervisor which cannot say that it lives removes its own containers, and that one which finds another in its place
is over at once. A second supervisor on one database is refused while the first one lives.
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


@dataclass(slots=True, kw_only=True)
class Tenancy:
    """Takes the lease, keeps it and gives it back.

    `park` is called from the thread when the lease could not be renewed; `over` when it is another's.
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
        with self.store.begin() as conn:
            taken = leases.take(conn, self._wanted(), now=self.clock())
            other = leases.current(conn)
        if taken is None and other is not None:
            until = datetime.fromtimestamp(other.until, UTC).strftime("%H:%M:%S UTC")
            raise SupervisorUnavailableError(
                f"cannot start: a supervisor of another state directory has this database, as it says until {until}",
                resolution="stop that one; if its host is gone, start again after that time",
            )
        self._renewed = self.running()

    async def begin(self) -> Callable[[], Awaitable[None]]:
        """Take it, and keep it from a thread; the answer gives it back.

        Raises:
            SupervisorUnavailableError: Another state directory's supervisor has it.
        """
        await asyncio.to_thread(self.take)
        thread = threading.Thread(target=self._keep, name="lease", daemon=True)
        thread.start()

        async def stop() -> None:
            self._stop.set()
            await asyncio.to_thread(thread.join, self.seconds)
            await self.store.call(leases.release, self._wanted(), now=self.clock())

        return stop

    def beat(self) -> None:
        """Renew it once. Blocking; for the thread.

        One that runs out is fenced: containers are parked where the loop still turns, and removed where it does not.
        """
        wanted = self._wanted()
        asked = self.running()
        try:
            with self.store.begin() as conn:
                mine = leases.renew(conn, wanted)
        except StoreError as error:
            _log.error("cannot say that this supervisor lives: %s", error.brief)
            if self.running() - self._renewed > self.seconds and not self._fenced:
                self._fenced = True
                _log.critical("the lease ran out: this supervisor's containers are removed")
                self.park()
                self._remove()
            return
        if mine:
            self._renewed, self._fenced = asked, False
            return
        _log.critical("another supervisor has this database: this one is over")
        self._remove()
        self.over()

    def _keep(self) -> None:
        while not self._stop.wait(self.seconds / BEATS):
            self.beat()

    def _wanted(self) -> Lease:
        return Lease(owner=self.owner, boot=self.boot, until=self.clock() + self.seconds)

    def _remove(self) -> None:
        """Remove this boot's containers, over a connection and a loop of this thread's own."""
        try:
            gone = asyncio.run(self._removed())
        except SandboxError as error:
            _log.error("cannot remove this supervisor's containers: %s", error.brief)
        else:
            _log.warning("removed %d container(s)", len(gone))

    async def _removed(self) -> frozenset[str]:
        async with self.engine() as engine:
            made = await reaping.ours(engine, owner=self.owner, boot=self.boot)
            return await reaping.remove(engine, made, owner=self.owner)
