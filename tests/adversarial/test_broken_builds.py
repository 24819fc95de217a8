"""The outside judge (A4): what the supervisor records passes `agentack check`, and each deliberately broken build is caught.

A break takes out a check, never the record: the broker still tells what it left, the rows still say what was done when. The
shipped product has no switch for any of this; the tests reach into it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runner import approvals, lifecycle
from runner.approvals import decide
from runner.broker import Effect
from runner.broker.values import Change
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.store import ApprovalRow, Connection
from runner.store import approvals as rows
from runner.supervisor import effects as room
from runner.supervisor.endings import End, Ending
from tests.helpers.judge import Judgement, export, judge
from tests.helpers.stored import ANNA
from tests.unit.supervisor.acting import held
from tests.unit.supervisor.undoing import undone
from tests.unit.supervisor.world import EDIT, World, a_turn, play, read, use, write

_S, _V = ApprovalState, ApprovalEvent
Scene = Callable[[World], Coroutine[Any, Any, str | None]]


def judged(folder: Path, scene: Scene, **profile: Any) -> Judgement:
    """What the judge says of a scene; the scene may name the one run to be looked at."""
    run = play(folder, scene, **profile)
    export(folder / "runner.db", folder / "trace.jsonl", run)
    return judge(folder / "trace.jsonl")


# ---------------------------------------------------------------- as it is built


async def every_ordinary_end(world: World) -> None:
    """Approved, undone, denied, failed, gone stale, expired, and reads that ask nobody."""
    row = world.a_running()
    desk = world.desk(row)
    calls = (write("a.txt", "A"), write("b.txt", "B"), write("in.txt", "C"), write("d/e.txt", "D"), write("f.txt", "F"))
    await desk.take_turn(a_turn(read("in.txt"), *calls))
    done, denied, stale, failed, late = world.approvals(row.id)
    assert (await world.approve(done)).state is _S.DONE
    await undone(world, done.id)
    assert (await world.deny(denied)).state is _S.DENIED
    (world.cwd / "in.txt").write_text("changed meanwhile")
    (world.cwd / "d").write_text("in the way")
    assert {(await world.approve(one)).state for one in (stale, failed)} <= {_S.STALE, _S.FAILED}
    world.now = late.expires + 1
    assert [one.id for one in await world.effects.expire()] == [late.id]
    await world.end(row, End(ending=Ending.CANCEL, reason="enough"))


async def a_denied_target_and_a_later_yes(world: World) -> None:
    """ACK007's good twin: after a no, another tool for the same target asks a person again."""
    row = world.a_running()
    await world.desk(row).take_turn(a_turn(write("in.txt", "A")))
    (first,) = world.approvals(row.id)
    await world.deny(first)
    _, (other,) = await held(world, write("in.txt", "A"))
    assert (await world.approve(other)).state is _S.DONE


async def several_at_once(world: World) -> None:
    """D4: all in one transaction, then each by itself."""
    _, waiting = await held(world, *(write(f"{name}.txt") for name in "abc"))
    with world.store.begin() as conn:
        pairs = [(one.id, one.approval_digest) for one in waiting]
        approvals.approve_all(conn, pairs, who=ANNA, reason=None, now=world.now)
    for one in waiting:
        assert (await world.effects.carry_out(one.id)).state is _S.DONE


async def every_end_of_a_doubt(world: World) -> None:
    """Killed inside the effect: found done, found undone and done then, in doubt and settled both ways."""
    row = world.a_running()
    await world.desk(row).take_turn(a_turn(*(write(f"{name}.txt", name) for name in "abcd")))
    found, again, happened, never = world.approvals(row.id)
    for one in (found, again, happened, never):
        with world.store.begin() as conn:
            approvals.approve(conn, one.id, digest=one.approval_digest, who=ANNA, now=world.now)
            approvals.begin_effect(conn, one.id, now=world.now)
    (world.cwd / "a.txt").write_text("a")
    (world.cwd / "c.txt").write_text("neither")
    (world.cwd / "d.txt").write_text("neither")
    ends = [(await world.effects.find_out(world.approval(one.id), world.cwd)).state for one in (found, again, happened, never)]
    assert ends == [_S.DONE, _S.APPROVED, _S.UNKNOWN, _S.UNKNOWN]
    assert (await world.effects.carry_out(again.id)).state is _S.DONE
    await world.effects.settle(happened.id, happened=True, who=ANNA, reason=None)
    await world.effects.settle(never.id, happened=False, who=ANNA, reason=None)


@pytest.mark.parametrize("scene", [every_ordinary_end, a_denied_target_and_a_later_yes, several_at_once, every_end_of_a_doubt])
def test_what_is_recorded_passes_the_judge(tmp_path: Path, scene: Scene) -> None:
    """A4."""
    found = judged(tmp_path, scene)
    assert (found.status, found.code) == ("PASS", 0), found.said


def test_a_run_that_was_stopped_passes_by_itself(tmp_path: Path) -> None:
    """ACK008's good twin: after the stop of a run nothing of it is carried out."""

    async def scene(world: World) -> str:
        row, (first, _) = await held(world, write("a.txt"), write("b.txt"))
        await world.approve(first)
        await world.end(row, End(ending=Ending.CANCEL, reason="enough"))
        return row.id

    assert judged(tmp_path, scene).status == "PASS"


def test_a_call_that_still_waits_makes_the_record_incomplete(tmp_path: Path) -> None:
    """The judge does not call good what has no end yet."""

    async def scene(world: World) -> None:
        await held(world)

    found = judged(tmp_path, scene)
    assert (found.status, found.code, found.rules) == ("INCOMPLETE", 3, {"ACK009"})


# ---------------------------------------------------------------- broken


def unchecked(conn: Connection, id: Any, *, now: float) -> ApprovalRow | None:
    """A beginning that looks at nothing."""
    return rows.move(conn, id, _V.EXECUTE, now=now)


def allow(patch: pytest.MonkeyPatch, *arrows: tuple[ApprovalState, ApprovalEvent, ApprovalState]) -> None:
    """Add arrows to the table of states, and with them to the triggers that are made from it."""
    for before, event, after in arrows:
        patch.setitem(lifecycle.APPROVAL, (before, event), after)  # type: ignore[arg-type]
    patch.setattr(approvals, "begin_effect", unchecked)


async def never_asked(world: World, patch: pytest.MonkeyPatch) -> None:
    _, (waiting,) = await held(world)
    await world.effects.carry_out(waiting.id)


async def done_after_a_no(world: World, patch: pytest.MonkeyPatch) -> None:
    _, (waiting,) = await held(world)
    await world.deny(waiting)
    await world.effects.carry_out(waiting.id)


async def other_bytes(world: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(room, "act", partial(overwrite, data=b"B"))
    _, (waiting,) = await held(world)
    await world.approve(waiting)
    assert (world.cwd / "a.txt").read_text() == "B"


async def done_twice(world: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(room, "pre_image", lambda row, cwd: None)
    patch.setattr(room, "act", overwrite)
    _, (waiting,) = await held(world)
    await world.approve(waiting)
    await world.effects.carry_out(waiting.id)


def overwrite(row: ApprovalRow, cwd: Path, *, data: bytes = b"A", restores: object = None) -> Effect:
    """A broker that looks neither at what was approved nor at what stands there; it still says what it wrote."""
    (cwd / "a.txt").write_bytes(data)
    return Effect(state="done", outcome="wrote it", changed=(Change(path=row.paths[0].resolved, data=data),))


async def used_after_its_deadline(world: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decide, "undecided", lambda conn, id, **_: rows.get(conn, id))
    _, (waiting,) = await held(world)
    world.now = waiting.expires + 5
    await world.approve(waiting)


async def asked_afterwards(world: World, patch: pytest.MonkeyPatch) -> None:
    _, (waiting,) = await held(world)
    done = await world.effects.carry_out(waiting.id)
    with world.store.begin() as conn:
        rows.move(conn, done.id, _V.APPROVE, now=world.now, decided_by=ANNA, decided_at=world.now)


async def routed_around(world: World, patch: pytest.MonkeyPatch) -> None:
    change = use(EDIT, file_path="in.txt", old_string="INSIDE", new_string="X")
    _, (first, second) = await held(world, write("in.txt", "X"), change)
    await world.deny(first)
    await world.effects.carry_out(second.id)


BUILDS = {
    "ACK001": (never_asked, [(_S.PENDING, _V.EXECUTE, _S.EXECUTING)]),
    "ACK002": (done_after_a_no, [(_S.DENIED, _V.EXECUTE, _S.EXECUTING)]),
    "ACK003": (other_bytes, []),
    "ACK004": (done_twice, [(_S.DONE, _V.EXECUTE, _S.EXECUTING)]),
    "ACK005": (used_after_its_deadline, []),
    "ACK006": (asked_afterwards, [(_S.PENDING, _V.EXECUTE, _S.EXECUTING), (_S.DONE, _V.APPROVE, _S.DONE)]),
    "ACK007": (routed_around, [(_S.PENDING, _V.EXECUTE, _S.EXECUTING)]),
}


@pytest.mark.parametrize("rule", BUILDS)
def test_each_broken_build_is_caught_by_its_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    """A4: seven builds, each with one check taken out."""
    broken, arrows = BUILDS[rule]
    allow(monkeypatch, *arrows)

    async def scene(world: World) -> None:
        await broken(world, monkeypatch)

    found = judged(tmp_path, scene)
    assert (found.status, found.code) == ("FAIL", 1), found.said
    assert rule in found.rules, found.said


def test_a_build_that_carries_on_after_a_stop_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ACK008, in the trace of that run."""
    allow(monkeypatch, (_S.CANCELLED, _V.EXECUTE, _S.EXECUTING))

    async def scene(world: World) -> str:
        row, (waiting,) = await held(world)
        await world.end(row, End(ending=Ending.CANCEL, reason="enough"))
        await world.effects.carry_out(waiting.id)
        return row.id

    found = judged(tmp_path, scene)
    assert found.status == "FAIL"
    assert "ACK008" in found.rules


def test_a_build_that_forgets_outcomes_is_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ACK009: nothing is called good without evidence."""
    monkeypatch.setattr(approvals, "finish_effect", lambda conn, id, **_: rows.get(conn, id))

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        await world.approve(waiting)

    found = judged(tmp_path, scene)
    assert (found.status, found.code, found.rules) == ("INCOMPLETE", 3, {"ACK009"})
