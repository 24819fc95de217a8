"""What a new supervisor makes of a dead one's rows: every state of a run with every state of a call (invariants 4, 11)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runner import approvals
from runner.errors import SandboxUnavailableError
from runner.lifecycle import RUN_ENDS, ApprovalEvent, ApprovalState, RunEvent, RunState
from runner.model import Attempt
from runner.sandbox.launch import STATE_LABEL
from runner.store import ApprovalRow, RunRow, runs, segments
from runner.supervisor.endings import End, Ending
from runner.supervisor.recovery import MAX_SEGMENTS, Recovery
from tests.helpers.fake_engine import FakeEngine
from tests.helpers.stored import ANNA
from tests.unit.supervisor.world import World, a_turn, play, read, write

_R, _S = RunState, ApprovalState
OWNER = "mine"


def recovery(world: World, engine: FakeEngine | None = None) -> Recovery:
    attempts = world.folder / "attempts"
    attempts.mkdir(exist_ok=True)
    return Recovery(
        store=world.store,
        engine=engine or FakeEngine(),  # type: ignore[arg-type]
        effects=world.effects,
        endings=world.endings,
        owner=OWNER,
        attempts=attempts,
        clock=world.clock,
        enqueue=world.enqueue,
    )


async def in_state(world: World, state: RunState, *, gated: bool) -> RunRow:
    """A run that was brought to a state, with a pending call where `gated`."""
    if state is _R.QUEUED:
        return world.a_run()
    if state is _R.STARTING:
        row = world.a_run()
        with world.store.begin() as conn:
            world.endings.claim(conn, Attempt(row.id, 0, 0))
            segments.insert(conn, segments.SegmentRow(run=row.id, segment=0, attempt=0, created=world.now))
        return world.run(row.id)
    row = world.a_running()
    await world.desk(row).take_turn(a_turn(write("in.txt", "AFTER\n") if gated else read("in.txt")))
    ends = {
        _R.PARKED: End(ending=Ending.PARK, wait=not gated),
        _R.FAILED: End(ending=Ending.FAIL, reason="x"),
        _R.CANCELLED: End(ending=Ending.CANCEL, reason="x"),
        _R.REPLIED: End(ending=Ending.REPLY, reply="x"),
    }
    if state is _R.REPLIED and gated:
        with world.store.begin() as conn:
            runs.move(conn, row.id, RunEvent.RELEASE, now=world.now)
    if state in ends:
        await world.end(row, ends[state])
    found = world.run(row.id)
    assert found.state is state
    return found


def brought_to(world: World, row: ApprovalRow, what: str) -> None:
    """Take a pending approval as far as a crash found it; `executing` with what the disk says."""
    with world.store.begin() as conn:
        if what == "denied":
            approvals.deny(conn, row.id, who=ANNA, now=world.now)
        if what in ("pending", "denied"):
            return
        approvals.approve(conn, row.id, digest=row.approval_digest, who=ANNA, now=world.now)
        if what == "approved":
            return
        approvals.begin_effect(conn, row.id, now=world.now)
        if what == "unknown":
            approvals.finish_effect(conn, row.id, event=ApprovalEvent.DOUBT, outcome="?", now=world.now)
        if what == "done":
            approvals.finish_effect(conn, row.id, event=ApprovalEvent.SUCCEED, outcome="Done.", now=world.now)
    if what in ("post", "other", "done"):
        (world.cwd / "in.txt").write_text("SOMETHING ELSE\n" if what == "other" else "AFTER\n")


#: What the crash found → the approval afterwards, and whether its run can go on.
CALLS = {
    "pending": (_S.PENDING, False),
    "approved": (_S.DONE, True),
    "pre": (_S.DONE, True),
    "post": (_S.DONE, True),
    "other": (_S.UNKNOWN, False),
    "unknown": (_S.UNKNOWN, False),
    "done": (_S.DONE, True),
    "denied": (_S.DENIED, True),
}


@pytest.mark.parametrize(
    ("state", "what"),
    # A call that ends lets its parked run go on in the same transaction: no crash leaves the two apart.
    [(state, what) for state in (_R.HELD, _R.PARKED) for what in CALLS if state is _R.HELD or what not in ("done", "denied")],
)
def test_a_waiting_run_keeps_its_calls_and_goes_on_when_it_can(tmp_path: Path, state: RunState, what: str) -> None:
    """L6, M8: every approval is still listed, what was approved is carried out once, and the disk decides (B9)."""
    approval, goes_on = CALLS[what]

    async def scene(world: World) -> None:
        row = await in_state(world, state, gated=True)
        (waiting,) = world.approvals(row.id)
        brought_to(world, waiting, what)
        await recovery(world).run()
        assert world.approval(waiting.id).state is approval
        assert (world.cwd / "in.txt").read_text() == {
            "pending": "INSIDE\n",
            "denied": "INSIDE\n",
            "unknown": "INSIDE\n",
            "other": "SOMETHING ELSE\n",
        }.get(what, "AFTER\n")
        check(world, row, goes_on=goes_on)

    play(tmp_path, scene)


def check(world: World, row: RunRow, *, goes_on: bool) -> None:
    """Parked or queued; queued under the very attempt that the row names, once; nothing open is left."""
    after = world.run(row.id)
    assert after.state is (_R.QUEUED if goes_on else _R.PARKED)
    assert world.queued == ([Attempt(row.id, after.segment, after.attempt)] if goes_on else [])
    with world.store.reading() as conn:
        assert segments.open_attempts(conn) == ()
    if goes_on:
        assert (after.segment, after.attempt) > (row.segment, row.attempt)


@pytest.mark.parametrize("state", [_R.QUEUED, _R.STARTING, _R.RUNNING])
def test_a_run_without_calls_is_queued_again_under_an_attempt_of_its_own(tmp_path: Path, state: RunState) -> None:
    """What the dead supervisor's queue still holds is stale."""

    async def scene(world: World) -> None:
        row = await in_state(world, state, gated=False)
        await recovery(world).run()
        check(world, row, goes_on=True)

    play(tmp_path, scene)


@pytest.mark.parametrize("state", sorted(RUN_ENDS - {_R.LOST}, key=lambda state: state.value))
@pytest.mark.parametrize("gated", [True, False])
def test_an_ended_run_is_left_as_it_is(tmp_path: Path, state: RunState, gated: bool) -> None:
    async def scene(world: World) -> None:
        row = await in_state(world, state, gated=gated)
        before = (world.run(row.id), world.approvals(row.id))
        await recovery(world).run()
        assert (world.run(row.id), world.approvals(row.id), world.queued) == (*before, [])

    play(tmp_path, scene)


def test_an_effect_of_a_stopped_run_is_still_put_on_record(tmp_path: Path) -> None:
    """It was begun before the stop; what it did is true whoever asks for it."""

    async def scene(world: World) -> None:
        row = await in_state(world, _R.HELD, gated=True)
        (waiting,) = world.approvals(row.id)
        brought_to(world, waiting, "post")
        await world.end(row, End(ending=Ending.CANCEL, reason="stopped"))
        await recovery(world).run()
        assert (world.approval(waiting.id).state, world.run(row.id).state) == (_S.DONE, _R.CANCELLED)

    play(tmp_path, scene)


def test_a_reply_the_model_had_given_is_the_runs_reply(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(text="All done."))
        await recovery(world).run()
        assert (world.run(row.id).state, world.run(row.id).reply) == (_R.REPLIED, "All done.")

    play(tmp_path, scene)


def test_a_run_that_is_interrupted_in_every_container_is_given_up(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row, other = world.a_running(segment=MAX_SEGMENTS), world.a_running(segment=MAX_SEGMENTS)
        await world.desk(other).take_turn(a_turn(read("in.txt")))
        await recovery(world).run()
        found = world.run(row.id)
        assert (found.state, found.reason) == (_R.FAILED, f"interrupted in {MAX_SEGMENTS} containers in a row")
        assert world.run(other.id).state is _R.QUEUED

    play(tmp_path, scene)


def test_recovering_twice_changes_nothing_more_than_the_attempt(tmp_path: Path) -> None:
    """A crash within recovery, or right after it."""

    async def scene(world: World) -> None:
        held = await in_state(world, _R.HELD, gated=True)
        running = await in_state(world, _R.RUNNING, gated=False)
        await recovery(world).run()
        first = (world.run(held.id), world.approvals(held.id))
        await recovery(world).run()
        assert (world.run(held.id), world.approvals(held.id)) == first
        again = world.run(running.id)
        assert (again.state, again.segment) == (_R.QUEUED, 1)
        assert world.queued[-1] == Attempt(running.id, again.segment, again.attempt)

    play(tmp_path, scene)


def test_a_call_that_cannot_be_taken_up_does_not_keep_the_supervisor_from_starting(tmp_path: Path) -> None:
    """One poisoned row is no reason for all runs to stay away."""

    async def scene(world: World) -> None:
        bad, good = await in_state(world, _R.HELD, gated=True), world.a_running()
        await world.desk(good).take_turn(a_turn(write("good.txt")))
        for row in (bad, good):
            brought_to(world, world.approvals(row.id)[0], "approved")
        with world.store.begin() as conn:
            conn.exec_driver_sql(
                "CREATE TRIGGER stuck BEFORE UPDATE ON approvals WHEN NEW.state = 'executing' AND NEW.id = "
                f"'{world.approvals(bad.id)[0].id}' BEGIN SELECT RAISE(ABORT, 'stuck'); END"
            )
        await recovery(world).run()
        assert [world.approvals(row.id)[0].state for row in (bad, good)] == [_S.APPROVED, _S.DONE]

    play(tmp_path, scene)


# --- leftovers --------------------------------------------------------------------------------------------------------------


async def a_container(engine: FakeEngine, owner: str) -> str:
    return await engine.create({"Labels": {STATE_LABEL: owner}, "HostConfig": {"Mounts": [], "Tmpfs": {}}, "Image": "x"})


def test_containers_and_folders_of_the_dead_are_removed_and_nobody_elses(tmp_path: Path) -> None:
    """Case 97, invariant 11."""

    async def scene(world: World) -> None:
        engine = FakeEngine()
        await a_container(engine, OWNER)
        other = await a_container(engine, "another supervisor")
        left = world.folder / "attempts" / "r_x-0-0" / "snapshot"
        left.mkdir(parents=True)
        await recovery(world, engine).run()
        assert list(engine.containers) == [other]
        assert list((world.folder / "attempts").iterdir()) == []

    play(tmp_path, scene)


def test_without_an_engine_rows_are_recovered_all_the_same(tmp_path: Path) -> None:
    """Issue 3, bad input: an engine that is away loses nothing."""

    async def scene(world: World) -> None:
        engine = FakeEngine()
        engine.faults["find"] = SandboxUnavailableError("the engine does not answer")
        row = await in_state(world, _R.HELD, gated=True)
        await recovery(world, engine).run()
        check(world, row, goes_on=False)

    play(tmp_path, scene)


def test_the_containers_are_gone_before_anything_is_carried_out(tmp_path: Path) -> None:
    """Two containers of one run must never be alive at once."""

    async def scene(world: World) -> None:
        engine = FakeEngine()
        await a_container(engine, OWNER)
        row = await in_state(world, _R.HELD, gated=True)
        brought_to(world, world.approvals(row.id)[0], "approved")
        seen: list[int] = []
        look: Callable[[], None] = lambda: seen.append(len(engine.containers))  # noqa: E731
        carry_out = world.effects.carry_out

        async def watched(approval: object) -> ApprovalRow:
            look()
            return await carry_out(approval)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(world.effects, "carry_out", watched)
            await recovery(world, engine).run()
        assert seen == [0]

    play(tmp_path, scene)
