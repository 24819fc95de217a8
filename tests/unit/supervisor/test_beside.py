"""What stands beside a call on its card: turn, what was read, how calls like it were decided (V1, V6; issue 6 point 2)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from runner.approvals import deny
from runner.fence.skeleton import skeleton
from runner.lifecycle import ApprovalState
from runner.model import OWNER, ApprovalId, CallId, Digest, ResolvedPath, RunId, SenderKind
from runner.policy.precedence import TABLE
from runner.render import Sheet, show_card
from runner.store import ApprovalRow, Approver, contacts
from runner.store import approvals as rows
from runner.store.contacts import ContactRow
from runner.supervisor import queries
from runner.supervisor.beside import Habit, beside, habit, note_host, similar_denied
from tests.unit.supervisor.world import World, a_turn, play, read, write

BEN = Approver(uid=1001, channel="cli", name="ben")
ZERO = Digest("sha256:" + "0" * 64)


def a_write(
    path: str, content: str, *, state: ApprovalState = ApprovalState.PENDING, at: float = 0.0, **more: Any
) -> ApprovalRow:
    """A write to a new file."""
    inside = PurePosixPath("/workspace") / path
    decided = {"decided_by": BEN, "decided_at": at} if state is not ApprovalState.PENDING else {}
    plain = ApprovalRow(
        id=ApprovalId("a_0123456789abcdef"),
        call=CallId("k_0123456789abcdef"),
        run=RunId("r_0123456789abcdef"),
        segment=0,
        attempt=0,
        turn=1,
        agent="scribe",
        tool="Write",
        profile_digest=ZERO,
        definition_digest=ZERO,
        why="not_covered",
        reason="a person decides",
        call_digest=ZERO,
        approval_digest=ZERO,
        nonce="n",
        raw="{}",
        sender=OWNER,
        created=at,
        expires=at + 60,
    )
    return replace(
        plain,
        raw=json.dumps({"file_path": path, "content": content}),
        paths=(ResolvedPath(asked=path, resolved=inside),),
        pre_images=more.pop("pre_images", {str(inside): None}),
        state=state,
        **{**decided, **more},
    )


DONE, DENIED = ApprovalState.DONE, ApprovalState.DENIED


def test_forty_like_it_are_counted_and_what_is_new_is_named() -> None:
    """Issue 6 point 2: `as the 40 before it; differs: name, content`."""
    earlier = [a_write(f"out/{n}.md", f"text {n}", state=DONE) for n in range(40)]
    assert habit(a_write("out/new.md", "text"), earlier) == Habit(40, True, ("name", "content"))


def test_only_the_newest_that_were_decided_alike_count() -> None:
    earlier = [a_write("a", "1", state=DENIED), a_write("b", "2", state=DENIED), a_write("c", "3", state=DONE)]
    assert habit(a_write("d", "4"), earlier) == Habit(2, False, ("name", "content"))
    assert habit(a_write("d", "4"), []) is None


def test_another_folder_an_overwrite_and_a_warning_stand_out() -> None:
    earlier = [a_write(f"out/{n}.md", "same", state=DONE) for n in range(3)]
    odd = a_write("bin/0.md", "same", pre_images={"/workspace/bin/0.md": Digest("sha256:" + "1" * 64)})
    odd = replace(odd, warnings=("the file is executable",))
    assert habit(odd, earlier) == Habit(3, True, ("folder", "what stands there", "warnings"))


def test_what_was_seen_before_is_no_difference() -> None:
    earlier = [a_write("a", "1", state=DONE), a_write("b", "2", state=DONE)]
    assert habit(a_write("a", "2"), earlier) == Habit(2, True, ())


def test_a_denial_of_the_same_place_or_the_same_words_is_remembered() -> None:
    """V6: you denied a similar call 40 s ago."""
    there, words = a_write("a", "1", state=DENIED, at=60), a_write("b", "2", state=DENIED, at=60)
    assert similar_denied(a_write("a", "9", at=100), [words, there]) is there
    assert similar_denied(a_write("c", "2", at=100), [words, there]) is words
    assert similar_denied(a_write("c", "3", at=100), [words, there]) is None
    assert similar_denied(a_write("a", "1", at=60 + 2 * 86400), [there]) is None
    assert similar_denied(a_write("a", "1", at=100), [a_write("a", "1", state=DONE, at=60)]) is None


def test_a_turn_stands_on_the_card_of_each_of_its_calls(tmp_path: Path) -> None:
    """Issue 6 point 2: the whole turn's calls on one card, each with its id, decided on its own."""

    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(read("in.txt"), write("a.txt", "A\n"), write("b.txt", "B\n")))
        first, second = world.approvals(row.id)
        with world.store.reading() as conn:
            found = beside(conn, second)
        assert found["turn"] == [
            {"id": None, "tool": "Read", "state": "running", "does": "Read in.txt"},
            {"id": first.id, "tool": "Write", "state": "pending", "does": "Write a new file a.txt, 1 line, 2 bytes"},
            {"id": second.id, "tool": "Write", "state": "pending", "does": "Write a new file b.txt, 1 line, 2 bytes"},
        ]
        assert (found["does"], found["target"]) == ("Write a new file b.txt, 1 line, 2 bytes", "b.txt")
        assert (found["class"], found["egress"], found["alike"], found["denied_before"]) == ("write", False, None, None)

    play(tmp_path, scene)


def test_why_a_call_is_asked_is_said_in_the_words_of_the_table(tmp_path: Path) -> None:
    """Invariant 12: the card's reason is the row that decided."""

    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt", "A\n")))
        with world.store.reading() as conn:
            view = queries.whole_approval(conn, world.approvals(row.id)[0].id)
        says = next(one.says for one in TABLE if one.rule == view["why"])
        sheet = Sheet(200)
        show_card(sheet, view, now=datetime.now(UTC))
        assert any(line.plain.startswith("  asked") and says[1:] in line.plain for line in sheet.drawn)

    play(tmp_path, scene)


def test_the_card_names_what_the_run_has_read_and_how_calls_like_it_were_decided(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(write("a.txt", "A\n")))
        await world.approve(world.approvals(row.id)[0])
        await desk.take_turn(a_turn(write("b.txt", "B\n")))
        waiting = next(one for one in world.approvals(row.id) if one.state is ApprovalState.PENDING)
        with world.store.reading() as conn:
            view = queries.whole_approval(conn, waiting.id)
        assert view["alike"] == {"count": 1, "approved": True, "differs": ["name", "content"]}
        assert view["read"] == {"files": [], "searches": 0}

    play(tmp_path, scene)


def test_a_contact_and_the_hosts_own_name_are_known_to_every_card(tmp_path: Path) -> None:
    """V6: a lookalike of a known contact, and of the name by which contacts reach this host."""

    async def scene(world: World) -> None:
        mina = ContactRow(
            petname="mina",
            skeleton=skeleton("mina"),
            kind=SenderKind.CONTACT,
            key="k",
            fingerprint="k7m2-9xqd-4w3z-p8hn",
            verified=True,
            created=1.0,
        )
        with world.store.begin() as conn:
            contacts.insert(conn, mina, who=BEN)
            note_host(conn, "https://desk.example:8443")
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("rnina/desk.examp1e.md", "A\n"), write("mina/desk.example.md", "A\n")))
        odd, plain = world.approvals(row.id)
        with world.store.reading() as conn:
            assert beside(conn, odd)["warnings"] == [
                "the path names rnina, which looks like your contact mina and is written otherwise",
                "the path names desk.examp1e, which looks like your own desk.example and is another",
            ]
            assert beside(conn, plain)["warnings"] == []

    play(tmp_path, scene)


def test_what_was_decided_later_is_no_habit_and_a_no_says_whose_it_is(tmp_path: Path) -> None:
    """V6: a card that is looked at after its decision says what there was to know then."""

    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt", "A\n"), write("b.txt", "A\n"), write("c.txt", "A\n")))
        first, second, third = world.approvals(row.id)
        await world.approve(second)
        world.now += 5
        with world.store.begin() as conn:
            deny(conn, first.id, who=BEN, reason="no", now=world.now)
        with world.store.reading() as conn:
            assert beside(conn, rows.get(conn, second.id))["alike"] is None
            found = beside(conn, rows.get(conn, third.id))
        assert found["denied_before"] == {"id": first.id, "at": world.now, "by": "ben", "reason": "no"}

    play(tmp_path, scene)
