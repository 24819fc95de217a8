"""What a former boot left goes as soon as the engine answers; nothing of a live owner is touched (M8, cases 97, 102)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from runner.errors import SandboxUnavailableError
from runner.lifecycle import RunState
from runner.sandbox.launch import BOOT_LABEL, STATE_LABEL
from runner.store import segments
from runner.store.rows import SegmentRow
from runner.supervisor.sweep import SETTLED, STRANGE, Sweep
from tests.unit.supervisor.conducting import OWNER
from tests.unit.supervisor.waiting import Pooled
from tests.unit.supervisor.world import World, play

BOOT = "now"


def swept(tmp_path: Path, story: Callable[[Pooled, Sweep, Callable[[str, str], Awaitable[str]]], Awaitable[None]]) -> None:
    async def scene(world: World) -> None:
        pooled = Pooled(world)
        around = pooled.pool.around
        object.__setattr__(around, "boot", BOOT)
        sweep = Sweep(around=around, pool=pooled.pool, now=pooled.clock)

        async def a_container(owner: str, boot: str) -> str:
            labels = {STATE_LABEL: owner} | ({BOOT_LABEL: boot} if boot else {})
            return await pooled.stage.engine.create({"Image": "any", "Labels": labels, "HostConfig": {"Mounts": []}})

        await story(pooled, sweep, a_container)
        await pooled.stage.drain.finish()
        await pooled.pool.start()()

    play(tmp_path, scene)


def test_what_former_boots_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """Case 97: by label; another directory's containers, a live run's and a waiting one stay."""

    async def story(pooled: Pooled, sweep: Sweep, a_container: Callable[[str, str], Awaitable[str]]) -> None:
        row = pooled.world.a_run()
        (warm,) = await pooled.fill()
        pooled.stage.conduct(row)
        await pooled.stage.reaches(row, RunState.RUNNING)
        (other,) = await pooled.fill()
        left = {await a_container(OWNER, "before"), await a_container(OWNER, "")}
        theirs = await a_container("theirs", "before")
        assert await sweep.look() == left
        assert set(pooled.stage.engine.containers) == {warm.box.container_id, other.box.container_id, theirs}
        await pooled.stage.engine.remove(theirs)

    swept(tmp_path, story)


def test_an_engine_that_was_down_is_swept_when_it_answers_and_then_the_folders_go(tmp_path: Path) -> None:
    """M8: the folders of a former boot may be mounted until its containers are gone."""

    async def story(pooled: Pooled, sweep: Sweep, a_container: Callable[[str, str], Awaitable[str]]) -> None:
        folder = pooled.stage.attempts / "r_old-0-0"
        (folder / "snapshot").mkdir(parents=True)
        sweep.former = (folder,)
        left = await a_container(OWNER, "before")
        pooled.stage.engine.faults["find"] = SandboxUnavailableError("cannot list the containers: no engine answers")
        with pytest.raises(SandboxUnavailableError):
            await sweep.look()
        assert folder.exists()
        del pooled.stage.engine.faults["find"]
        assert await sweep.look() == {left}
        assert not folder.exists()

    swept(tmp_path, story)


def test_a_container_of_this_boot_that_nobody_has_for_long_is_left_over_too(tmp_path: Path) -> None:
    """Case 102: one whose removal failed; but never one that may just be starting."""

    async def story(pooled: Pooled, sweep: Sweep, a_container: Callable[[str, str], Awaitable[str]]) -> None:
        stuck = await a_container(OWNER, BOOT)
        assert await sweep.look() == frozenset()
        pooled.clock.now += STRANGE - 1
        assert await sweep.look() == frozenset()
        pooled.clock.now += 2
        assert await sweep.look() == {stuck}

    swept(tmp_path, story)


def test_a_container_that_stopped_while_the_engine_was_away_goes_soon_after_nobody_has_it(tmp_path: Path) -> None:
    """Case 102: its removal failed with the engine; it cannot be one that is starting."""

    async def story(pooled: Pooled, sweep: Sweep, a_container: Callable[[str, str], Awaitable[str]]) -> None:
        stopped, created = await a_container(OWNER, BOOT), await a_container(OWNER, BOOT)
        await pooled.stage.engine.start(stopped)
        await pooled.stage.engine.kill(stopped)
        assert await sweep.look() == frozenset()
        pooled.clock.now += SETTLED
        assert await sweep.look() == {stopped}
        assert set(pooled.stage.engine.containers) == {created}
        await pooled.stage.engine.remove(created)

    swept(tmp_path, story)


def test_a_container_whose_attempt_has_ended_goes_soon_even_if_it_never_ran(tmp_path: Path) -> None:
    """Case 102: the engine went away between its creation and its start, and took its removal along."""

    async def story(pooled: Pooled, sweep: Sweep, a_container: Callable[[str, str], Awaitable[str]]) -> None:
        made = await a_container(OWNER, BOOT)
        row, store = pooled.world.a_run(), pooled.pool.around.store
        attempt = SegmentRow(run=row.id, segment=7, attempt=0, container_id=made, created=1.0)
        await store.call(segments.insert, attempt)
        assert await sweep.look() == frozenset()
        pooled.clock.now += SETTLED
        assert await sweep.look() == frozenset(), "it is somebody's"
        await store.call(segments.end, row.id, 7, 0, reason="failed", now=2.0)
        assert await sweep.look() == frozenset()
        pooled.clock.now += SETTLED
        assert await sweep.look() == {made}

    swept(tmp_path, story)
