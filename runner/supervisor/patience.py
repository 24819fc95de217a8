"""How long a container may live: `limits.wall` while it works, `approvals.hold` while a person is waited for."""

from __future__ import annotations

import asyncio

from runner.lifecycle import RUN_ENDS, RunState
from runner.model import Profile, RunId
from runner.store import RunRow, Store, runs
from runner.supervisor.changes import Changes
from runner.supervisor.endings import End, Ending


async def until_impatient(store: Store, run: RunId, profile: Profile, *, changes: Changes) -> End:
    """Return when time is up: PARK after holding too long, FAIL after working too long. Waiting never counts as work.

    A run that has ended in the meantime, as by an answer after which its profile ends it, takes its container with it.
    """
    loop = asyncio.get_running_loop()
    worked = 0.0
    while True:
        row = await store.query(runs.get, run)
        if row.state in RUN_ENDS:
            return End(ending=Ending.CANCEL, reason=row.reason or "its run has ended")
        held = row.state is RunState.HELD
        began = loop.time()
        limit = profile.approvals.hold if held else max(profile.limits.wall - worked, 0.0)

        async def look(before: RunRow = row) -> RunRow | None:
            now = await store.query(runs.get, run)
            return now if now.state is not before.state else None

        changed = await changes.until(look, seconds=limit)
        if not held:
            worked += loop.time() - began
        if changed is None:
            if held:
                return End(ending=Ending.PARK, reason="a person is waited for")
            return End(
                ending=Ending.FAIL, reason=f"the container worked for longer than limits.wall, {profile.limits.wall:g} s"
            )
