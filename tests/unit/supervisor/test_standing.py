"""Calls that nobody has to be asked about are carried out from the queue like all others (R72, invariants 2, 3, 4, 13)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runner.lifecycle import ApprovalState
from runner.model import OWNER, Policy, Sender, SenderKind, Verdict
from runner.policy import SavedVerdict
from runner.supervisor.doubts import STANDING_YES
from runner.supervisor.standing import StandingYes
from tests.unit.supervisor.choosing import approved_by_hand, begun_by_hand, desk_of, forget, save
from tests.unit.supervisor.world import (
    EDIT,
    WRITE,
    RunState,
    World,
    a_turn,
    arguments_of,
    play,
    read,
    settled,
    states,
    use,
    write,
)

_S = ApprovalState
ALLOW = SavedVerdict.ALLOW


@asynccontextmanager
async def watching(world: World) -> AsyncIterator[None]:
    """The supervisor's task that carries out what the owner lets run."""
    stop = StandingYes(store=world.store, effects=world.effects, changes=world.changes).start()
    try:
        yield
    finally:
        await stop()


def test_a_saved_allow_runs_a_write_without_asking_where_strict_is_off(tmp_path: Path) -> None:
    """R72, R97: one row, one intent record, one outcome, told once."""

    async def scene(world: World) -> None:
        save(world, "Write", ALLOW)
        row = world.a_running()
        desk = world.desk(row)
        call = write("a.txt", "A")
        async with watching(world):
            await desk.take_turn(a_turn(call))
            assert world.run(row.id).state is RunState.RUNNING
            assert (await desk.ask(WRITE, arguments_of(call))).allowed
            assert (await desk.confirm(WRITE, arguments_of(call))).allowed
            told = await desk.outcome(WRITE, arguments_of(call))
        (done,) = world.approvals(row.id)
        (recorded,) = world.calls(row.id)
        assert (recorded.verdict, recorded.rank, recorded.rule) == (Verdict.ALLOW, 4, "saved_allow")
        assert (done.state, done.effect, done.decided_by) == (_S.DONE, "done", STANDING_YES)
        assert (told.text, told.is_error) == ("Created /workspace/a.txt: 1 bytes written.", False)
        assert recorded.outcome == told.text
        assert (world.cwd / "a.txt").read_text() == "A"
        assert (await desk.outcome(WRITE, arguments_of(call))).is_error

    play(tmp_path, scene, strict=False)


@pytest.mark.parametrize(
    ("profile", "sender"),
    [
        ({"strict": True}, OWNER),
        ({"strict": False}, Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="SHA256:abc")),
    ],
)
def test_a_saved_allow_changes_nothing_in_a_strict_run_or_a_contacts(
    profile: dict[str, bool], sender: Sender, tmp_path: Path
) -> None:
    """C4, C15, P6, invariant 10."""

    async def scene(world: World) -> None:
        save(world, "Write", ALLOW)
        row = world.a_running(sender=sender)
        async with watching(world):
            await desk_of(world, row, sender).take_turn(a_turn(write("a.txt", "A")))
        assert states(world.approvals(row.id)) == [_S.PENDING]
        assert not (world.cwd / "a.txt").exists()

    play(tmp_path, scene, **profile)


@pytest.mark.parametrize("policy", list(Policy))
def test_a_write_never_runs_by_a_policy_alone(policy: Policy, tmp_path: Path) -> None:
    """R70, R71: irreversible writes ask under every policy, strict or not."""

    async def scene(world: World) -> None:
        row = world.a_running()
        async with watching(world):
            await world.desk(row).take_turn(
                a_turn(write("a.txt", "A"), use(EDIT, file_path="in.txt", old_string="INSIDE", new_string="in"))
            )
        assert states(world.approvals(row.id)) == [_S.PENDING, _S.PENDING]

    play(tmp_path, scene, strict=False, policy=policy)


def test_a_standing_yes_that_was_taken_back_before_the_act_is_none(tmp_path: Path) -> None:
    """R138: the next look finds that a person has to be asked, so nothing is done."""

    async def scene(world: World) -> None:
        save(world, "Write", ALLOW)
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt", "A")))
        forget(world, "Write")
        async with watching(world):
            await settled(lambda: states(world.approvals(row.id)) != [_S.APPROVED])
        (ended,) = world.approvals(row.id)
        assert (ended.state, ended.decision_reason) == (
            _S.STALE,
            "the owner's standing yes was taken back before it was carried out",
        )
        assert not (world.cwd / "a.txt").exists()

    play(tmp_path, scene, strict=False)


def test_a_persons_yes_stands_though_the_call_would_only_be_asked_about(tmp_path: Path) -> None:
    """B5: what a person approved is not measured by what runs unasked."""

    async def scene(world: World) -> None:
        save(world, "Write", SavedVerdict.ASK)
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt", "A")))
        (waiting,) = world.approvals(row.id)
        assert (await world.approve(waiting)).state is _S.DONE

    play(tmp_path, scene, strict=False)


def test_what_may_run_and_what_must_be_asked_stand_in_one_turn(tmp_path: Path) -> None:
    """R99, R100: the run is held for the one while the other is done."""

    async def scene(world: World) -> None:
        save(world, "Write", ALLOW)
        row = world.a_running()
        asked = use(EDIT, file_path="in.txt", old_string="INSIDE", new_string="inside")
        async with watching(world):
            await world.desk(row).take_turn(a_turn(write("a.txt", "A"), asked, write("b.txt", "B")))
            await settled(lambda: states(world.approvals(row.id)) == [_S.DONE, _S.PENDING, _S.DONE])
            assert world.run(row.id).state is RunState.HELD
            await world.approve(world.approvals(row.id)[1])
        assert world.run(row.id).state is RunState.RUNNING
        assert (world.cwd / "in.txt").read_text() == "inside\n"

    play(tmp_path, scene, strict=False)


def test_the_calls_of_a_turn_are_carried_out_in_their_order(tmp_path: Path) -> None:
    """B7: one at a time; the second of two for one file finds it changed and says so."""

    async def scene(world: World) -> None:
        save(world, "Write", ALLOW)
        row = world.a_running()
        async with watching(world):
            await world.desk(row).take_turn(a_turn(write("a.txt", "first"), write("b.txt", "B"), write("a.txt", "second")))
            await settled(lambda: {_S.APPROVED, _S.EXECUTING}.isdisjoint(states(world.approvals(row.id))))
        assert states(world.approvals(row.id)) == [_S.DONE, _S.DONE, _S.STALE]
        assert (world.cwd / "a.txt").read_text() == "first"

    play(tmp_path, scene, strict=False)


def test_what_cannot_work_is_refused_and_not_tried(tmp_path: Path) -> None:
    """Issue 5 item 3: a plan that fails is no approval."""

    async def scene(world: World) -> None:
        save(world, "Edit", ALLOW)
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(use(EDIT, file_path="in.txt", old_string="absent", new_string="x")))
        assert world.approvals(row.id) == ()
        assert (world.calls(row.id)[0].verdict, world.calls(row.id)[0].rule) == (Verdict.DENY, "impossible")

    play(tmp_path, scene, strict=False)


def test_a_crash_before_the_act_loses_nothing_and_does_it_once(tmp_path: Path) -> None:
    """B8, invariant 11: the row says approved; whoever starts next carries it out."""

    async def scene(world: World) -> None:
        save(world, "Write", ALLOW)
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt", "A")))
        (left,) = world.approvals(row.id)
        assert left.state is _S.APPROVED
        first, second = await asyncio.gather(world.effects.carry_out(left.id), world.effects.carry_out(left.id))
        assert (first.state, second.state) == (_S.DONE, _S.DONE)
        with world.store.reading() as conn:
            found = conn.exec_driver_sql("SELECT count(*) FROM audit WHERE event = 'approval.execute'").scalar_one()
        assert found == 1

    play(tmp_path, scene, strict=False)


def test_a_row_that_a_person_approved_is_left_to_whoever_carries_that_out(tmp_path: Path) -> None:
    """The watcher takes the owner's standing yes only."""

    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt", "A")))
        (waiting,) = world.approvals(row.id)
        approved_by_hand(world, waiting)
        watcher = StandingYes(store=world.store, effects=world.effects, changes=world.changes)
        assert await watcher._look() is None

    play(tmp_path, scene)


def test_an_asked_read_runs_in_the_container_once_it_is_approved(tmp_path: Path) -> None:
    """R68, C1: under `ask` reads ask too; the supervisor does nothing itself, and the handler has nothing to tell."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = read("in.txt")
        await desk.take_turn(a_turn(call))
        assert world.run(row.id).state is RunState.HELD
        (waiting,) = world.approvals(row.id)
        assert "it changes nothing" in waiting.preview
        asked = asyncio.create_task(desk.ask("Read", arguments_of(call)))
        done = await world.approve(waiting)
        assert (done.state, done.outcome) == (_S.DONE, "Approved; it runs in the container.")
        await settled(asked.done)
        assert asked.result().allowed
        assert (await desk.confirm("Read", arguments_of(call))).allowed
        assert world.approval(waiting.id).delivered_at is not None
        assert not (await desk.confirm("Read", arguments_of(call))).allowed

    play(tmp_path, scene, policy=Policy.ASK)


def test_a_denied_read_does_not_run(tmp_path: Path) -> None:
    """R40 for reads that ask."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        call = read("in.txt")
        await desk.take_turn(a_turn(call))
        asked = asyncio.create_task(desk.ask("Read", arguments_of(call)))
        await world.deny(world.approvals(row.id)[0], "not this one")
        await settled(asked.done)
        assert (asked.result().allowed, "not this one" in asked.result().reason) == (False, True)

    play(tmp_path, scene, policy=Policy.ASK)


def test_an_interrupted_release_of_a_read_is_no_riddle(tmp_path: Path) -> None:
    """B9: it changes nothing, so there is nothing to settle."""

    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(read("in.txt")))
        (waiting,) = world.approvals(row.id)
        executing = begun_by_hand(world, waiting)
        assert (await world.effects.find_out(executing, world.cwd)).state is _S.DONE

    play(tmp_path, scene, policy=Policy.ASK)


def test_a_run_that_was_made_strict_asks_though_its_profile_would_not(tmp_path: Path) -> None:
    """R33: also at the last look before the effect, whatever a call of such a run got by."""

    async def scene(world: World) -> None:
        save(world, "Write", ALLOW)
        loose, strict = world.a_running(), world.a_running(strict=True)
        for row, verdict in ((loose, Verdict.ALLOW), (strict, Verdict.ASK)):
            await world.desk(row).take_turn(a_turn(write("a.txt", row.id)))
            (made,) = world.approvals(row.id)
            assert (await world.effects.judged(made)).decision.verdict is verdict

    play(tmp_path, scene, strict=False)
