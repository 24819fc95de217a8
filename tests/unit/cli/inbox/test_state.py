"""What a key means in the inbox: on this card, read to its end, after it was there; else nothing (V4, V7, D6)."""

from __future__ import annotations

import pytest

from runner.errors import AlreadyDecidedError, DigestMismatchError, PausedError
from tests.helpers.fake_service import DIGEST
from tests.helpers.inbox import CLOCK, SOURCE, Driven, a_call, ref

FOLDER = {"tool": "CreateFolder", "does": "Make the folder out", "class": "write"}
CODE = {"tool": "RunCode", "class": "execute", "target": "python", "does": "Run a program"}
FETCH = {"tool": "FetchPage", "class": "read", "egress": True, "target": "example.com"}


def approved(number: int = 1) -> tuple[str, str, str, str]:
    return ("approve", ref(number), DIGEST, "")


def test_a_folder_is_one_key() -> None:
    inbox = Driven(a_call(**FOLDER))
    inbox.press("a")
    assert inbox.decided == [approved()]


@pytest.mark.parametrize(
    "odd",
    [
        {"warnings": ["odd"]},
        {"sender": "bob ⟨1111-2222-3333-4444⟩"},
        {"denied_before": {"id": "a"}},
    ],
)
def test_a_folder_with_something_odd_about_it_takes_two_keys(odd: dict[str, object]) -> None:
    inbox = Driven(a_call(**FOLDER, **odd))
    inbox.press("a")
    assert inbox.decided == []
    inbox.later()
    inbox.press("y")
    assert inbox.decided == [approved()]


def test_a_write_takes_a_second_key() -> None:
    inbox = Driven(a_call())
    inbox.press("a")
    assert any(f"approve {ref(1)}? y does it" in line for line in inbox.screen)
    assert any(line.startswith("> Write a new file 1.md") for line in inbox.screen)
    inbox.later()
    inbox.press("y")
    assert inbox.decided == [approved()]


@pytest.mark.parametrize("key", ["n", "enter", "escape", "a", "Y", "tab"])
def test_any_other_key_leaves_it(key: str) -> None:
    """V7: Enter alone never approves."""
    inbox = Driven(a_call())
    inbox.press("a")
    inbox.later()
    inbox.press(key)
    assert (inbox.decided, inbox.inbox.prompt) == ([], None)


@pytest.mark.parametrize("kind", [CODE, FETCH, {"class": "unknown"}, {"class": None}, {"preview": ""}, {"egress": None}])
def test_what_runs_leaves_or_is_not_known_has_its_target_typed(kind: dict[str, object]) -> None:
    call = a_call(**kind)
    inbox = Driven(call)
    inbox.press("a")
    inbox.later()
    inbox.press("y", "enter")
    assert inbox.decided == []
    inbox.press("backspace")
    inbox.type(str(call["target"]))
    assert inbox.decided == []
    inbox.press("enter")
    assert [one[:3] for one in inbox.decided] == [approved()[:3]]


@pytest.mark.parametrize("target", ["", "\u0440\u0430\u0443", "x" * 41])
def test_a_target_nobody_can_type_is_stood_for_by_the_id(target: str) -> None:
    inbox = Driven(a_call(**CODE | {"target": target}))
    inbox.press("a")
    inbox.later()
    inbox.press("enter")
    assert inbox.decided == []
    inbox.type(ref(1)[:8])
    inbox.press("enter")
    assert len(inbox.decided) == 1


def test_a_target_cannot_be_pasted() -> None:
    inbox = Driven(a_call(**CODE))
    inbox.press("a")
    inbox.later()
    inbox.inbox.paste("python\n")
    inbox.press("enter")
    assert inbox.decided == []


@pytest.mark.parametrize("key", ["a", "d", "x", "e"])
def test_a_key_that_comes_with_the_card_does_not_count(key: str) -> None:
    """V7: the arm delay after each card."""
    inbox = Driven(a_call(**FOLDER), a_call(2, **FOLDER))
    inbox.press("down")
    inbox.later(0.4)
    inbox.press(key)
    assert (inbox.decided, inbox.inbox.prompt, inbox.did) == ([], None, [])
    assert any("nothing was decided" in line for line in inbox.screen)


def test_a_yes_that_comes_with_its_question_does_not_count() -> None:
    """V7: a double key."""
    inbox = Driven(a_call())
    inbox.press("a", "y")
    assert inbox.decided == []
    inbox.later()
    inbox.press("y")
    assert inbox.decided == [approved()]


def test_a_double_key_decides_once() -> None:
    inbox = Driven(a_call(**FOLDER), a_call(2, **FOLDER))
    inbox.press("a", "a")
    assert inbox.decided == [approved()]
    assert "approve" not in inbox.screen[-1]


def test_a_long_card_is_read_to_its_end_before_a_yes_counts() -> None:
    """V4: part 3/7."""
    inbox = Driven(a_call(input={"content": "\n".join(f"line {n}" for n in range(100))}), size=(80, 24))
    assert any("part 1/" in line and "space shows more" in line for line in inbox.screen)
    inbox.press("a")
    assert inbox.inbox.prompt is None
    assert any("read it to the end first" in line for line in inbox.screen)
    seen = inbox.screen
    inbox.press("space", "b", "space", "a")
    assert inbox.inbox.prompt is None
    while inbox.inbox.card is not None and not inbox.inbox.card.reading.whole:
        seen += inbox.screen
        inbox.press("space")
    seen += inbox.screen
    assert all(any(f"line {n}" in line for line in seen) for n in range(100))
    inbox.press("a")
    inbox.later()
    inbox.press("y")
    assert inbox.decided == [approved()]


def test_another_size_has_to_be_read_again() -> None:
    inbox = Driven(a_call(input={"content": "x\n" * 50}), size=(80, 24))
    inbox.read()
    inbox.inbox.resize((60, 24), now=inbox.now)
    inbox.later()
    inbox.press("a")
    assert inbox.inbox.prompt is None


@pytest.mark.parametrize("size", [(20, 5), (39, 24), (80, 11), (1, 1)])
def test_a_window_too_small_says_so_and_decides_nothing(size: tuple[int, int]) -> None:
    """A40."""
    inbox = Driven(a_call(**FOLDER), size=size)
    inbox.press("a", "d", "enter", "y")
    assert inbox.decided == []
    assert len(inbox.screen) == size[1]
    assert all(len(line) <= size[0] for line in inbox.screen)
    if size[0] >= 20:
        assert "too small to decide" in inbox.screen[0]


def test_a_window_that_shrinks_during_a_question_takes_it_back() -> None:
    inbox = Driven(a_call())
    inbox.press("a")
    inbox.inbox.resize((20, 5), now=inbox.now)
    inbox.later()
    inbox.press("y")
    inbox.inbox.resize((80, 60), now=inbox.now)
    inbox.later()
    inbox.press("y")
    assert inbox.decided == []


def test_what_changes_nothing_for_who_decides_leaves_the_question_open() -> None:
    inbox = Driven(a_call())
    inbox.press("a")
    inbox.later()
    inbox.inbox.looked(ref(1), a_call(version=2, history=[]), now=inbox.now, clock=CLOCK)
    inbox.press("y")
    assert inbox.decided == [approved()]


def test_a_plan_that_comes_too_late_leaves_the_keys_free() -> None:
    inbox = Driven(a_call(state="done"), a_call(2, **FOLDER))
    inbox.press("u", "down")
    inbox.inbox.planned(inbox.did[-1], {"summary": "x"}, now=inbox.now, clock=CLOCK)
    assert not any("this would" in line for line in inbox.screen)
    inbox.later()
    inbox.press("a")
    assert inbox.decided == [approved(2)]


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "sha256:" + "9" * 64},
        {"state": "denied"},
        {"signatures": {"required": 2, "given": [{"name": "anna"}]}},
        {"expires": 1.0},
    ],
)
def test_a_call_that_changes_under_the_eyes_is_looked_at_anew(change: dict[str, object]) -> None:
    """B4: the open question goes, and keys count again only later."""
    inbox = Driven(a_call())
    inbox.press("a")
    inbox.later()
    inbox.records[ref(1)] = a_call(**change)
    inbox.inbox.looked(ref(1), inbox.records[ref(1)], now=inbox.now, clock=CLOCK)
    assert any("this changed while it was shown" in line for line in inbox.screen)
    inbox.press("y", "a")
    assert inbox.decided == []


def test_what_is_denied_carries_its_reason_as_typed_or_pasted() -> None:
    """D6."""
    inbox = Driven(a_call())
    inbox.press("d")
    inbox.later()
    inbox.type("not h")
    inbox.inbox.paste("ere\x1b[2J\n")
    inbox.press("enter")
    assert inbox.decided == [("deny", ref(1), DIGEST, "not here[2J")]


def test_a_denial_can_be_left() -> None:
    inbox = Driven(a_call())
    inbox.press("d", "escape")
    assert (inbox.decided, inbox.inbox.prompt) == ([], None)


def test_new_arrivals_come_last_and_move_nothing() -> None:
    """The list never re-sorts under the cursor."""
    inbox = Driven(a_call(1), a_call(2))
    inbox.press("down")
    newer, older = a_call(0, created=1.0), a_call(3)
    inbox.records |= {ref(0): newer, ref(3): older}
    before = inbox.screen[1:3]
    inbox.inbox.listed(SOURCE, [newer, a_call(2), a_call(1), older], first=False)
    assert inbox.screen[1:3] == before
    assert [entry.id for entry in inbox.inbox.book.shown] == [ref(1), ref(2), ref(0), ref(3)]
    assert inbox.inbox.book.selected == ref(2)
    assert "2 new below" in inbox.screen[0]
    inbox.press("down")
    assert "1 new below" in inbox.screen[0]


def test_a_decision_goes_on_to_the_next_and_leaves_the_decided_in_its_place() -> None:
    inbox = Driven(a_call(1, **FOLDER), a_call(2, **FOLDER))
    inbox.press("a")
    inbox.inbox.done(inbox.did[-1], a_call(1, state="done", **FOLDER))
    inbox.settle()
    assert (inbox.inbox.book.selected, inbox.screen[1].split()[0]) == (ref(2), "done")
    assert any("approved: Make the folder out (done)" in line for line in inbox.screen)
    inbox.press("a")
    assert len(inbox.decided) == 1
    inbox.press("c")
    assert [entry.id for entry in inbox.inbox.book.shown] == [ref(2)]


@pytest.mark.parametrize(
    "error",
    [
        AlreadyDecidedError("cannot approve: already denied by anna"),
        PausedError("cannot approve: paused"),
        DigestMismatchError("cannot approve: the digest is not this approval's"),
    ],
)
def test_a_refusal_is_shown_in_place_and_the_call_is_looked_at_again(error: Exception) -> None:
    """L1, L9, B4, C5."""
    inbox = Driven(a_call(**FOLDER))
    inbox.press("a")
    inbox.records[ref(1)] = a_call(state="denied", **FOLDER)
    inbox.inbox.failed(inbox.did[-1], error)  # type: ignore[arg-type]
    inbox.settle()
    assert any(str(error) in line for line in inbox.screen)
    assert "denied" in inbox.screen[1]


def test_an_undo_is_seen_before_it_is_confirmed() -> None:
    inbox = Driven(a_call(state="done"))
    inbox.press("u")
    want = inbox.did[-1]
    assert want.what == "plan"
    plan = {"summary": "remove 1.md", "preview": "-directory out\n", "warnings": []}
    inbox.inbox.planned(want, plan, now=inbox.now, clock=CLOCK)
    assert any("this would remove 1.md" in line for line in inbox.screen)
    inbox.press("y")
    assert inbox.decided == []
    inbox.later()
    inbox.press("y")
    assert [one[0] for one in inbox.decided] == ["undo"]


@pytest.mark.parametrize(("key", "word"), [("h", "it happened"), ("n", "it did not")])
def test_an_unknown_effect_is_settled_with_two_keys(key: str, word: str) -> None:
    inbox = Driven(a_call(state="unknown"))
    inbox.press("a")
    assert inbox.inbox.prompt is None
    inbox.press(key)
    inbox.later()
    inbox.press("y")
    assert [one[0] for one in inbox.decided] == [word]


def test_an_edited_call_is_read_and_approved_as_it_is_now() -> None:
    """D2."""
    inbox = Driven(a_call())
    inbox.press("e")
    want = inbox.did[-1]
    assert want.what == "edit"
    edited = a_call(digest="sha256:" + "7" * 64, edited_input="{}", edited_by="uid 0")
    inbox.inbox.edited(want, edited, now=inbox.now, clock=CLOCK)
    inbox.press("a")
    assert inbox.inbox.prompt is None
    inbox.later()
    inbox.press("a")
    inbox.later()
    inbox.press("y")
    assert inbox.decided == [("approve", ref(1), "sha256:" + "7" * 64, "")]


def test_an_edit_stands_while_the_call_it_was_made_of_does() -> None:
    """D2, B4: that it was shown, and news of others, take nothing away; the end of the proposed call does."""
    proposed = a_call()
    inbox = Driven(proposed)
    inbox.press("e")
    edited = a_call(digest="sha256:" + "7" * 64, edited_input="{}", edited_by="uid 0")
    inbox.inbox.edited(inbox.did[-1], edited, now=inbox.now, clock=CLOCK)
    inbox.inbox.resize((80, 61), now=inbox.now)
    inbox.inbox.looked(ref(1), proposed, now=inbox.now, clock=CLOCK)
    assert inbox.inbox.card is not None
    assert inbox.inbox.card.record is edited
    # An edit of the edit is about the same call.
    inbox.press("e")
    again = a_call(digest="sha256:" + "8" * 64, edited_input="[]", edited_by="uid 0")
    inbox.inbox.edited(inbox.did[-1], again, now=inbox.now, clock=CLOCK)
    inbox.inbox.looked(ref(1), proposed, now=inbox.now, clock=CLOCK)
    assert inbox.inbox.card.record is again
    inbox.inbox.looked(ref(1), a_call(state="denied"), now=inbox.now, clock=CLOCK)
    assert inbox.inbox.card.record["state"] == "denied"


def test_a_filter_shows_what_holds_a_text_and_escape_shows_all() -> None:
    inbox = Driven(a_call(1), a_call(2), a_call(3, agent="other"))
    inbox.press("slash")
    inbox.type("OTHER")
    inbox.press("enter")
    assert [entry.id for entry in inbox.inbox.book.shown] == [ref(3)]
    inbox.press("escape")
    assert len(inbox.inbox.book.shown) == 3


def test_help_and_leaving_decide_nothing() -> None:
    inbox = Driven(a_call(**FOLDER))
    inbox.press("question_mark")
    assert "what the keys do" in inbox.screen[0]
    inbox.press("a")
    assert inbox.decided == []
    inbox.press("q")
    assert [want.what for want in inbox.did] == ["leave"]


def test_an_empty_inbox_says_so() -> None:
    inbox = Driven()
    inbox.press("a", "d", "u", "space", "down")
    assert "nothing needs you" in inbox.screen[1]
    assert inbox.did == []
