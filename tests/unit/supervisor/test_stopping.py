"""An answer that ends its run does so in the transaction of that answer, whoever gave it and however (L2, D1, L10)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from runner.approvals import extend
from runner.errors import ApprovalExpiredError
from runner.lifecycle import ApprovalState, RunState
from runner.model import ApprovalSettings
from runner.store import ApprovalRow, RunRow, audit, segments
from runner.supervisor.endings import End, Ending
from runner.supervisor.patience import until_impatient
from runner.supervisor.queue import Queue
from tests.unit.supervisor.world import ANNA, World, a_turn, play, states, write

R, S = RunState, ApprovalState
EXPIRES = 60.0
STOP = ApprovalSettings(expires=EXPIRES, on_expiry="stop", on_denial="stop")
TELL = ApprovalSettings(expires=EXPIRES)


async def held(world: World) -> tuple[RunRow, tuple[ApprovalRow, ...]]:
    row = world.a_running()
    await world.desk(row).take_turn(a_turn(write("a.txt"), write("b.txt")))
    return row, world.approvals(row.id)


async def deny(world: World, first: ApprovalRow) -> None:
    await world.deny(first, "no")


async def deny_together(world: World, first: ApprovalRow) -> None:
    queue = Queue(store=world.store, effects=world.effects, changes=world.changes, clock=world.clock, enqueue=world.enqueue)
    await queue.deny_all([first.id], None, reason="no", who=ANNA)


async def expire(world: World, first: ApprovalRow) -> None:
    """The other one has more time."""
    for row in world.approvals(first.run)[1:]:
        with world.store.begin() as conn:
            extend(conn, row.id, seconds=2 * EXPIRES, longest=9 * EXPIRES, who=ANNA, now=world.now)
    world.now += EXPIRES
    await world.effects.expire()


async def come_too_late(world: World, first: ApprovalRow) -> None:
    """The clock has not ticked: the decision itself finds the call expired."""
    world.now += EXPIRES
    with pytest.raises(ApprovalExpiredError):
        await world.approve(first)


WAYS = [deny, deny_together, expire, come_too_late]


@pytest.mark.parametrize("answer", WAYS)
@pytest.mark.parametrize("parked", [False, True])
def test_an_answer_ends_the_run_and_what_still_waits_in_it_where_the_profile_says_so(
    answer: Callable[[World, ApprovalRow], Awaitable[None]], parked: bool, tmp_path: Path
) -> None:
    async def scene(world: World) -> None:
        row, (first, second) = await held(world)
        if parked:
            await world.end(row, End(ending=Ending.PARK, reason="a person is waited for"))
        await answer(world, first)
        assert (world.run(row.id).state, world.approval(second.id).state) == (R.CANCELLED, S.CANCELLED)
        assert world.approval(first.id).state in (S.DENIED, S.EXPIRED)
        assert world.queued == []
        with world.store.reading() as conn:
            assert segments.open_attempts(conn, row.id) == ()

    play(tmp_path, scene, approvals=STOP)


@pytest.mark.parametrize("answer", WAYS)
def test_otherwise_the_run_goes_on_and_hears_which_it_was(
    answer: Callable[[World, ApprovalRow], Awaitable[None]], tmp_path: Path
) -> None:
    async def scene(world: World) -> None:
        row, (first, second) = await held(world)
        await answer(world, first)
        assert world.run(row.id).state is R.HELD
        assert world.approval(second.id).state is S.PENDING

    play(tmp_path, scene, approvals=TELL)


@pytest.mark.parametrize(("answer", "who"), [(deny, "anna"), (expire, "the clock")])
def test_who_ended_it_and_why_is_on_record(
    answer: Callable[[World, ApprovalRow], Awaitable[None]], who: str, tmp_path: Path
) -> None:
    async def scene(world: World) -> None:
        row, (first, _) = await held(world)
        await answer(world, first)
        with world.store.reading() as conn:
            last = audit.of_subject(conn, row.id)[-1]
        facts: dict[str, Any] = json.loads(last.data)
        assert (last.event, facts["by"]["name"], facts["reason"]) == ("run.cancel", who, world.run(row.id).reason)
        assert "Write" in facts["reason"]

    play(tmp_path, scene, approvals=STOP)


@pytest.mark.parametrize("answer", [deny, expire])
def test_answer_and_end_are_one_transaction(
    answer: Callable[[World, ApprovalRow], Awaitable[None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault between them undoes both: neither an answer without its end, nor an end without its answer."""

    async def scene(world: World) -> None:
        row, found = await held(world)

        def fault(*_: object, **__: object) -> None:
            raise OSError("the disk is full")

        monkeypatch.setattr(segments, "end", fault)
        with pytest.raises(OSError, match="full"):
            await answer(world, found[0])
        assert world.run(row.id).state is R.HELD
        assert states(world.approvals(row.id)) == [S.PENDING, S.PENDING]

    play(tmp_path, scene, approvals=STOP)


def test_a_container_goes_with_its_run(tmp_path: Path) -> None:
    """L10: whoever watches it sees the run's end in the rows."""

    async def scene(world: World) -> None:
        row, (first, _) = await held(world)
        await world.deny(first)
        end = await until_impatient(world.store, row.id, world.profile, changes=world.changes)
        assert end.ending is Ending.CANCEL
        assert await world.end(row, end) is None

    play(tmp_path, scene, approvals=STOP)


def test_an_effect_under_way_is_still_put_on_record(tmp_path: Path) -> None:
    """Invariant 4: a no to one call is no reason to lose sight of another's effect."""

    async def scene(world: World) -> None:
        row, (first, second) = await held(world)
        await world.approve(first)
        await world.deny(second)
        assert world.run(row.id).state is R.CANCELLED
        assert (world.approval(first.id).state, (world.cwd / "a.txt").read_text()) == (S.DONE, "x")

    play(tmp_path, scene, approvals=STOP)
