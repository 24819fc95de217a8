"""The reply's state machine: what passes, what is held, what ends it (design.md §3.5)."""

from __future__ import annotations

import pytest

from runner.gateway.refusals import UpstreamError
from runner.gateway.reply import Reply
from runner.gateway.values import GatewayLimits, Handover, ModelTurn, ToolUse
from runner.model import JsonObject, Usage
from tests.helpers.upstream import reply_events, text, tool_use

WRITE = '{"file_path": "a", "content": "é\\n"}'


def a_reply(limits: GatewayLimits | None = None) -> Reply:
    return Reply(limits or GatewayLimits())


def passed(reply: Reply, events: list[JsonObject]) -> list[JsonObject]:
    return [out for event in events if (out := reply.feed(event)) is not None]


def failure(events: list[JsonObject], limits: GatewayLimits | None = None) -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        passed(a_reply(limits), events)
    return caught.value


def test_a_reply_of_text_passes_event_by_event_but_for_its_end() -> None:
    events = reply_events(text("hello world", pieces=["hello ", "world"]), text("!"))
    reply = a_reply()
    told = passed(reply, events)
    expected = [dict(event) for event in events[:-1]]
    expected[-1] = {**expected[-1], "usage": {"input_tokens": 10, "output_tokens": 5}}
    assert (told, reply.complete, reply.holding) == (expected, True, False)
    assert reply.release(()) == ({"type": "message_stop"},)
    assert reply.turn() == ModelTurn(
        model="claude-test",
        texts=("hello world", "!"),
        tool_uses=(),
        stop_reason="end_turn",
        usage=Usage(requests=1, input_tokens=10, output_tokens=5),
    )


def test_everything_from_the_first_tool_use_on_is_held_but_ping() -> None:
    blocks = (
        text("a"),
        tool_use("Read", "{}"),
        text("b"),
        tool_use("Bash", WRITE, identity="toolu_2", pieces=[WRITE[:3], WRITE[3:]]),
    )
    events = reply_events(*blocks, stop="tool_use")
    reply = a_reply()
    told = [*passed(reply, events[:5]), *passed(reply, [{"type": "ping"}]), *passed(reply, events[5:])]
    assert told == [*events[:4], {"type": "ping"}]
    assert reply.turn().tool_uses == (
        ToolUse(id="toolu_1", name="Read", raw="{}"),
        ToolUse(id="toolu_2", name="Bash", raw=WRITE),
    )
    assert reply.turn().texts == ("a", "b")


def test_what_was_held_is_released_as_handed_over_with_each_input_in_one_piece() -> None:
    blocks = (tool_use("Bash", WRITE, pieces=list(WRITE)), text("b"), tool_use("Read", "{}", identity="toolu_2"))
    events = reply_events(*blocks, stop="tool_use")
    reply = a_reply()
    passed(reply, events)
    released = reply.release((Handover(name="undeclared__Bash", raw="{}"), Handover(name="Read", raw='{"a":1}')))
    handed = reply_events(
        tool_use("undeclared__Bash", "{}"), text("b"), tool_use("Read", '{"a":1}', identity="toolu_2"), stop="tool_use"
    )
    handed[-2] = {**handed[-2], "usage": {"input_tokens": 10, "output_tokens": 5}}
    assert list(released) == handed[1:]


def test_a_reply_that_is_no_stream_is_one_message_of_the_same_content() -> None:
    reply = a_reply()
    passed(reply, reply_events(text("a"), tool_use("Bash", WRITE), stop="tool_use"))
    assert reply.message((Handover(name="undeclared__Bash", raw='{"x": 1}'),)) == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [
            {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "toolu_1", "name": "undeclared__Bash", "input": {"x": 1}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


@pytest.mark.parametrize("raw", ["[1]", "{", '{"a":1,"a":2}', '{"a": 1e999}'])
def test_an_input_that_is_no_json_object_reaches_the_desk_as_it_is_and_no_single_message(raw: str) -> None:
    """B2, B3: the desk denies it; only a stream can carry its bytes."""
    reply = a_reply()
    passed(reply, reply_events(tool_use("Read", raw)))
    (tool,) = reply.turn().tool_uses
    assert tool.raw == raw
    with pytest.raises(UpstreamError):
        reply.message((Handover(name="Read", raw=raw),))


def test_an_input_left_out_is_an_empty_object() -> None:
    reply = a_reply()
    passed(reply, reply_events(tool_use("Read", "", pieces=[])))
    assert reply.turn().tool_uses == (ToolUse(id="toolu_1", name="Read", raw="{}"),)


def test_thinking_passes_with_its_signature_and_unknown_deltas_are_dropped() -> None:
    start = reply_events()[0]
    block: list[JsonObject] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
    ]
    unknown: list[JsonObject] = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "tokens_delta", "estimated": 3}},
        {"type": "some_new_event", "tool_use": {}},
    ]
    assert passed(a_reply(), [start, *block, *unknown]) == [start, *block]


def test_a_thinking_block_that_holds_more_than_it_should_is_rebuilt() -> None:
    start = reply_events()[0]
    hidden: JsonObject = {"type": "text", "text": "a", "tool_use": {"name": "Bash"}}
    told = passed(a_reply(), [start, {"type": "content_block_start", "index": 0, "content_block": hidden, "x": 1}])
    assert told[1] == {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}


@pytest.mark.parametrize(
    "kind", ["server_tool_use", "mcp_tool_use", "web_search_tool_result", "container_upload", "compaction", "", "None"]
)
def test_a_block_of_another_kind_ends_the_reply(kind: str) -> None:
    """Case 72: a tool the provider runs has acted before anyone was asked."""
    block: JsonObject = {"type": kind, "id": "srvtoolu_1", "name": "web_search", "input": {}}
    start: JsonObject = {"type": "content_block_start", "index": 0, "content_block": block}
    assert "which is not passed on" in failure([reply_events()[0], start]).brief


@pytest.mark.parametrize(
    "change",
    [
        {"id": ""},
        {"id": 7},
        {"name": None},
        {"name": "a" * 201},
        {"name": "Re\nad"},
        {"name": "Read\u202e"},
        {"caller": {"type": "code_execution_20250825", "tool_id": "x"}},
    ],
)
def test_a_tool_use_with_a_malformed_head_ends_the_reply(change: JsonObject) -> None:
    block: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}, **change}
    failure([reply_events()[0], {"type": "content_block_start", "index": 0, "content_block": block}])


def disordered() -> dict[str, list[JsonObject]]:
    start, opening, delta, closing, ending, stop = reply_events(text("a"))
    tool_delta: JsonObject = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": "{"},
    }
    return {
        "no start": [opening],
        "two starts": [start, start],
        "a start with content": [{**start, "message": {"id": "msg_1", "content": [{"type": "tool_use"}]}}],
        "a start without message": [{"type": "message_start"}],
        "an id of another alphabet": [{**start, "message": {"id": "msg 1"}}],
        "two open blocks": [start, opening, {**opening, "index": 1}],
        "the same index twice": [start, opening, delta, closing, opening],
        "an index left out": [start, {**opening, "index": 1}],
        "a delta before its block": [start, delta],
        "a delta of another block": [start, opening, {**delta, "index": 1}],
        "a delta after its block": [start, opening, closing, delta],
        "a tool's delta in a text": [start, opening, tool_delta],
        "a delta without text": [start, opening, {**delta, "delta": {"type": "text_delta"}}],
        "a delta that is none": [start, opening, {**delta, "delta": "x"}],
        "two ends of a block": [start, opening, closing, closing],
        "an end within a block": [start, opening, ending, stop],
        "an odd stop reason": [start, {**ending, "delta": {"stop_reason": 7}}],
    }


@pytest.mark.parametrize("case", disordered().items(), ids=lambda case: case[0])
def test_events_out_of_order_end_the_reply(case: tuple[str, list[JsonObject]]) -> None:
    assert failure(case[1]).brief.startswith("the model's reply is malformed")


def test_nothing_counts_after_the_end_of_the_message() -> None:
    events = reply_events(text("a"))
    late = reply_events(tool_use("Bash", "{}"))[1:]
    reply = a_reply()
    passed(reply, events)
    assert passed(reply, late) == []
    assert reply.turn().tool_uses == ()


def test_a_reply_over_a_cap_ends_there() -> None:
    events = reply_events(*[text("a")] * 4)
    assert failure(events, GatewayLimits(reply_blocks=3)).brief == "the model's reply has over 3 blocks"
    assert failure(events, GatewayLimits(reply_bytes=500)).brief == "the model's reply is over 500 bytes"


@pytest.mark.parametrize(("kind", "status"), [("overloaded_error", 529), ("rate_limit_error", 429), ("api_error", 500)])
def test_an_error_within_a_stream_says_what_and_whether_asking_again_may_help(kind: str, status: int) -> None:
    event: JsonObject = {"type": "error", "error": {"type": kind, "message": "Over\x1b[31mloaded\n" + "x" * 1000}}
    error = failure([reply_events()[0], event])
    assert (error.status, error.passing) == (status, True)
    assert error.brief.startswith("the model's upstream broke off: Over [31mloaded x")
    assert len(error.brief) < 400


def test_usage_counts_cached_input_and_never_goes_down() -> None:
    """M11: a cut reply is charged with what was seen."""
    start, *_, ending, _ = reply_events()
    counts: JsonObject = {"input_tokens": 3, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 5, "output_tokens": 9}
    odd: JsonObject = {"input_tokens": -1, "output_tokens": True, "cache_read_input_tokens": "7"}
    reply = a_reply()
    passed(reply, [{**start, "message": {"id": "msg_1", "usage": counts}}, {**ending, "usage": odd}])
    assert reply.usage == Usage(requests=1, input_tokens=12, output_tokens=9)


def test_a_tool_use_is_handed_over_under_the_id_it_is_given() -> None:
    """B11: of two calls with one id the CLI forgets one."""
    reply = Reply(GatewayLimits())
    for event in reply_events(tool_use("Read", "{}", identity="same"), tool_use("Read", "{}", identity="same")):
        reply.feed(event)
    handed = (Handover(name="Read", raw="{}"), Handover(name="Read", raw="{}", id="other"))
    starts = [event["content_block"] for event in reply.release(handed) if event["type"] == "content_block_start"]
    assert [start["id"] for start in starts if isinstance(start, dict)] == ["same", "other"]
    content = reply.message(handed)["content"]
    assert isinstance(content, list)
    assert [block["id"] for block in content if isinstance(block, dict)] == ["same", "other"]
