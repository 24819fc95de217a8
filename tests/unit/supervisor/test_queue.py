"""What a person does with waiting calls besides deciding one, on real rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import ApprovalExpiredError, UsageError
from runner.lifecycle import ApprovalState, RunState
from runner.model import ApprovalSettings
from runner.supervisor.queue import Queue
from tests.helpers.stored import ANNA, NOW
from tests.unit.supervisor.acting import held
from tests.unit.supervisor.world import World, play


def queue(world: World) -> Queue:
    return Queue(store=world.store, effects=world.effects, changes=world.changes, clock=world.clock, enqueue=world.enqueue)


def test_the_profile_of_the_call_says_how_long(tmp_path: Path) -> None:
    """L4."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        with pytest.raises(UsageError):
            await queue(world).extend(waiting.id, seconds=1, who=ANNA)
        world.now = NOW + 60
        view = await queue(world).extend(waiting.id[:8], seconds=60, who=ANNA)
        assert (view["expires"], world.approval(waiting.id).expires) == (NOW + 160, NOW + 160)

    play(tmp_path, scene, approvals=ApprovalSettings(expires=100))


def test_a_run_hears_that_its_call_expired_before_it_got_more_time(tmp_path: Path) -> None:
    """L2."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        world.now = NOW + 100
        with pytest.raises(ApprovalExpiredError):
            await queue(world).extend(waiting.id, seconds=60, who=ANNA)
        assert world.approval(waiting.id).state is ApprovalState.EXPIRED
        assert world.run(row.id).state is RunState.RUNNING

    play(tmp_path, scene, approvals=ApprovalSettings(expires=100))
