"""What is not taken back: what somebody changed since, what was never done, what is not on record (issue 5 item 3)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.errors import AlreadyDecidedError, ApprovalExpiredError, NotFoundError, PausedError, StoreError, UsageError
from runner.lifecycle import ApprovalState
from runner.model import Policy
from runner.store import VerdictRow, pausing, verdicts
from runner.supervisor import keepsakes
from runner.supervisor.undo import Undos
from tests.helpers.stored import ANNA, BEN, NOW
from tests.unit.supervisor.acting import held
from tests.unit.supervisor.undoing import FOLDER, TOOLS, done, tree, undone, undos
from tests.unit.supervisor.world import World, a_turn, both, play, read, use, write

_S = ApprovalState


def changed(cwd: Path) -> None:
    (cwd / "x/a.txt").write_text("a person's")


def gone(cwd: Path) -> None:
    (cwd / "x/a.txt").unlink()


def a_link(cwd: Path) -> None:
    (cwd / "x/a.txt").rename(cwd / "real.txt")
    (cwd / "x/a.txt").symlink_to("../real.txt")


def a_folder_link(cwd: Path) -> None:
    (cwd / "x").rename(cwd / "real")
    (cwd / "x").symlink_to("real")


def another_name(cwd: Path) -> None:
    (cwd / "other.txt").hardlink_to(cwd / "x/a.txt")


def a_directory(cwd: Path) -> None:
    (cwd / "x/a.txt").unlink()
    (cwd / "x/a.txt").mkdir()


@pytest.mark.parametrize("drift", [changed, gone, a_link, a_folder_link, another_name, a_directory])
def test_what_was_changed_since_is_never_written_over(tmp_path: Path, drift: object) -> None:
    """Refused on drift: nothing is done, nothing is put on record, and the caller is told (exit code 5)."""

    async def scene(world: World) -> None:
        row = await done(world, write("x/a.txt", "agent's"))
        drift(world.cwd)  # type: ignore[operator]
        before = tree(world.cwd)
        for attempt in (undos(world).plan(row.id), undos(world).undo(row.id, who=BEN)):
            with pytest.raises(ApprovalExpiredError, match="cannot undo"):
                await attempt
        assert tree(world.cwd) == before
        assert [one.id for one in world.approvals(row.run)] == [row.id]

    play(tmp_path, scene)


def test_a_directory_that_is_in_use_is_not_removed(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = await done(world, use(FOLDER, path="x/dir"))
        (world.cwd / "x/dir/mine.txt").write_text("a person's")
        with pytest.raises(ApprovalExpiredError, match="no longer empty"):
            await undos(world).undo(row.id, who=BEN)
        (world.cwd / "x/dir/mine.txt").unlink()
        (world.cwd / "x/mine.txt").write_text("a person's")
        await undone(world, row.id)
        assert sorted(tree(world.cwd / "x")) == ["mine.txt"]

    play(tmp_path, scene, tools=TOOLS)


def test_a_drift_between_the_look_and_the_effect_makes_the_undo_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B5, B6: looked at again when it begins, and again at the last moment."""

    async def scene(world: World) -> None:
        row = await done(world)
        wanted, plan = await undos(world)._plan(row.id)
        (world.cwd / "a.txt").write_text("a person's")
        monkeypatch.setattr(Undos, "_plan", lambda *_: asyncio.sleep(0, (wanted, plan)))
        found = await undos(world).undo(row.id, who=BEN)
        assert found["state"] == "stale"
        assert (world.cwd / "a.txt").read_text() == "a person's"

    play(tmp_path, scene)


def test_what_was_taken_back_is_not_taken_back_twice(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = await done(world)
        undo = await undone(world, row.id)
        with pytest.raises(AlreadyDecidedError, match=f"already, by {undo.id}"):
            await undos(world).undo(row.id, who=BEN)
        await undone(world, undo.id)
        await undone(world, row.id)
        assert not (world.cwd / "a.txt").exists()

    play(tmp_path, scene)


def test_of_two_at_once_one_happens(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = await done(world)
        found = await both(*(undos(world).undo(row.id, who=BEN) for _ in range(4)))
        ends = [one["state"] if isinstance(one, dict) else type(one) for one in found]
        assert ends.count("done") == 1
        assert set(ends) <= {"done", "stale", AlreadyDecidedError, ApprovalExpiredError}
        assert not (world.cwd / "a.txt").exists()

    play(tmp_path, scene)


def test_only_what_was_done_to_a_file_can_be_taken_back(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row, (pending, denied) = await held(world, write("a.txt"), write("b.txt"))
        await world.deny(denied)
        for one, state in ((pending, "pending"), (denied, "denied")):
            with pytest.raises(UsageError, match=f"it is {state}, and only what was done"):
                await undos(world).undo(one.id, who=BEN)
        with pytest.raises(NotFoundError):
            await undos(world).undo("a_zzzzzz", who=BEN)
        assert [one.tool for one in world.approvals(row.id)] == ["Write", "Write"]

    play(tmp_path, scene)


def test_a_read_that_was_approved_has_nothing_to_take_back(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = await done(world, read("in.txt"))
        with pytest.raises(UsageError, match="it changed no file"):
            await undos(world).undo(row.id, who=BEN)

    play(tmp_path, scene, policy=Policy.ASK)


def test_an_effect_of_before_pre_images_were_kept_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(world: World) -> None:
        monkeypatch.setattr(keepsakes, "keep", lambda *_: None)
        row = await done(world)
        with pytest.raises(UsageError, match="not on record"):
            await undos(world).undo(row.id, who=BEN)

    play(tmp_path, scene)


def test_what_is_kept_must_be_what_the_approval_was_bound_to(tmp_path: Path) -> None:
    """A database that somebody wrote to must not make an undo write anything else."""

    async def scene(world: World) -> None:
        row = await done(world, write("in.txt", "agent's"))
        with world.store.begin() as conn:
            conn.exec_driver_sql("DROP TRIGGER runner_pre_images_update")
            conn.exec_driver_sql("UPDATE pre_images SET data = x'00'")
        with pytest.raises(StoreError, match="not what stood there before"):
            await undos(world).undo(row.id, who=BEN)
        assert (world.cwd / "in.txt").read_text() == "agent's"

    play(tmp_path, scene)


def test_nothing_is_taken_back_while_the_supervisor_is_paused(tmp_path: Path) -> None:
    """L9."""

    async def scene(world: World) -> None:
        row = await done(world)
        with world.store.begin() as conn:
            pausing.pause(conn, who=ANNA, reason=None, now=NOW)
        with pytest.raises(PausedError):
            await undos(world).undo(row.id, who=BEN)
        assert (world.cwd / "a.txt").exists()
        assert [one.id for one in world.approvals(row.run)] == [row.id]

    play(tmp_path, scene)


def test_a_block_binds_the_agent_and_not_who_takes_its_effects_back(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = await done(world)
        with world.store.begin() as conn:
            verdicts.put(conn, VerdictRow(agent=row.agent, tool="Write", verdict="block", set_by=ANNA, set_at=NOW))
        await undone(world, row.id)
        assert not (world.cwd / "a.txt").exists()

    play(tmp_path, scene)


def test_the_model_cannot_ask_for_an_undo(tmp_path: Path) -> None:
    """W5: its name is no tool's, offered or not."""

    async def scene(world: World) -> None:
        done_row = await done(world)
        run = world.a_running()
        raw = {"undoes": done_row.id, "path": "/workspace/a.txt"}
        await world.desk(run).take_turn(a_turn(use("Undo", **raw), use("mcp__runner__Undo", **raw)))
        assert [call.rule for call in world.calls(run.id)] == ["not_declared", "not_declared"]
        assert world.approvals(run.id) == ()

    play(tmp_path, scene)
