"""Attack: a disk that takes nothing, at each moment before a release. What cannot be written down is not done (A3, L7).

A real file system that is full (ENOSPC) or read-only (EROFS) beneath the database; the agent's own directory has room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from runner.approvals import approve
from runner.errors import StoreError
from runner.lifecycle import ApprovalState, RunState
from runner.store import audit
from runner.supervisor.doubts import STANDING_YES
from tests.helpers.builders import a_profile
from tests.helpers.small_disk import SmallDisk, small_disk
from tests.helpers.stored import NOW, opened
from tests.unit.supervisor.world import PATIENCE, WRITE, World, a_turn, arguments_of, read, states, write

S = ApprovalState
#: What SQLite says of a full disk, and of one that is read-only.
REFUSAL = "disk is full|readonly database|unable to open"
Scene = Callable[[World, Callable[[], AbstractContextManager[None]]], Coroutine[Any, Any, None]]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as found:
        yield found


@pytest.fixture(params=["full", "read_only"])
def scene_on(request: pytest.FixtureRequest, disk: SmallDisk, tmp_path: Path) -> Callable[[Scene], None]:
    """Plays a scene with the database on the disk; the scene is handed what makes it refuse."""
    cwd = tmp_path / "agent"
    cwd.mkdir()
    (cwd / "in.txt").write_text("INSIDE\n")

    def play(scene: Scene) -> None:
        with opened(disk.folder / "runner.db") as store:
            world = World(store=store, folder=disk.folder, profile=a_profile(cwd=cwd))

            def refusing() -> AbstractContextManager[None]:
                # No free frame in the log, and no file held open for writing.
                with store.engine.connect() as conn:
                    conn.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
                if request.param == "read_only":
                    store.engine.dispose()
                return getattr(disk, request.param)()  # type: ignore[no-any-return]

            asyncio.run(asyncio.wait_for(scene(world, refusing), PATIENCE))
            with store.reading() as conn:
                assert audit.verify(conn) is None

    return play


def test_a_turn_that_cannot_be_written_down_releases_nothing(scene_on: Callable[[Scene], None]) -> None:
    """Invariant 2: neither a write nor a read; asked for all the same, the gate refuses."""

    async def scene(world: World, refusing: Callable[[], AbstractContextManager[None]]) -> None:
        row = world.a_running()
        desk = world.desk(row)
        asked = write("a.txt")
        with refusing():
            with pytest.raises(StoreError, match=REFUSAL):
                await desk.take_turn(a_turn(asked, read("in.txt")))
            with pytest.raises(StoreError, match=REFUSAL):
                await desk.ask(WRITE, arguments_of(asked))
        assert (world.calls(row.id), world.approvals(row.id)) == ((), ())
        assert world.run(row.id).state is RunState.RUNNING
        assert not (world.cwd / "a.txt").exists()

    scene_on(scene)


def test_a_yes_that_cannot_be_written_down_is_none_and_may_be_given_again(scene_on: Callable[[Scene], None]) -> None:
    async def scene(world: World, refusing: Callable[[], AbstractContextManager[None]]) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt", "A")))
        (waiting,) = world.approvals(row.id)
        with refusing():
            with pytest.raises(StoreError, match=REFUSAL):
                await world.approve(waiting)
            assert not (world.cwd / "a.txt").exists()
        assert states(world.approvals(row.id)) == [S.PENDING]
        await world.effects.take_up()
        assert not (world.cwd / "a.txt").exists()
        assert (await world.approve(waiting)).state is S.DONE
        assert (world.cwd / "a.txt").read_text() == "A"

    scene_on(scene)


def test_a_no_that_cannot_be_written_down_is_an_error_and_never_a_yes(scene_on: Callable[[Scene], None]) -> None:
    async def scene(world: World, refusing: Callable[[], AbstractContextManager[None]]) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt")))
        (waiting,) = world.approvals(row.id)
        with refusing(), pytest.raises(StoreError, match=REFUSAL):
            await world.deny(waiting)
        assert states(world.approvals(row.id)) == [S.PENDING]

    scene_on(scene)


def test_an_intent_that_cannot_be_written_down_starts_nothing(scene_on: Callable[[Scene], None]) -> None:
    """Invariant 4: approved before the disk was full, as by a standing yes; carried out once when it has room."""

    async def scene(world: World, refusing: Callable[[], AbstractContextManager[None]]) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt", "A")))
        (waiting,) = world.approvals(row.id)
        with world.store.begin() as conn:
            approve(conn, waiting.id, digest=waiting.approval_digest, who=STANDING_YES, now=NOW)
        with refusing():
            with pytest.raises(StoreError, match=REFUSAL):
                await world.effects.carry_out(waiting.id)
            assert not (world.cwd / "a.txt").exists()
        assert world.approval(waiting.id).effect is None

    scene_on(scene)
