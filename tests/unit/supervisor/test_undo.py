"""Taking effects back: every kind, once more, after the run has ended, and never over what somebody did since (issue 5)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner import approvals
from runner.gateway import ToolUse
from runner.lifecycle import RunEvent, RunState
from runner.model import Attempt
from runner.store import audit, runs
from runner.supervisor.endings import End, Ending
from runner.supervisor.live import LiveSegment
from tests.helpers.stored import BEN
from tests.unit.supervisor.acting import held
from tests.unit.supervisor.undoing import FOLDER, TOOLS, done, tree, undone, undos
from tests.unit.supervisor.world import EDIT, World, play, use, write

NOTEBOOK = {"cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["one"]}], "metadata": {}}
IPYNB = json.dumps(NOTEBOOK | {"nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


@pytest.mark.parametrize(
    "call",
    [
        write("in.txt", "changed"),
        write("new.txt", "new"),
        write("x/y/new.txt", "deep"),
        use(EDIT, file_path="in.txt", old_string="INSIDE", new_string="2"),
        use("mcp__runner__NotebookEdit", notebook_path="n.ipynb", cell_id="a", new_source="two"),
        use("mcp__runner__NotebookEdit", notebook_path="n.ipynb", new_source="", edit_mode="delete", cell_id="a"),
        use(FOLDER, path="dir"),
        use(FOLDER, path="x/y/dir"),
    ],
    ids=lambda one: f"{one.name.removeprefix('mcp__runner__')} {next(iter(json.loads(one.raw).values()))}",
)
def test_every_kind_of_effect_is_taken_back_done_again_and_taken_back_again(tmp_path: Path, call: ToolUse) -> None:
    """An undo is an effect, and undoable; nothing is left behind, and nothing is lost of what was there."""

    async def scene(world: World) -> None:
        (world.cwd / "n.ipynb").write_text(IPYNB)
        (world.cwd / "in.txt").chmod(0o640)
        before = tree(world.cwd)
        row = await done(world, call)
        after = tree(world.cwd)
        assert before != after
        first = await undone(world, row.id)
        assert tree(world.cwd) == before
        again = await undone(world, first.id)
        assert tree(world.cwd) == after
        await undone(world, again.id)
        assert tree(world.cwd) == before

    play(tmp_path, scene, tools=TOOLS)


def test_an_undo_is_on_record_like_every_other_effect(tmp_path: Path) -> None:
    """A2: who asked for it, what it was bound to, that it began and how it ended; the history of both names the other."""

    async def scene(world: World) -> None:
        row = await done(world)
        undo = await undone(world, row.id)
        assert (undo.tool, undo.why, undo.run, undo.agent, undo.turn) == ("Undo", "undo", row.run, row.agent, 0)
        assert (undo.decided_by, undo.outcome, undo.outcome_error) == (BEN, "Removed /workspace/a.txt.", False)
        assert (undo.pre_images, undo.post_image) == ({"/workspace/a.txt": row.post_image}, "absent")
        assert undo.preview == "--- /workspace/a.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-A\n\\ No newline at end of file\n"
        assert undo.approval_digest.startswith("sha256:")
        assert approvals.fits(undo)
        with world.store.reading() as conn:
            events = [one.event for one in audit.of_subject(conn, undo.id)]
            told = [json.loads(one.data) for one in audit.of_subject(conn, row.id) if one.event == "approval.undo"]
            assert audit.verify(conn) is None
        assert events == ["approval.request", "approval.approve", "approval.execute", "approval.succeed"]
        assert told == [{"undo": undo.id, "by": {"uid": BEN.uid, "channel": BEN.channel, "name": None}}]
        assert [(call.tool, call.turn, call.rule, call.outcome) for call in world.calls(row.run)] == [
            ("Write", 1, "not_covered", "Created /workspace/a.txt: 1 bytes written."),
            ("Undo", 0, "undo", "Removed /workspace/a.txt."),
        ]

    play(tmp_path, scene)


def test_a_plan_says_what_would_change_and_changes_nothing(tmp_path: Path) -> None:
    """`runner undo --dry-run`."""

    async def scene(world: World) -> None:
        row = await done(world, use(EDIT, file_path="in.txt", old_string="INSIDE", new_string="2"))
        assert await undos(world).plan(row.id) == {
            "undoes": row.id,
            "tool": "Edit",
            "run": row.run,
            "agent": row.agent,
            "paths": [{"asked": "/workspace/in.txt", "resolved": "/workspace/in.txt"}],
            "summary": "write 7 bytes to /workspace/in.txt (replaces 2 bytes)",
            "preview": "--- /workspace/in.txt\n+++ /workspace/in.txt\n@@ -1,1 +1,1 @@\n-2\n+INSIDE\n",
            "warnings": [],
        }
        assert (world.cwd / "in.txt").read_text() == "2\n"
        assert [one.tool for one in world.approvals(row.run)] == ["Edit"]

    play(tmp_path, scene)


@pytest.mark.parametrize("ending", [Ending.CANCEL, Ending.FAIL])
def test_it_works_after_the_run_has_ended_and_its_container_is_gone(tmp_path: Path, ending: Ending) -> None:
    async def scene(world: World) -> None:
        row = await done(world)
        await world.end(world.run(row.run), End(ending=ending, reason="over"))
        ended = world.run(row.run)
        await undone(world, row.id)
        assert not (world.cwd / "a.txt").exists()
        assert (world.run(row.run), world.queued) == (ended, [])

    play(tmp_path, scene)


def test_a_run_that_waits_goes_on_waiting_and_its_live_container_sees_the_undo(tmp_path: Path) -> None:
    """The snapshot gets what is taken back, directories too; the run is neither released nor parked by it."""

    async def scene(world: World) -> None:
        row, (first, second) = await held(world, write("x/y/a.txt", "A"), write("b.txt", "B"))
        snapshot = tmp_path / "snapshot"
        snapshot.mkdir()
        world.live.add(LiveSegment(attempt=Attempt(row.id, 0, 0), snapshot=snapshot))
        await world.approve(first)
        assert (snapshot / "x/y/a.txt").read_text() == "A"
        undo = await undone(world, first.id)
        assert list(snapshot.iterdir()) == []
        await undone(world, undo.id)
        assert (snapshot / "x/y/a.txt").read_text() == "A"
        assert world.run(row.id).state is RunState.HELD
        await world.approve(second)
        assert (world.run(row.id).state, world.queued) == (RunState.RUNNING, [])

    play(tmp_path, scene)


def test_a_directory_that_is_made_shows_in_the_live_snapshot(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row, (waiting,) = await held(world, use(FOLDER, path="x/dir"))
        snapshot = tmp_path / "snapshot"
        snapshot.mkdir()
        world.live.add(LiveSegment(attempt=Attempt(row.id, 0, 0), snapshot=snapshot))
        assert (await world.approve(waiting)).outcome == "Created the directory /workspace/x/dir."
        assert (snapshot / "x/dir").is_dir()
        assert list((world.cwd / "x/dir").iterdir()) == []

    play(tmp_path, scene, tools=TOOLS)


def test_a_parked_run_goes_on_with_its_own_calls_only(tmp_path: Path) -> None:
    """An undo is no call of a turn: it neither holds a parked run up nor sets it going."""

    async def scene(world: World) -> None:
        row, (first, second) = await held(world, write("a.txt", "A"), write("b.txt", "B"))
        await world.approve(first)
        with world.store.begin() as conn:
            runs.move(conn, row.id, RunEvent.PARK, now=world.now)
        await undone(world, first.id)
        assert (world.run(row.id).state, world.queued) == (RunState.PARKED, [])
        await world.approve(second)
        assert world.queued == [Attempt(row.id, 1, 0)]

    play(tmp_path, scene)
