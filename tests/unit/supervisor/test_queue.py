"""What a person does with waiting calls besides deciding one, on real rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import AlreadyDecidedError, ApprovalExpiredError, DigestMismatchError, NotAllowedError, UsageError
from runner.lifecycle import ApprovalState, RunState
from runner.model import ApprovalSettings
from runner.policy import SavedVerdict
from runner.render.values import objects_at
from runner.supervisor import queries
from runner.supervisor.queue import Queue
from runner.supervisor.shown import MAX_BATCH
from tests.helpers.stored import ANNA, NOW
from tests.unit.supervisor.acting import held
from tests.unit.supervisor.choosing import save
from tests.unit.supervisor.world import EDIT, World, play, states, use, write

_S = ApprovalState


def queue(world: World) -> Queue:
    return Queue(store=world.store, effects=world.effects, changes=world.changes, clock=world.clock, enqueue=world.enqueue)


def files(world: World) -> list[str]:
    return sorted(path.name for path in world.cwd.iterdir())


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
        assert world.approval(waiting.id).state is _S.EXPIRED
        assert world.run(row.id).state is RunState.RUNNING

    play(tmp_path, scene, approvals=ApprovalSettings(expires=100))


async def listed(world: World, one: Queue) -> str:
    """A person lists what waits; the list's token."""
    found, _ = await world.store.query(queries.listing, None, {_S.PENDING}, limit=100)
    one.remember(found)
    return found.snapshot


def test_all_that_was_shown_is_carried_out_and_what_came_since_waits(tmp_path: Path) -> None:
    """D4: a request arrives between the list and the word."""

    async def scene(world: World) -> None:
        one = queue(world)
        await held(world, write("a.txt", "A"), write("b.txt", "B"))
        token = await listed(world, one)
        _, (late,) = await held(world, write("c.txt", "C"))
        found = await one.approve_all([], token, reason=None, who=ANNA)
        assert [view["state"] for view in objects_at(found, "approvals")] == ["done", "done"]
        assert files(world) == ["a.txt", "b.txt", "in.txt"]
        assert world.approval(late.id).state is _S.PENDING
        with pytest.raises(AlreadyDecidedError):
            await one.approve_all([], token, reason=None, who=ANNA)

    play(tmp_path, scene)


def test_one_wrong_digest_among_several_carries_out_nothing(tmp_path: Path) -> None:
    """B4, D4."""

    async def scene(world: World) -> None:
        _, (first, second) = await held(world, write("a.txt"), write("b.txt"))
        pairs = [(first.id, first.approval_digest), (second.id, first.approval_digest)]
        with pytest.raises(DigestMismatchError):
            await queue(world).approve_all(pairs, None, reason=None, who=ANNA)
        assert states(world.approvals(first.run)) == [_S.PENDING, _S.PENDING]
        assert files(world) == ["in.txt"]

    play(tmp_path, scene)


def test_a_blocked_tool_among_several_carries_out_nothing(tmp_path: Path) -> None:
    """R109."""

    async def scene(world: World) -> None:
        _, (first, second) = await held(world, write("a.txt"), use(EDIT, file_path="in.txt", old_string="IN", new_string="OUT"))
        save(world, "Edit", SavedVerdict.BLOCK)
        pairs = [(row.id, row.approval_digest) for row in (first, second)]
        with pytest.raises(NotAllowedError):
            await queue(world).approve_all(pairs, None, reason=None, who=ANNA)
        assert states(world.approvals(first.run)) == [_S.PENDING, _S.PENDING]

    play(tmp_path, scene)


def test_all_that_was_shown_is_refused_and_their_runs_go_on(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        one = queue(world)
        row, _ = await held(world, write("a.txt"), write("b.txt"))
        other, (third,) = await held(world, write("c.txt"))
        await one.deny_all([third.id[:10]], None, reason="no", who=ANNA)
        await one.deny_all([], await listed(world, one), reason="no", who=ANNA)
        for run in (row, other):
            assert set(states(world.approvals(run.id))) == {_S.DENIED}
            assert world.run(run.id).state is RunState.RUNNING

    play(tmp_path, scene)


def test_an_expired_one_among_several_decides_nothing_and_its_run_hears_of_it(tmp_path: Path) -> None:
    """L2."""

    async def scene(world: World) -> None:
        one = queue(world)
        row, (first,) = await held(world, write("a.txt"))
        world.now = NOW + 50
        _, (second,) = await held(world, write("b.txt"))
        world.now = NOW + 100
        with pytest.raises(ApprovalExpiredError):
            await one.deny_all([second.id, first.id], None, reason=None, who=ANNA)
        assert (world.approval(first.id).state, world.approval(second.id).state) == (_S.EXPIRED, _S.PENDING)
        assert world.run(row.id).state is RunState.RUNNING

    play(tmp_path, scene, approvals=ApprovalSettings(expires=100))


@pytest.mark.parametrize("many", [0, 2, MAX_BATCH + 1])
def test_none_too_many_and_the_same_twice_are_usage(many: int, tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        with pytest.raises(UsageError):
            await queue(world).deny_all([waiting.id] * many, None, reason=None, who=ANNA)
        assert world.approval(waiting.id).state is _S.PENDING

    play(tmp_path, scene)
