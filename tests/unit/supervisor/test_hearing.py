"""What doctor says about channels of notices (C4)."""

from __future__ import annotations

import pytest

from runner.model import Json, JsonObject
from runner.supervisor.health import Level
from runner.supervisor.hearing import channel_checks


def status(*channels: JsonObject) -> JsonObject:
    return {"notices": {"channels": [*channels], "dead": 0}}


def a_channel(**changes: Json) -> JsonObject:
    channel: JsonObject = {"name": "ntfy-0123abcd", "waiting": 0, "dead": 0, "delivered": 3, "error": None}
    return channel | changes


@pytest.mark.parametrize(
    ("channel", "level", "said"),
    [
        (a_channel(), Level.FINE, "none given up"),
        (a_channel(waiting=2, error="it answered 500"), Level.NOTE, "it answered 500"),
        (a_channel(dead=4, error="it answered 500"), Level.WRONG, "4 given up"),
        (a_channel(dead=1), Level.WRONG, "since then it took one"),
    ],
)
def test_a_channel_is_as_bad_as_what_it_did_not_take(channel: JsonObject, level: Level, said: str) -> None:
    (check,) = channel_checks(status(channel))
    assert (check.name, check.level) == ("notices to ntfy-0123abcd", level)
    assert said in check.found
    assert (check.fix is None) == (level is Level.FINE)


def test_no_channel_is_no_fault_and_is_said() -> None:
    (check,) = channel_checks(status())
    assert check.level is Level.FINE
    assert "nobody is told" in check.found


@pytest.mark.parametrize("said", [None, {}, {"notices": None}, {"notices": {"channels": "x"}}, {"notices": {"channels": [1]}}])
def test_an_odd_answer_or_none_breaks_no_examination(said: JsonObject | None) -> None:
    assert all(check.level is Level.FINE for check in channel_checks(said))
