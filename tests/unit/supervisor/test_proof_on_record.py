"""What was found to be in force, or not, is on record with its attempt (M2, invariant 6)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from runner.lifecycle import RunState
from runner.store import audit
from tests.unit.supervisor.conducting import Stage
from tests.unit.supervisor.world import World, play


def rows(world: World, run: str, event: str) -> list[dict[str, object]]:
    with world.store.reading() as conn:
        return [
            row.data if isinstance(row.data, dict) else json.loads(row.data)
            for row in audit.of_subject(conn, run)
            if row.event == event
        ]


def test_a_container_that_is_not_what_was_asked_fails_its_run_and_is_on_record(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        stage = Stage(world)
        stage.engine.tamper_look = lambda seen: replace(seen, devices=frozenset({"lo", "eth0"}))
        row = world.a_run()
        await stage.conduct(row)
        assert world.run(row.id).state is RunState.FAILED
        (facts,) = rows(world, row.id, "sandbox.mismatch")
        assert (facts["segment"], facts["attempt"]) == (row.segment, row.attempt)
        assert "host: network device" in str(facts["found"])
        assert rows(world, row.id, "sandbox.prove") == []
        assert stage.left() == (0, [])

    play(tmp_path, scene)


def test_a_proven_container_is_on_record_with_the_digest_on_its_label(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        stage = Stage(world)
        row = world.a_run()
        stage.conduct(row)
        await stage.reaches(row, RunState.RUNNING)
        (container,) = stage.engine.containers.values()
        assert rows(world, row.id, "sandbox.prove") == [
            {"segment": row.segment, "attempt": row.attempt, "spec": container.body["Labels"]["runner.spec"], "unseen": []}
        ]
        await stage.drain.finish()

    play(tmp_path, scene)
