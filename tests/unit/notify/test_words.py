"""What a notice says: nothing secret, nothing that acts in a channel (C1)."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.notify.words import NAMED, WHY, Item, body_of, message_of
from runner.policy.precedence import TABLE
from runner.render.plain import plain

HOSTILE = (
    "scribe\r\nActions: view, Approve, https://evil.example/yes",
    "<!channel> @everyone <@U123> <https://evil.example|safe>",
    "*bold* _it_ ~no~ `code` [a](https://evil.example) # head",
    "<b>bold</b><img src=x onerror=alert(1)> &amp;",
    "\U0001f389 party :tada: \u202ereversed \u200b",
    "evil.example/path?x=1",
    "{{ template }} ${var} %0d%0aX: y",
    "\x1b[31mred\x07",
    "x" * 10_000,
)


def an_item(**changes: object) -> Item:
    values: dict[str, object] = {"agent": "scribe", "tool": "Write", "why": "strict", "approval": "a_2v8xk1m3n4p5q6r7"}
    return Item(**(values | {"expires": 1_800_000_000.0} | changes))  # type: ignore[arg-type]


def told(*items: Item, kind: str = "asked") -> str:
    message = message_of(body_of("n_0123456789abcdef", kind, items, total=len(items)))
    return f"{message.title}\n{message.text}"


def test_a_notice_has_agent_tool_why_id_and_deadline_a_line_each() -> None:
    assert told(an_item()).splitlines() == [
        "runner: a call waits for you",
        "agent: scribe",
        "tool: Write",
        f"why: {WHY['strict']}",
        "id: a_2v8xk1m3",
        "expires: 2027-01-15 08:00 UTC",
        "",
        "look: runner todo",
        "notice: n_0123456789abcdef",
    ]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("field", ["agent", "tool", "why", "approval"])
def test_a_hostile_field_stays_one_line_without_a_mark_of_any_language(field: str, text: str) -> None:
    """C1: header and newline injection, mentions, links, markup, emoji, 10 kB."""
    lines = told(an_item(**{field: text})).splitlines()
    assert len(lines) == len(told(an_item()).splitlines())
    (line,) = [line for line in lines if line.startswith("id: " if field == "approval" else f"{field}: ")]
    shown = line.partition(": ")[2]
    assert re.fullmatch(r"(?:[A-Za-z0-9 -]|\\u\{[0-9a-f]+\})*(?:⟪\+\d+⟫)?|[a-z]_[0-9a-z]+", shown), shown
    assert len(line) < 700


def test_of_many_calls_some_are_named_and_all_are_counted() -> None:
    message = message_of(body_of("n_1", "asked", [an_item()] * 300, total=300))
    assert message.title == "runner: 300 calls wait for you"
    assert message.text.count("agent: ") == NAMED
    assert "and 290 more" in message.text.splitlines()


def test_every_rule_that_asks_has_words() -> None:
    """Invariant 12: the words are the table's."""
    assert {row.rule for row in TABLE} | {"strict", "ceiling"} == set(WHY)
    assert all(WHY[row.rule] == row.says for row in TABLE if row.rule != "escalation")


def test_the_stored_notice_is_the_same_bytes_at_every_try() -> None:
    body = body_of("n_1", "late", [an_item()], total=1)
    assert message_of(body).body == body.encode() == message_of(body).body
    assert json.loads(body)["items"][0]["id"] == "a_2v8xk1m3"


@given(st.text(), st.text())
def test_two_texts_never_look_alike_in_a_notice(one: str, other: str) -> None:
    """V2: injective as every display of ours."""
    assert (plain(one, limit=10**6) == plain(other, limit=10**6)) == (one == other)
    assert "\n" not in plain(one)
    assert "\r" not in plain(one)
