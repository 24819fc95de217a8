"""A card in words, from the record alone: what it does, what was read, how calls like it were decided (V1, V6, V10)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runner.model import Json, JsonObject
from runner.render import Sheet, show_card
from tests.helpers.fake_service import APPROVAL, an_approval

NOW = datetime.fromtimestamp(1_800_000_040.0, UTC)


def card(width: int = 100, **changes: Json) -> list[str]:
    """The lines of a card."""
    sheet = Sheet(width)
    show_card(sheet, an_approval(**changes), now=NOW)
    return [line.plain for line in sheet.drawn]


def field(lines: list[str], name: str) -> str | None:
    """What stands behind a name of ours."""
    return next((line[11:] for line in lines if line.startswith(f"  {name.ljust(9)}")), None)


def test_a_person_needs_no_number_of_a_rule() -> None:
    """Issue 6 point 1: rank and rule stay in the log."""
    shown = "\n".join(card(why="not_covered", rank=7))
    assert "rank" not in shown
    assert "not_covered" not in shown


@pytest.mark.parametrize(
    ("alike", "words"),
    [
        (
            {"count": 40, "approved": True, "differs": ["name", "content"]},
            "as the 40 before it, all approved; differs: name, content",
        ),
        ({"count": 1, "approved": False, "differs": []}, "as the one before it, denied; nothing in it is new"),
        (None, None),
    ],
)
def test_how_the_last_ones_were_decided_is_one_line(alike: Json, words: str | None) -> None:
    """Issue 6 point 2."""
    assert field(card(alike=alike), "before") == words


@pytest.mark.parametrize(
    ("read", "words"),
    [
        ({"files": [], "searches": 0}, "nothing yet"),
        ({"files": ["a", "b"], "searches": 0}, "a, b"),
        ({"files": [], "searches": 2}, "2 searches of its files"),
        (
            {"files": [f"f{n}" for n in range(10)], "searches": 1},
            "f0, f1, f2, f3, f4, f5, f6, f7, and 2 files more, a search of its files",
        ),
        (None, None),
    ],
)
def test_what_the_run_has_read_is_named(read: Json, words: str | None) -> None:
    assert field(card(read=read), "has read") == words


def test_what_came_from_outside_is_named_with_whose_it_is() -> None:
    """V6, P4: run has read content from petname and fingerprint."""
    bob = {"says": "text of capture c_1", "kind": "text", "source": "c_1", "sender": "bob ⟨k3fm⟩", "run": None}
    own = {"says": "results of Read", "kind": "result", "source": "Read", "sender": None, "run": None}
    assert field(card(taint=[bob, own]), "outside") == "text of capture c_1, from bob ⟨k3fm⟩; results of Read"
    assert field(card(taint=[]), "outside") is None


def test_the_whole_turn_stands_on_the_card_each_with_its_id() -> None:
    turn: list[Json] = [
        {"id": None, "state": "ran", "does": "Read a"},
        {"id": APPROVAL, "state": "pending", "does": "Write b"},
        {"id": "a_2", "state": "denied", "does": "Write c"},
    ]
    lines = card(turn=turn)
    assert lines[0] == f"approval {APPROVAL}  pending  2 of 3 in this turn"
    start = lines.index("this turn: 3 calls, each decided on its own")
    assert lines[start + 1 : start + 4] == [
        "  1  ran      Read a",
        "  2  pending  Write b  (this one)",
        "  3  denied   Write c  a_2",
    ]
    assert "this turn" not in "\n".join(card(turn=turn[1:2]))


def test_a_similar_call_that_was_denied_is_warned_of_with_its_age() -> None:
    """V6: you denied a similar call 40 s ago; and the quiet control."""
    lines = card(denied_before={"id": "a_2", "at": 1_800_000_000.0, "reason": "not here"})
    assert "  warning  a similar call was denied 40 s ago: a_2, not here" in lines
    lines = card(denied_before={"id": "a_2", "at": 1_800_000_000.0, "by": "ben", "reason": ""})
    assert "  warning  a similar call was denied 40 s ago by ben: a_2" in lines
    assert not [line for line in card() if line.startswith("  warning")]


def test_what_the_agent_says_of_its_call_stands_below_and_is_called_that() -> None:
    """V1, A28: a description that contradicts the command."""
    given: Json = {"command": "rm -rf out", "description": "lists the files"}
    lines = card(tool="Bash", input=given, claims=["description"])
    command, said = lines.index("│ rm -rf out"), lines.index("│ lists the files")
    heading = lines.index("the agent says of it, and nobody checked")
    assert command < heading < said


def test_a_connectors_tool_is_shown_apart_from_its_server() -> None:
    """V10."""
    assert field(card(tool="mcp__mail__send"), "tool") == "send (connector mail)"
    assert field(card(tool="mcp__a\u202e__\x1b[2J"), "tool") == "\\u{1b}[2J (connector a\\u{202e})"


def test_our_own_lines_never_start_with_theirs_and_theirs_always_with_the_gutter() -> None:
    """V5, A27: a copy of a whole card in every field."""
    copy = "\n".join(card())
    hostile: JsonObject = {
        "input": {copy: copy},
        "does": copy,
        "preview": copy,
        "warnings": [copy],
        "reason": copy,
        "sender": copy,
    }
    for width in (20, 80):
        lines = card(width, **hostile)
        assert sum(line.startswith("approval ") for line in lines) == 1
        assert sum(line.startswith("  digest") for line in lines) == 1


def test_a_record_of_an_older_supervisor_is_still_a_card() -> None:
    bare: JsonObject = {"id": APPROVAL, "tool": "Write", "state": "pending", "input": {"a": 1}, "preview": "+x\n"}
    sheet = Sheet(80)
    show_card(sheet, bare, now=NOW)
    assert sheet.drawn[0].plain == f"approval {APPROVAL}  pending"


def test_what_the_capture_hid_is_told_and_decoded_for_the_person_who_decides() -> None:
    """U4: and what it spells can act on no terminal."""
    hidden: Json = [{"field": "text", "counts": {"tag": 42, "bidi": 1}, "spelled": "obey\x1b[2J"}]

    said = "text hid 42 tag characters, 1 character that turns the reading direction; decoded: obey\\u{1b}[2J"
    assert field(card(200, hidden=hidden), "hidden") == said
    assert field(card(200), "hidden") is None
