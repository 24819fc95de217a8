"""What of a frame the SDK is shown."""

from __future__ import annotations

import pytest

from runner.agent.shapes import for_sdk
from runner.errors import AgentProtocolError
from runner.model import Json, JsonObject
from tests.helpers.agent_stream import a_hook, a_result, an_init
from tests.helpers.builders import a_profile


def a_request(request: Json) -> JsonObject:
    return {"type": "control_request", "request_id": "q1", "request": request, "more": 1}


def test_a_request_is_shown_with_what_the_gate_reads_and_nothing_else() -> None:
    """Its own ids, suggestions and descriptions are the container's words about itself."""
    hook = a_hook("Read", {"file_path": "x"})
    assert for_sdk(a_request(hook)) == {
        "type": "control_request",
        "request_id": "q1",
        "request": {"subtype": "hook_callback", "callback_id": "hook_0", "input": hook["input"]},
    }
    asked: JsonObject = {
        "subtype": "can_use_tool",
        "tool_name": "Read",
        "input": {"a": 1},
        "permission_suggestions": [{"type": "addRules"}],
        "tool_use_id": "t",
        "agent_id": "a",
    }
    assert for_sdk(a_request(asked)) == {
        "type": "control_request",
        "request_id": "q1",
        "request": {"subtype": "can_use_tool", "tool_name": "Read", "input": {"a": 1}},
    }


def test_a_request_that_lacks_a_field_is_shown_without_it() -> None:
    found = for_sdk(a_request({"subtype": "can_use_tool"}))
    assert found is not None
    assert found["request"] == {"subtype": "can_use_tool", "tool_name": None, "input": None}


def test_an_unknown_request_is_shown_by_its_name_only() -> None:
    found = for_sdk(a_request({"subtype": "x" * 500, "payload": [1] * 100}))
    assert found is not None
    assert found["request"] == {"subtype": "x" * 100}


@pytest.mark.parametrize("request_", [None, [], "hook_callback", {}, {"subtype": None}, {"subtype": ["can_use_tool"]}])
def test_a_request_that_does_not_say_what_it_asks_is_refused(request_: Json) -> None:
    with pytest.raises(AgentProtocolError, match="does not say what it asks"):
        for_sdk(a_request(request_))


@pytest.mark.parametrize(
    "frame",
    [
        an_init(a_profile()),
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "a" * 1000}]}},
        {"type": "user", "message": 3},
        {"type": "system", "subtype": "task_started", "task_id": []},
        {"type": "system", "subtype": "session_state_changed", "state": "idle"},
        {"type": "stream_event"},
        {"type": "error", "exception": "x"},
        {"type": "end"},
        {"type": "keep_alive"},
        {"type": "anything else"},
    ],
)
def test_everything_the_sdk_does_not_need_is_left_out(frame: JsonObject) -> None:
    """A list for a task's id would end the SDK's reader with a fault that looks like ours, "end" would end it in silence."""
    assert for_sdk(frame) is None


def test_a_result_is_shown_as_short_words_without_figures() -> None:
    """Design.md §3.4: usage, cost and turns are the supervisor's own facts."""
    long = a_result(
        result="r" * 5000, subtype="s" * 500, num_turns=7, total_cost_usd=3.5, errors=["e" * 5000, 3, "c", "d"], usage={"a": 1}
    )
    assert for_sdk(long) == {
        "type": "result",
        "subtype": "s" * 100,
        "is_error": False,
        "result": "r" * 2000,
        "errors": ["e" * 2000, "", "c"],
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "session_id": "",
    }


@pytest.mark.parametrize("word", [None, True, 0, "false", []])
def test_a_result_that_does_not_say_it_went_well_is_an_error(word: Json) -> None:
    found = for_sdk({"type": "result", "subtype": 3, "is_error": word, "result": {}, "errors": "none"})
    assert found is not None
    assert (found["is_error"], found["subtype"], found["result"], found["errors"]) == (True, "unknown", "", [])


def test_an_answer_is_shown_by_its_id_and_content() -> None:
    answer: JsonObject = {"subtype": "success", "request_id": "q", "response": {"a": 1}, "more": 2}
    assert for_sdk({"type": "control_response", "response": answer}) == {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": "q", "response": {"a": 1}},
    }


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        "x",
        {},
        {"subtype": "error", "request_id": "q", "error": {"a": 1}},
        {"subtype": "success", "request_id": ["q"]},
        {"subtype": "success"},
        {"subtype": "Success", "request_id": "q"},
    ],
)
def test_an_answer_of_no_form_or_a_refusal_ends_the_conversation(answer: Json) -> None:
    with pytest.raises(AgentProtocolError):
        for_sdk({"type": "control_response", "response": answer})
