"""The warm pool (M12, issue 7): one container serves one run, is what a cold one would be, and nothing odd is ever used."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.captures import to_json as capture_to_json
from runner.errors import AgentProtocolError, SandboxError, StoreError
from runner.lifecycle import RunState
from runner.model import Capture, Sender, SenderKind
from runner.settings import load_settings
from runner.store import VerdictRow, audit, profiles, segments, verdicts
from runner.supervisor.endings import End, Ending
from runner.supervisor.measures import sizes_of
from runner.supervisor.pool import LATELY
from tests.unit.supervisor.waiting import Pooled, hasty, polite
from tests.unit.supervisor.world import ANNA, World, a_turn, play, settled, write

SOON = 10.0


def container_of(world: World, run: Any) -> str | None:
    with world.store.reading() as conn:
        return segments.get(conn, run.id, run.segment, run.attempt).container_id


def events(world: World, *wanted: str) -> list[str]:
    with world.store.reading() as conn:
        return [row.event for row in audit.after(conn, 0, 1000) if row.event in wanted]


def test_a_waiting_container_serves_one_run_under_its_own_fence_and_no_other(tmp_path: Path) -> None:
    """M12, invariant 6: the row ties it to the run with nonce and session; the next run has another container."""

    async def scene(world: World) -> None:
        pooled = Pooled(world)
        first, second = world.a_run(), world.a_run()
        (warm,) = await pooled.fill()
        assert pooled.stage.engine.containers[warm.box.container_id].status == "paused"
        for row in (first, second):
            pooled.stage.conduct(row)
            await pooled.stage.reaches(row, RunState.RUNNING)
        known = world.run(first.id)
        assert (known.nonce, known.session_id) == (warm.nonce, warm.start.session_id)
        used = [container_of(world, row) for row in (first, second)]
        assert used[0] == warm.box.container_id
        assert len({*used, None}) == 3
        assert world.run(second.id).nonce == second.nonce
        await pooled.stage.drain.finish()
        assert pooled.stage.left() == (0, [])
        assert events(world, "pool.fill", "pool.claim", "sandbox.prove") == [
            "pool.fill",
            "pool.claim",
            "sandbox.prove",
            "sandbox.prove",
        ]

    play(tmp_path, scene)


def test_a_waiting_container_has_seen_nothing_and_is_brought_up_to_date_before_it_goes_on(tmp_path: Path) -> None:
    """M12, invariant 10: its snapshot is empty until its run is known; row and files are there before it is unpaused."""

    async def scene(world: World) -> None:
        pooled = Pooled(world)
        row = world.a_run()
        (warm,) = await pooled.fill()
        assert list((warm.folder / "snapshot").iterdir()) == []
        assert list((warm.folder / "gateway").iterdir()) == []
        (world.cwd / "late.txt").write_text("LATE\n")
        held = pooled.stage.engine.pauses["unpause"] = asyncio.Event()
        pooled.stage.conduct(row)
        await settled(lambda: "unpause" in pooled.stage.engine.calls)
        assert container_of(world, row) == warm.box.container_id
        assert (warm.folder / "snapshot" / "late.txt").read_text() == "LATE\n"
        assert (warm.folder / "gateway" / "api.sock").exists()
        held.set()
        await pooled.stage.reaches(row, RunState.RUNNING)
        await pooled.stage.drain.finish()

    play(tmp_path, scene)


def test_a_contacts_run_may_take_one_and_is_strict_in_it(tmp_path: Path) -> None:
    """Invariant 10, M12: it is fresh, and has seen nothing of anybody's."""

    async def scene(world: World) -> None:
        pooled = Pooled(world)
        row = world.a_run(sender=Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="abcd-1234-5678-9abc"))
        (warm,) = await pooled.fill()
        pooled.stage.conduct(row)
        await pooled.stage.reaches(row, RunState.RUNNING)
        assert container_of(world, row) == warm.box.container_id
        assert world.run(row.id).strict
        await pooled.stage.drain.finish()

    play(tmp_path, scene)


def test_a_resumed_run_never_gets_one(tmp_path: Path) -> None:
    """M12: it goes on from its transcript, in a container that was started for that."""

    async def scene(world: World) -> None:
        pooled = Pooled(world)
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt")))
        await world.end(row, End(ending=Ending.PARK, reason="waits"))
        (warm,) = await pooled.fill()
        await world.deny(world.approvals(row.id)[0])
        resumed = world.run(row.id)
        assert (resumed.state, resumed.segment) == (RunState.QUEUED, 1)
        pooled.stage.conduct(resumed)
        await pooled.stage.reaches(resumed, RunState.RUNNING)
        assert container_of(world, resumed) not in {None, warm.box.container_id}
        assert pooled.pool.ready == 1
        await pooled.stage.drain.finish()
        await pooled.pool.start()()
        assert pooled.stage.left() == (0, [])

    play(tmp_path, scene)


def block_read(world: World) -> None:
    with world.store.begin() as conn:
        saved = VerdictRow(agent=world.profile.name, tool="Read", verdict="block", set_by=ANNA, set_at=world.now)
        verdicts.put(conn, saved)


def retire(world: World) -> None:
    with world.store.begin() as conn:
        profiles.retire(conn, world.profile.name, who=ANNA, now=world.now)


def pass_a_day(world: World) -> None:
    world.now += LATELY + 1


def end_its_cli(pooled: Pooled) -> None:
    for container in pooled.stage.engine.containers.values():
        container.end(1)


@pytest.mark.parametrize(
    "change",
    [
        lambda pooled: block_read(pooled.world),
        lambda pooled: retire(pooled.world),
        lambda pooled: pass_a_day(pooled.world),
        lambda pooled: setattr(pooled.stage.engine, "present", replace(pooled.stage.engine.present, id="sha256:" + "9" * 64)),
        lambda pooled: setattr(pooled.clock, "now", pooled.clock.now + 4000),
        lambda pooled: setattr(pooled.pool, "room", lambda: False),
        end_its_cli,
    ],
    ids=["choices", "retired", "unused", "image", "age", "memory", "ended"],
)
def test_what_has_changed_drops_what_waits(tmp_path: Path, change: Callable[[Pooled], None]) -> None:
    """M12: drained on change of profile, choices or image, after a maximum age, and when the host is short of memory."""

    async def scene(world: World) -> None:
        pooled = Pooled(world)
        world.a_run()
        (warm,) = await pooled.fill()
        change(pooled)
        await asyncio.sleep(0.05)
        await pooled.pool.round()
        assert warm.box.container_id not in pooled.stage.engine.containers
        assert not warm.folder.exists()
        assert "pool.drop" in events(world, "pool.drop")
        await pooled.pool.start()()

    play(tmp_path, scene)


def fails_the_second_look(pooled: Pooled) -> None:
    """What the host sees of the waiting container is another thing than it was; a cold one is fine."""
    first, calls = next(iter(pooled.stage.engine.containers)), pooled.stage.engine

    def tampered(described: dict[str, Any]) -> None:
        if described["Id"] == first:
            described["HostConfig"]["Privileged"] = True

    calls.tamper = tampered


def capture_with_the_nonce(pooled: Pooled) -> None:
    """The one text in which the container's nonce must not be found holds it (F4)."""
    (warm,) = pooled.pool._waiting
    pooled.note = f"is it {warm.nonce}?"  # type: ignore[attr-defined]


@pytest.mark.parametrize("spoil", [fails_the_second_look, capture_with_the_nonce], ids=["mismatch", "nonce"])
def test_one_that_cannot_be_used_is_gone_and_its_run_starts_cold(tmp_path: Path, spoil: Callable[[Pooled], None]) -> None:
    """M2, F4: what fails at the claim costs the container and not the run."""

    async def scene(world: World) -> None:
        pooled = Pooled(world)
        row = world.a_run()
        (warm,) = await pooled.fill()
        spoil(pooled)
        if note := getattr(pooled, "note", None):
            _resent(world, row, note)
        pooled.stage.conduct(row)
        await pooled.stage.reaches(row, RunState.RUNNING)
        assert container_of(world, row) not in {None, warm.box.container_id}
        assert warm.box.container_id not in pooled.stage.engine.containers
        assert world.run(row.id).nonce == row.nonce
        await pooled.stage.drain.finish()
        assert pooled.stage.left() == (0, [])

    play(tmp_path, scene)


def test_a_drop_that_cannot_be_written_down_costs_no_run_and_is_on_record_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M2, L7: a full disk at the claim: the container is gone, the run starts cold, the audit has it once there is room."""

    async def scene(world: World) -> None:
        def full(*_args: object, **_more: object) -> None:
            raise StoreError("cannot use the database: disk is full")

        pooled = Pooled(world)
        row = world.a_run()
        await pooled.fill()
        fails_the_second_look(pooled)
        with monkeypatch.context() as broken:
            broken.setattr("runner.supervisor.warm.audit", type("Full", (), {"append": full}))
            pooled.stage.conduct(row)
            await pooled.stage.reaches(row, RunState.RUNNING)
        assert pooled.pool.ready == 0
        assert events(world, "pool.claim", "pool.drop") == []
        await pooled.pool.round()
        assert events(world, "pool.drop") == ["pool.drop"]
        await pooled.stage.drain.finish()
        await pooled.pool.start()()
        assert pooled.stage.left() == (0, [])

    play(tmp_path, scene)


def _resent(world: World, row: Any, note: str) -> None:
    """The run's capture says something else."""
    text = json.dumps(capture_to_json(Capture(agent=world.profile.name, note=note)))
    with world.store.begin() as conn:
        conn.exec_driver_sql("UPDATE captures SET text = ? WHERE id = ?", (text, row.capture))


def test_one_that_speaks_before_it_is_asked_is_not_used(tmp_path: Path) -> None:
    """M12: never-used means that nothing was said either."""

    async def scene(world: World) -> None:
        pooled = Pooled(world)
        pooled.stage.engine.behaviour = hasty
        row = world.a_run()
        pooled.clock.now += SOON
        with pytest.raises(AgentProtocolError):
            await pooled.pool.round()
        assert pooled.stage.left() == (0, [])
        pooled.stage.engine.behaviour = polite
        pooled.stage.conduct(row)
        await pooled.stage.reaches(row, RunState.RUNNING)
        assert world.run(row.id).nonce == row.nonce
        assert events(world, "pool.claim") == []
        await pooled.stage.drain.finish()
        await pooled.pool.start()()
        assert pooled.stage.left() == (0, [])

    play(tmp_path, scene)


def test_a_container_that_cannot_be_unpaused_fails_its_run_as_a_start_would(tmp_path: Path) -> None:
    """Invariant 6: it is the attempt's by its row, so no other may take its place."""

    async def scene(world: World) -> None:
        pooled = Pooled(world)
        row = world.a_run()
        await pooled.fill()
        pooled.stage.engine.faults["unpause"] = SandboxError("cannot unpause the container: the engine refused")
        await pooled.stage.conduct(row)
        assert world.run(row.id).state is RunState.FAILED
        assert pooled.stage.left() == (0, [])

    play(tmp_path, scene)


def test_a_pool_without_a_size_keeps_nothing_and_a_stopped_one_leaves_nothing(tmp_path: Path) -> None:
    """Invariant 11: with `size = 0` there is no pool; at the end nothing waits any more."""

    async def scene(world: World) -> None:
        none = Pooled(world, each=0)
        world.a_run()
        assert await none.fill() == []
        some = none.pool
        some.sizes = replace(some.sizes, each=2, all=3)
        none.clock.now += SOON
        stop = some.start()
        await settled(lambda: some.ready >= 1)
        await stop()
        assert none.stage.left() == (0, [])

    play(tmp_path, scene)


def test_sizes_are_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`RUNNER_POOL`: of each agent, of all, and how old."""
    for name, value in {"SIZE": "2", "TOTAL": "5", "MAX_AGE": "60"}.items():
        monkeypatch.setenv(f"RUNNER_POOL__{name}", value)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    sizes = sizes_of(load_settings())
    assert (sizes.each, sizes.all, sizes.max_age) == (2, 5, 60.0)
