"""What happens by the clock alone: deadlines of approvals."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from runner.approvals import Approver
from runner.errors import RunnerError, UsageError
from runner.profiles import from_json
from runner.store import ApprovalRow, Store, profiles
from runner.supervisor.effects import Effects
from runner.supervisor.service import SupervisorService

_log = logging.getLogger(__name__)

TICK = 1.0
_CLOCK = Approver(uid=0, channel="clock", name="the clock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clockwork:
    """Ticks once a second."""

    store: Store
    effects: Effects
    service: SupervisorService

    def start(self) -> Callable[[], Awaitable[None]]:
        """Begin to tick; the answer stops it."""
        task = asyncio.create_task(self._run())

        async def stop() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        return stop

    async def tick(self) -> None:
        """Expire what is due; a run whose profile says so is stopped with it (L2)."""
        for row in await self.effects.expire():
            if await self._stops(row):
                try:
                    await self.service.stop(row.run, who=_CLOCK, reason=f"nobody decided about {row.tool} in time")
                except UsageError as error:
                    _log.info("an expired call's run had ended: %s", error.brief)

    async def _run(self) -> None:
        while True:
            try:
                await self.tick()
            except RunnerError as error:
                _log.error("cannot do what is due: %s", error.diagnostics())
            await asyncio.sleep(TICK)

    async def _stops(self, row: ApprovalRow) -> bool:
        stored = await self.store.query(profiles.get, row.profile_digest)
        return from_json(json.loads(stored.text)).approvals.on_expiry == "stop"
