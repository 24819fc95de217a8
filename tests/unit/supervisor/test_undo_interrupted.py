"""What stood there is kept before anything is changed, and an undo that a crash interrupted ends as the disk says (A3, B9)."""

from __future__ import annotations

import stat
from functools import partial
from pathlib import Path

import pytest

from runner import approvals
from runner.broker import PreImage
from runner.broker.effects import _temporary
from runner.errors import StoreError
from runner.lifecycle import ApprovalState
from runner.store import ApprovalRow
from runner.supervisor import keepsakes
from runner.supervisor.acts import order_of
from runner.supervisor.undo import GOOD_FOR
from tests.helpers.stored import ANNA, BEN
from tests.unit.supervisor.acting import gate, held
from tests.unit.supervisor.undoing import done, tree, undos
from tests.unit.supervisor.world import World, play, write

_S = ApprovalState


def test_what_stood_there_is_on_record_before_the_effect_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invariant 4: read by another connection in the middle of the effect, so committed with `executing`."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world, write("in.txt", "agent's"))
        spy = gate(world, monkeypatch)
        seen: list[PreImage | None] = []
        real = spy.real

        def look(row: ApprovalRow, cwd: Path, **more: object) -> object:
            with world.store.reading() as conn:
                seen.append(keepsakes.kept(conn, row.id))
            return real(row, cwd, **more)

        spy.real = look  # type: ignore[assignment]
        facts = (world.cwd / "in.txt").stat()
        await world.approve(waiting)
        mode = stat.S_IMODE(facts.st_mode)
        assert seen == [PreImage(data=b"INSIDE\n", mode=mode, owner=(facts.st_uid, facts.st_gid), standing=0)]

    play(tmp_path, scene)


def test_a_pre_image_that_cannot_be_kept_means_no_effect(tmp_path: Path) -> None:
    """A3: a full disk."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        with world.store.begin() as conn:
            conn.exec_driver_sql(
                "CREATE TRIGGER full BEFORE INSERT ON pre_images BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
            )
        with pytest.raises(StoreError, match="disk is full"):
            await world.approve(waiting)
        assert (world.approval(waiting.id).state, (world.cwd / "a.txt").exists()) == (_S.PENDING, False)

    play(tmp_path, scene)


async def interrupted(world: World, row: ApprovalRow, *, begun: bool) -> ApprovalRow:
    """An undo as a kill leaves it: asked for, or begun too, and nothing recorded of what it did."""
    wanted, plan = await undos(world)._plan(row.id)
    fresh = world.ids.approval()
    await world.store.call(partial(undos(world)._open, wanted=wanted, plan=plan, fresh=fresh, who=BEN))
    if begun:
        image = PreImage(data=b"A", mode=0o644, owner=(0, 0), standing=0)
        with world.store.begin() as conn:
            assert approvals.begin_effect(conn, fresh, now=world.now) is not None
            keepsakes.keep(conn, fresh, image)
    return world.approval(fresh)


@pytest.mark.parametrize(("disk", "state"), [("pre", _S.APPROVED), ("post", _S.DONE), ("other", _S.UNKNOWN)])
def test_after_a_crash_the_disk_decides_about_an_undo_too(tmp_path: Path, disk: str, state: ApprovalState) -> None:
    """B9: not happened, and carried out now; happened; neither, for a person to settle."""

    async def scene(world: World) -> None:
        row = await done(world)
        undo = await interrupted(world, row, begun=True)
        if disk == "post":
            (world.cwd / "a.txt").unlink()
        elif disk == "other":
            (world.cwd / "a.txt").write_text("something else")
        found = await world.effects.find_out(undo, world.cwd)
        assert found.state is state
        if disk == "pre":
            assert (await world.effects.carry_out(undo.id)).state is _S.DONE
            assert not (world.cwd / "a.txt").exists()

    play(tmp_path, scene)


def test_an_undo_that_was_asked_for_is_carried_out_by_the_next_start_while_it_is_fresh(tmp_path: Path) -> None:
    """Recovery carries out what is approved; an old one is stale."""

    async def scene(world: World) -> None:
        first, second = await done(world, write("a.txt", "A")), await done(world, write("b.txt", "B"))
        fresh, old = [await interrupted(world, row, begun=False) for row in (first, second)]
        assert (await world.effects.carry_out(fresh.id)).state is _S.DONE
        world.now += GOOD_FOR
        assert (await world.effects.carry_out(old.id)).state is _S.STALE
        assert sorted(tree(world.cwd)) == ["b.txt", "in.txt"]

    play(tmp_path, scene)


def test_what_a_kill_left_half_written_is_removed_by_the_next_start(tmp_path: Path) -> None:
    """B9: beside the target, under the name that only this approval's write uses."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world, write("in.txt", "agent's"))
        with world.store.begin() as conn:
            approvals.approve(conn, waiting.id, digest=waiting.approval_digest, who=ANNA, now=world.now)
            begun = approvals.begin_effect(conn, waiting.id, now=world.now)
        assert begun is not None
        left = _temporary(order_of(begun, world.cwd))
        assert left is not None
        (world.cwd / left).write_text("agen")
        found = await world.effects.find_out(begun, world.cwd)
        assert (found.state, sorted(tree(world.cwd))) == (_S.APPROVED, ["in.txt"])
        assert (await world.effects.carry_out(begun.id)).state is _S.DONE
        assert (sorted(tree(world.cwd)), (world.cwd / "in.txt").read_text()) == (["in.txt"], "agent's")

    play(tmp_path, scene)
