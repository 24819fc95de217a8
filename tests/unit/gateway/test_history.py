"""The model gets its own words back in later requests (design.md §2.4)."""

from __future__ import annotations

from runner.gateway.history import History
from runner.gateway.values import Handover, ToolUse
from runner.model import Json, JsonObject


def call(name: str, arguments: Json, identity: str = "t1") -> JsonObject:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": identity, "name": name, "input": arguments}]}


def result(content: Json, identity: str = "t1") -> JsonObject:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": identity, "content": content}]}


def restored(history: History, *messages: JsonObject) -> list[Json]:
    talk: list[Json] = list(messages)
    history.restore(talk)
    return talk


def test_an_undeclared_call_gets_its_name_back_in_the_call_and_in_its_result() -> None:
    error = "Error: No such tool available: undeclared__Bash"
    talk = restored(
        History(),
        {"role": "user", "content": "undeclared__Bash is what I type"},
        call("undeclared__Bash", {"command": "ls"}),
        result(error),
        call("undeclared__Task", {}, "t2"),
        result([{"type": "text", "text": "no undeclared__Task"}, {"type": "image", "source": {}}], "t2"),
        result(error, "t3"),
    )
    assert talk == [
        {"role": "user", "content": "undeclared__Bash is what I type"},
        call("Bash", {"command": "ls"}),
        result("Error: No such tool available: Bash"),
        call("Task", {}, "t2"),
        result([{"type": "text", "text": "no Task"}, {"type": "image", "source": {}}], "t2"),
        result(error, "t3"),
    ]


def test_a_bare_prefix_and_brokered_names_stay_as_they_are() -> None:
    messages = [call("undeclared__", {}), call("mcp__runner__Write", {"a": 1}, "t2")]
    assert restored(History(), *messages) == [call("undeclared__", {}), call("mcp__runner__Write", {"a": 1}, "t2")]


def test_a_replaced_input_is_given_back_to_the_call_it_was_taken_from() -> None:
    history = History()
    history.note(ToolUse(id="t1", name="Bash", raw='{"command": "ls"}'), Handover(name="undeclared__Bash", raw="{}"))
    history.note(ToolUse(id="t2", name="Read", raw='{"a": 1}'), Handover(name="Read", raw='{"a": 1}'))
    assert restored(history, call("undeclared__Bash", {}), call("Read", {"a": 2}, "t2")) == [
        call("Bash", {"command": "ls"}),
        call("Read", {"a": 2}, "t2"),
    ]


def test_another_name_under_the_same_id_gets_nothing() -> None:
    history = History()
    history.note(ToolUse(id="t1", name="Bash", raw='{"command": "ls"}'), Handover(name="undeclared__Bash", raw="{}"))
    assert restored(history, call("Read", {})) == [call("Read", {})]


def test_an_input_no_request_could_carry_stays_replaced() -> None:
    history = History()
    history.note(ToolUse(id="t1", name="Read", raw='{"a":1,"a":2}'), Handover(name="Read", raw="{}"))
    history.note(ToolUse(id="t2", name="Read", raw="[1]"), Handover(name="Read", raw="{}"))
    assert restored(history, call("Read", {}), call("Read", {}, "t2")) == [call("Read", {}), call("Read", {}, "t2")]


def test_the_memory_is_bounded_by_calls_and_by_bytes_and_forgets_the_oldest() -> None:
    given = Handover(name="Read", raw="{}")
    few, small = History(calls=2), History(size=24)
    for identity in ("t1", "t2", "t3"):
        few.note(ToolUse(id=identity, name="Read", raw='{"a": 1}'), given)
        small.note(ToolUse(id=identity, name="Read", raw='{"a": 1234}'), given)
    talk = [call("Read", {}, identity) for identity in ("t1", "t2", "t3")]
    assert restored(few, *talk) == [call("Read", {}, "t1"), call("Read", {"a": 1}, "t2"), call("Read", {"a": 1}, "t3")]
    talk = [call("Read", {}, identity) for identity in ("t1", "t2", "t3")]
    assert restored(small, *talk) == [call("Read", {}, "t1"), call("Read", {"a": 1234}, "t2"), call("Read", {"a": 1234}, "t3")]


def test_one_input_over_the_whole_memory_is_not_kept() -> None:
    history = History(size=4)
    history.note(ToolUse(id="t1", name="Read", raw='{"a": 1}'), Handover(name="Read", raw="{}"))
    assert restored(history, call("Read", {})) == [call("Read", {})]


def test_a_call_that_was_handed_over_under_another_id_is_restored_by_that_one() -> None:
    """B11: the CLI knows the call by the id it was given."""
    history = History()
    history.note(ToolUse(id="t1", name="Read", raw='{"a": 1}'), Handover(name="Read", raw="{}", id="t9"))
    messages: Json = [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": name, "name": "Read", "input": {}} for name in ("t1", "t9")],
        }
    ]
    history.restore(messages)
    assert messages == [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {}},
                {"type": "tool_use", "id": "t9", "name": "Read", "input": {"a": 1}},
            ],
        }
    ]
