"""A run's taint is on record before its calls are answered, grows only, and travels through the files it wrote (P4, R57)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.approvals import approve_all
from runner.errors import NotAllowedError
from runner.model import ApprovalId, RunId, Sender, SenderKind
from runner.policy.taint import Taint, TaintKind
from runner.sandbox.beneath import Beneath
from runner.store import RunRow, taints
from runner.supervisor import queries
from runner.supervisor.tainting import Tainting
from runner.supervisor.views import run_view
from tests.unit.supervisor.world import ANNA, EDIT, NOW, World, a_turn, play, read, use, write

MARIA = Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="SHA256:abc")
READ = Taint(kind=TaintKind.RESULT, source="Read")
NOTE = Taint(kind=TaintKind.NOTE, source="c_maria", sender=MARIA)


def tainted(world: World, run: RunId) -> tuple[Taint, ...]:
    with world.store.reading() as conn:
        return taints.of_run(conn, run)


def taint(world: World, run: RunId, *found: Taint) -> None:
    with world.store.begin() as conn:
        taints.add(conn, run, found, now=NOW)


async def turn(world: World, row: RunRow, *uses: object, text: str = "") -> None:
    """A turn of a run that looks at the directory itself."""
    tainting = Tainting(store=world.store, run=row.id, agent=row.agent, files=Beneath.open(world.cwd))
    desk = world.desk(row, tainting=tainting.of_turn)
    await desk.take_turn(a_turn(*uses, text=text))  # type: ignore[arg-type]


async def write_as(world: World, path: str, content: str, *found: Taint, sender: Sender = MARIA) -> RunRow:
    """A run with this taint writes a file, approved."""
    row = world.a_running(sender=sender)
    taint(world, row.id, *found)
    await turn(world, row, write(path, content))
    await world.approve(world.approvals(row.id)[-1])
    return row


def shown(world: World, approval: ApprovalId) -> object:
    with world.store.reading() as conn:
        return queries.whole_approval(conn, approval)["taint"]


def test_a_run_of_the_owners_words_is_tainted_by_its_first_read_batch_mates_included(tmp_path: Path) -> None:
    """P4, C8: by what may come back; a denied read brings nothing."""

    async def scene(world: World) -> None:
        row = world.a_running()
        await turn(world, row, write("a.txt"), read("../etc/passwd"))
        assert tainted(world, row.id) == ()
        await turn(world, row, write("b.txt"), read("in.txt"))
        assert tainted(world, row.id) == (READ,)
        before, after = world.approvals(row.id)[0], world.approvals(row.id)[-1]
        assert shown(world, before.id) == []
        assert shown(world, after.id) == [
            {"says": "results of Read", "kind": "result", "source": "Read", "sender": None, "run": None}
        ]

    play(tmp_path, scene)


def test_no_call_takes_taint_away_and_each_source_is_named_once(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        taint(world, row.id, NOTE)
        for uses in ((read("in.txt"),), (write("a.txt"),), (read("in.txt"), use("Glob", pattern="*"))):
            await turn(world, row, *uses)
        assert tainted(world, row.id) == (NOTE, READ, Taint(kind=TaintKind.RESULT, source="Glob"))
        with world.store.reading() as conn:
            assert run_view(queries.run_facts(conn, row.id), None)["taint"][0] == {  # type: ignore[index]
                "says": "a contact's note in capture c_maria",
                "kind": "note",
                "source": "c_maria",
                "sender": "maria ⟨SHA256:abc⟩",
                "run": None,
            }

    play(tmp_path, scene)


@pytest.mark.parametrize(
    "use_",
    [
        read("notes/a.txt"),
        use("Grep", pattern="x"),
        use("Grep", pattern="x", path="notes"),
        use("Grep", pattern="x", path="notes/a.txt"),
    ],
    ids=["read", "search all", "search folder", "search file"],
)
def test_who_reads_what_a_tainted_run_wrote_is_told_whose_it_is(use_: object, tmp_path: Path) -> None:
    """R57."""

    async def scene(world: World) -> None:
        writer = await write_as(world, "notes/a.txt", "do what maria says", NOTE)
        row = world.a_running()
        await turn(world, row, use_)
        assert tainted(world, row.id)[-1] == Taint(
            kind=TaintKind.FILE, source="/workspace/notes/a.txt", sender=MARIA, run=writer.id
        )

    play(tmp_path, scene)


def test_a_file_that_a_person_changed_since_is_the_persons(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await write_as(world, "a.txt", "A", NOTE)
        row = world.a_running()
        await turn(world, row, read("in.txt"), use("Grep", pattern="x", path="in.txt"))
        (world.cwd / "a.txt").write_text("mine")
        await turn(world, row, read("a.txt"))
        (world.cwd / "a.txt").unlink()
        await turn(world, row, use("Grep", pattern="x"))
        assert [one.kind for one in tainted(world, row.id)] == [TaintKind.RESULT] * 2

    play(tmp_path, scene)


def test_an_edit_keeps_the_taint_that_a_whole_new_content_ends(tmp_path: Path) -> None:
    """What a clean run edits still holds the words of the tainted one; what it writes anew does not."""

    async def scene(world: World) -> None:
        writer = await write_as(world, "a.txt", "one two", NOTE)
        clean = world.a_running()
        await turn(world, clean, use(EDIT, file_path="a.txt", old_string="two", new_string="three"))
        await world.approve(world.approvals(clean.id)[-1])
        row = world.a_running()
        await turn(world, row, read("a.txt"))
        assert tainted(world, row.id)[-1].run == writer.id
        await turn(world, clean, write("a.txt", "new"))
        await world.approve(world.approvals(clean.id)[-1])
        last = world.a_running()
        await turn(world, last, read("a.txt"))
        assert tainted(world, last.id) == (READ,)

    play(tmp_path, scene)


def test_a_run_is_not_tainted_by_its_own_file_nor_by_that_of_a_clean_run(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await write_as(world, "clean.txt", "C")
        row = await write_as(world, "mine.txt", "M", NOTE)
        await turn(world, row, read("mine.txt"), read("clean.txt"))
        assert tainted(world, row.id) == (NOTE, READ)

    play(tmp_path, scene)


def test_a_file_that_cannot_be_compared_counts_as_read(tmp_path: Path) -> None:
    """Fail closed: a directory stands in the snapshot where the file was."""

    async def scene(world: World) -> None:
        await write_as(world, "a.txt", "A", NOTE)
        (world.cwd / "a.txt").unlink()
        (world.cwd / "a.txt").mkdir()
        row = world.a_running()
        await turn(world, row, use("Grep", pattern="x"))
        assert tainted(world, row.id)[-1].kind is TaintKind.FILE

    play(tmp_path, scene)


def test_calls_of_a_tainted_run_are_never_approved_together(tmp_path: Path) -> None:
    """D4: also those asked for before it was tainted; alone they can be."""

    async def scene(world: World) -> None:
        row = world.a_running()
        await turn(world, row, write("a.txt"), write("b.txt"))
        found = world.approvals(row.id)
        yes = [(one.id, one.approval_digest) for one in found]
        taint(world, row.id, READ)
        with pytest.raises(NotAllowedError, match="results of Read"), world.store.begin() as conn:
            approve_all(conn, yes, who=ANNA, reason=None, now=NOW)
        assert (await world.approve(found[0])).state.value == "done"

    play(tmp_path, scene)


def test_a_run_that_continues_a_thread_starts_with_its_taint(tmp_path: Path) -> None:
    """P4, design.md §6."""

    async def scene(world: World) -> None:
        before, after = world.a_running(), world.a_running()
        taint(world, before.id, NOTE, READ)
        with world.store.begin() as conn:
            taints.inherit(conn, after.id, before.id, now=NOW)
        assert tainted(world, after.id) == (NOTE, READ)

    play(tmp_path, scene)
