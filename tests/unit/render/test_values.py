"""Times, sizes and names as people are shown them; odd fields show as nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runner.lifecycle import RunState
from runner.model import Json
from runner.render import state_part
from runner.render.values import age, moment, size, text_at, tool_name

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-3, "3 s ago"), (-119, "119 s ago"), (-180, "3 min ago"), (7 * 86400 - 1, "in 7 d"), (7200, "in 2 h"), (0, "0 s ago")],
)
def test_an_age_is_told_in_one_unit(seconds: int, shown: str) -> None:
    assert age(NOW.timestamp() + seconds, now=NOW) == shown


@pytest.mark.parametrize("value", [None, "", "soon", True, [], {}, 1e300, float("nan"), "2026-13-01"])
def test_what_is_no_time_is_none(value: Json) -> None:
    assert moment(value) is None
    assert age(value, now=NOW) == ""


def test_text_and_number_times_are_the_same() -> None:
    assert moment("2026-01-01T00:00:00Z") == moment("2026-01-01T00:00:00") == moment(NOW.timestamp()) == NOW


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mcp__runner__Write", "Write"),
        ("mcp__mail__send__all", "send__all (connector mail)"),
        ("Read", "Read"),
        ("mcp__x", "mcp__x"),
        ("a__b__c", "a__b__c"),
    ],
)
def test_a_tool_is_named_with_its_server(name: str, shown: str) -> None:
    """V10."""
    assert tool_name(name) == shown


def test_a_size_is_told_in_a_unit() -> None:
    assert [size(n) for n in (0, 1023, 2048, 5 * 1024**2, 3 * 1024**3)] == ["0 B", "1023 B", "2 KiB", "5 MiB", "3.0 GiB"]


def test_every_state_has_its_word() -> None:
    """design.md §9."""
    assert [state_part(state.value).text for state in RunState] == [
        "waiting (queued)",
        "doing (starting)",
        "doing (running)",
        "needs you (held)",
        "needs you (parked)",
        "done (replied)",
        "refused (failed)",
        "refused (cancelled)",
        "refused (lost)",
    ]
    assert state_part("flying\x1b").text == "flying\x1b"


def test_an_odd_field_is_text_all_the_same() -> None:
    assert [text_at({"x": value}, "x") for value in (None, 3, True, ["a"])] == ["", "3", "True", "['a']"]
    assert text_at({}, "x") == ""
