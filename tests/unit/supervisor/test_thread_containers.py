"""The container of a run that continues a thread: made for it, never one that waited, with the transcript and all fences."""

from __future__ import annotations

import json
from pathlib import Path

from runner.fence import system_rule
from runner.lifecycle import RunEvent, RunState
from runner.store import RunRow, runs, segments, threads
from runner.store.threads import Part, ThreadRow
from tests.unit.supervisor.waiting import Pooled
from tests.unit.supervisor.world import World, play


def threaded(world: World) -> tuple[RunRow, RunRow]:
    """A run that replied, and one that continues it."""
    first, second = world.a_run(), world.a_run(nonce="1" * 32)
    row = ThreadRow(name="taxes", agent=first.agent, profile_digest=first.profile_digest, created=world.now)
    with world.store.begin() as conn:
        threads.insert(conn, row)
        threads.join(conn, first.capture, Part("taxes", None), now=world.now)
        for event in (RunEvent.CLAIM, RunEvent.START):
            runs.move(conn, first.id, event, now=world.now)
        runs.move(conn, first.id, RunEvent.REPLY, now=world.now, reply="HELLO.")
        threads.join(conn, second.capture, Part("taxes", first.id), now=world.now)
    return first, second


def test_a_run_that_continues_has_a_container_of_its_own_with_the_words_so_far(tmp_path: Path) -> None:
    """Invariant 6: the one that waits stays for a run that begins; what was said is in a file that only this one is given."""

    async def scene(world: World) -> None:
        pooled = Pooled(world)
        first, second = threaded(world)
        (warm,) = await pooled.fill()
        pooled.stage.conduct(second)
        await pooled.stage.reaches(second, RunState.RUNNING)
        with world.store.reading() as conn:
            container = segments.get(conn, second.id, 0, 0).container_id
        assert container not in {None, warm.box.container_id}
        assert (pooled.pool.ready, pooled.stage.engine.containers[warm.box.container_id].status) == (1, "paused")
        (transcript,) = pooled.stage.attempts.glob(f"{second.id}-0-0/session/*.jsonl")
        assert transcript.stem == second.session_id
        said = [json.loads(line)["message"]["content"][0]["text"] for line in transcript.read_text().splitlines()]
        assert said[-1] == "HELLO."
        argv = pooled.stage.engine.containers[container or ""].body["Cmd"]
        assert f"--resume={second.session_id}" in argv
        (prompt,) = [word for word in argv if word.startswith("--system-prompt=")]
        assert prompt.endswith(system_rule(second.nonce or "", [first.nonce or ""]))
        await pooled.stage.drain.finish()
        assert [folder.name for folder in pooled.stage.attempts.iterdir()] == [warm.folder.name]
        await warm.discard()

    play(tmp_path, scene)
