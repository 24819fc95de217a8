"""D2: an edited call is judged, planned, shown and carried out anew; what was proposed is never dispatched once edited."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from runner.errors import (
    AlreadyDecidedError,
    ApprovalExpiredError,
    DigestMismatchError,
    NotAllowedError,
    PausedError,
    RunnerError,
    UsageError,
)
from runner.lifecycle import ApprovalState
from runner.model import Policy
from runner.policy import SavedVerdict
from runner.store import pausing
from runner.supervisor import acts
from runner.supervisor.undo import Undos
from tests.unit.supervisor.acting import gate, held
from tests.unit.supervisor.choosing import save
from tests.unit.supervisor.editing import approved, planned, text
from tests.unit.supervisor.world import ANNA, EDIT, NOW, WRITE, World, a_turn, arguments_of, both, play, read, use, write

_S = ApprovalState
EDITED = text(file_path="b.txt", content="B")


def test_the_edited_call_is_carried_out_and_the_proposed_one_is_not(tmp_path: Path) -> None:
    """D2, three records: what was proposed, who decided, what was carried out."""

    async def scene(world: World) -> None:
        row, (waiting,) = await held(world)
        shown = await planned(world, waiting, EDITED)
        assert (world.approval(waiting.id), sorted(world.cwd.iterdir())) == (waiting, [world.cwd / "in.txt"])
        found = await approved(world, waiting, EDITED, digest=str(shown["digest"]))
        done = world.approval(waiting.id)
        assert (done.state, done.raw, done.decided_by) == (_S.DONE, waiting.raw, ANNA)
        assert (done.effective.raw, done.edit and done.edit.by) == (EDITED, ANNA)
        assert ((world.cwd / "b.txt").read_text(), (world.cwd / "a.txt").exists()) == ("B", False)
        assert (found["state"], found["input"], found["edited_by"]) == ("done", json.loads(EDITED), "anna")
        assert (found["digest"], found["digest"] != waiting.approval_digest) == (shown["digest"], True)
        (call,) = world.calls(row.id)
        assert (call.raw, "A person changed this call" in (call.outcome or "")) == (waiting.raw, True)

    play(tmp_path, scene)


def test_the_plan_shows_what_was_proposed_what_would_be_done_and_the_difference(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        shown = await planned(world, waiting, text(file_path="in.txt", content="A\n"))
        assert shown["input"] == {"file_path": "in.txt", "content": "A\n"}
        assert shown["proposed"] == {
            "input": {"file_path": "a.txt", "content": "A"},
            "raw": waiting.raw,
            "digest": waiting.approval_digest,
            "call_digest": waiting.call_digest,
            "preview": waiting.preview,
        }
        effective = shown["effective"]
        assert isinstance(effective, dict)
        assert (effective["digest"], effective["call_digest"]) == (shown["digest"], shown["call_digest"])
        assert "-INSIDE" in str(shown["preview"])
        assert "--- file_path\n+++ file_path\n@@ -1,1 +1,1 @@\n-a.txt\n" in str(shown["edit_diff"])
        assert "--- content\n+++ content\n" in str(shown["edit_diff"])
        unedited = (await planned(world, waiting, EDITED)) | {"digest": None}
        assert unedited["paths"] == [{"asked": "b.txt", "resolved": "/workspace/b.txt"}]

    play(tmp_path, scene)


_REFUSED: tuple[tuple[str, type[RunnerError], str], ...] = (
    (text(file_path="../x", content="x"), NotAllowedError, "outside"),
    (text(file_path="/etc/passwd", content="x"), NotAllowedError, "outside"),
    (text(file_path=".git/hooks/x", content="x"), NotAllowedError, "protected"),
    (text(file_path=".env", content="x"), NotAllowedError, "hide"),
    (text(file_path="a.txt"), UsageError, "content is missing"),
    (text(file_path="a.txt", content="x", mode="0777"), UsageError, "does not take"),
    (text(file_path="a.txt", content=5), UsageError, "must be a JSON string"),
    ('{"file_path":"a.txt","content":"x","content":"y"}', UsageError, "every reader reads alike"),
    ("no json", UsageError, "malformed"),
    ("[]", UsageError, "malformed"),
    (text(file_path="in.txt/x", content="x"), RunnerError, "cannot edit"),
    (text(file_path="a.txt", content="A"), UsageError, "changes nothing"),
    (text(file_path="a.txt", content="x" * 300_000), UsageError, "256 KiB"),
)


def test_an_edit_is_held_to_the_rules_of_a_proposal(tmp_path: Path) -> None:
    """D2: schema, confinement, policy; nothing is released, nothing is stored, the call waits as it was proposed."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        for raw, error, says in _REFUSED:
            with pytest.raises(error, match=says):
                await planned(world, waiting, raw)
            with pytest.raises(error, match=says):
                await approved(world, waiting, raw, digest=waiting.approval_digest)
        assert (world.approval(waiting.id), sorted(world.cwd.iterdir())) == (waiting, [world.cwd / "in.txt"])

    play(tmp_path, scene, hide=(".env*",))


def test_an_edit_that_cannot_work_is_not_asked_about(tmp_path: Path) -> None:
    """Issue 5 item 3: what a pre-flight knows must fail."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world, use(EDIT, file_path="in.txt", old_string="INSIDE", new_string="x"))
        with pytest.raises(UsageError, match="old_string"):
            await planned(world, waiting, text(file_path="in.txt", old_string="nowhere", new_string="x"))
        await approved(world, waiting, text(file_path="in.txt", old_string="INSIDE", new_string="better"))
        assert (world.cwd / "in.txt").read_text() == "better\n"

    play(tmp_path, scene)


def test_what_the_cli_carries_out_itself_cannot_be_edited(tmp_path: Path) -> None:
    """It would run with the input it asked for; no answer changes an agent's input (invariant 5)."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world, read("in.txt"))
        with pytest.raises(UsageError, match="carried out by the CLI"):
            await planned(world, waiting, text(file_path="other.txt"))

    play(tmp_path, scene, policy=Policy.ASK)


def test_a_digest_that_is_not_the_edited_ones_releases_nothing(tmp_path: Path) -> None:
    """B4: neither the proposed call's, nor that of another edit; the edit is not stored either."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        other = await planned(world, waiting, text(file_path="c.txt", content="C"))
        for digest in (waiting.approval_digest, str(other["digest"]), "sha256:" + "0" * 64):
            with pytest.raises(DigestMismatchError):
                await approved(world, waiting, EDITED, digest=digest)
        assert world.approval(waiting.id) == waiting
        assert [one.name for one in world.cwd.iterdir()] == ["in.txt"]

    play(tmp_path, scene)


def test_a_file_that_changed_after_the_edit_was_shown_gives_another_digest(tmp_path: Path) -> None:
    """B6: the pre-images of the edited call are bound."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        raw = text(file_path="in.txt", content="A")
        shown = await planned(world, waiting, raw)
        (world.cwd / "in.txt").write_text("somebody else\n")
        with pytest.raises(DigestMismatchError):
            await approved(world, waiting, raw, digest=str(shown["digest"]))
        assert (world.cwd / "in.txt").read_text() == "somebody else\n"

    play(tmp_path, scene)


def test_of_an_edit_and_a_plain_yes_at_the_same_moment_one_wins(tmp_path: Path) -> None:
    """L1: never both inputs, and the loser is told."""

    async def scene(world: World) -> None:
        for number in range(6):
            _, (waiting,) = await held(world, write(f"p{number}.txt", "P"))
            raw = text(file_path=f"e{number}.txt", content="E")
            shown = await planned(world, waiting, raw)
            results = await both(approved(world, waiting, raw, digest=str(shown["digest"])), world.approve(waiting))
            lost = [one for one in results if isinstance(one, BaseException)]
            assert len(lost) == 1
            assert isinstance(lost[0], AlreadyDecidedError | DigestMismatchError)
            written = [(world.cwd / f"{which}{number}.txt").exists() for which in "pe"]
            assert written in ([True, False], [False, True])
            assert (world.approval(waiting.id).edit is not None) == written[1]

    play(tmp_path, scene)


def test_a_folder_that_was_swapped_for_a_link_after_the_edit_was_shown_leads_nowhere(tmp_path: Path) -> None:
    """B6, case 48: judged anew with the yes, on the paths as they are then."""

    async def scene(world: World) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (world.cwd / "sub").mkdir()
        _, (waiting,) = await held(world)
        raw = text(file_path="sub/x.txt", content="X")
        shown = await planned(world, waiting, raw)
        (world.cwd / "sub").rmdir()
        (world.cwd / "sub").symlink_to(outside)
        with pytest.raises(NotAllowedError):
            await approved(world, waiting, raw, digest=str(shown["digest"]))
        assert (world.approval(waiting.id), list(outside.iterdir())) == (waiting, [])

    play(tmp_path, scene)


def test_what_stands_beside_an_edited_call_is_about_the_edited_call(tmp_path: Path) -> None:
    """V6: its warnings, and that such a call was denied lately."""

    async def scene(world: World) -> None:
        _, (before, waiting) = await held(world, write("Makefile", "x"), write("plain.txt", "x"))
        await world.deny(before)
        plain = await planned(world, waiting, text(file_path="plain.txt", content="longer"))
        edit = await planned(world, waiting, text(file_path="Makefile", content="all:"))
        warned = "other programs run or obey this file: its content can act later"
        assert [warned in str(one["warnings"]) for one in (plain, edit)] == [False, True]
        assert [str(one["does"]).split(",")[0] for one in (plain, edit)] == [
            "Write a new file plain.txt",
            "Write a new file Makefile",
        ]
        assert (edit["denied_before"] is not None, edit["target"]) == (True, "Makefile")

    play(tmp_path, scene)


def test_a_tool_that_was_blocked_since_takes_no_edit(tmp_path: Path) -> None:
    """P2: a block beats edits."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        shown = await planned(world, waiting, EDITED)
        save(world, "Write", SavedVerdict.BLOCK)
        with pytest.raises(NotAllowedError, match="blocked"):
            await approved(world, waiting, EDITED, digest=str(shown["digest"]))
        assert world.approval(waiting.id).state is _S.PENDING

    play(tmp_path, scene)


def test_a_call_that_is_decided_expired_paused_or_unknown_takes_no_edit(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        _, (first, second, third) = await held(world, write("1.txt"), write("2.txt"), write("3.txt"))
        await world.deny(first)
        with pytest.raises(AlreadyDecidedError):
            await planned(world, first, EDITED)
        shown = await planned(world, second, EDITED)
        with world.store.begin() as conn:
            pausing.pause(conn, who=ANNA, reason=None, now=NOW)
        with pytest.raises(PausedError):
            await approved(world, second, EDITED, digest=str(shown["digest"]))
        world.now = third.expires
        with pytest.raises(ApprovalExpiredError):
            await planned(world, third, EDITED)
        assert world.approval(second.id) == second

    play(tmp_path, scene)


def test_after_a_crash_the_disk_is_asked_about_the_edited_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B9: it equals what the edit was to leave, so it is done; what was proposed is nowhere looked for."""

    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        one = gate(world, monkeypatch)
        one.fails = RuntimeError("power")
        (world.cwd / "a.txt").write_text("A")
        with pytest.raises(RuntimeError):
            await approved(world, waiting, EDITED)
        assert world.approval(waiting.id).state is _S.FAILED
        crashed = replace(world.approval(waiting.id), state=_S.EXECUTING)
        (world.cwd / "b.txt").write_text("B")
        assert acts.find(crashed, world.cwd, release=True).event.value == "succeed"
        (world.cwd / "b.txt").write_text("neither")
        assert acts.find(crashed, world.cwd, release=True).event.value == "doubt"

    play(tmp_path, scene)


def test_an_edited_effect_is_taken_back_where_it_was_done(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        await approved(world, waiting, text(file_path="in.txt", content="EDITED"))
        undos = Undos(store=world.store, effects=world.effects, clock=world.clock, ids=world.ids)
        await undos.undo(waiting.id, who=ANNA)
        assert (world.cwd / "in.txt").read_text() == "INSIDE\n"

    play(tmp_path, scene)


def test_the_container_asks_for_what_it_proposed_and_is_told_what_was_done_instead(tmp_path: Path) -> None:
    """Invariant 5, P12: the call's identity towards the CLI stays; the gateway compares the same text."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk, call = world.desk(row), write("a.txt", "A")
        await desk.take_turn(a_turn(call))
        (waiting,) = world.approvals(row.id)
        await approved(world, waiting, EDITED)
        assert (await desk.ask(WRITE, arguments_of(call))).allowed
        assert (await desk.confirm(WRITE, arguments_of(call))).allowed
        stray = await desk.ask(WRITE, json.loads(EDITED))
        assert not stray.allowed
        told = await desk.outcome(WRITE, arguments_of(call))
        assert (told.is_error, waiting.id in told.text) == (False, False)
        assert told.text.startswith("Created /workspace/b.txt: 1 bytes written.\nA person changed this call")
        assert told.text == world.calls(row.id)[0].outcome

    play(tmp_path, scene)


def test_no_function_that_leads_to_an_effect_takes_the_proposed_input_of_an_edited_call(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        _, (waiting,) = await held(world)
        await approved(world, waiting, EDITED)
        row = world.approval(waiting.id)
        order = acts.order_of(row, world.cwd)
        assert (order.raw, [str(path.resolved) for path in order.paths]) == (EDITED, ["/workspace/b.txt"])
        assert (dict(order.pre_images), order.post_image) == ({"/workspace/b.txt": None}, row.edit and row.edit.post_image)

    play(tmp_path, scene)
