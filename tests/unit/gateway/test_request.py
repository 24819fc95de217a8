"""The re-built request: what travels, what is dropped, what is refused (M6, G3, case 72)."""

from __future__ import annotations

import json

import pytest

from runner.gateway.refusals import RequestRefusedError
from runner.gateway.request import ModelRequest, allowed_betas, read_request, without_reply
from runner.gateway.values import GatewayLimits, Reference, ToolResult
from runner.model import Json, JsonObject
from tests.helpers.gateway import MODEL, OFFERED, a_request

REFERENCE = Reference(model=MODEL, offered=OFFERED)
LIMITS = GatewayLimits()
IMAGE: JsonObject = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
PDF: JsonObject = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}}
READ: JsonObject = {"name": "Read", "description": "reads", "input_schema": {"type": "object"}}


def read(body: JsonObject | bytes, limits: GatewayLimits = LIMITS) -> ModelRequest:
    return read_request(body if isinstance(body, bytes) else json.dumps(body).encode(), reference=REFERENCE, limits=limits)


def refusal(body: JsonObject | bytes, limits: GatewayLimits = LIMITS) -> str:
    with pytest.raises(RequestRefusedError) as caught:
        read(body, limits)
    return caught.value.brief


def user(*content: Json) -> JsonObject:
    return {"role": "user", "content": list(content)}


def a_cli_request() -> JsonObject:
    """The shape CLI 2.1.332 sends, newer models' system messages and placeholder included."""
    mark: JsonObject = {"type": "ephemeral"}
    return {
        "model": MODEL,
        "messages": [
            user({"type": "text", "text": "go", "cache_control": mark}),
            {"role": "system", "content": [{"type": "text", "text": "# Environment\n\nToday's date is 2026-11-30."}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "eA=="},
                    {"type": "text", "text": "reading", "citations": None},
                    {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a"}, "caller": {"type": "direct"}},
                ],
            },
            user({"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "x"}, IMAGE, PDF]}),
            {"role": "system", "content": "<total_tokens>15000000 tokens left</total_tokens>"},
        ],
        "system": [{"type": "text", "text": "test", "cache_control": mark}],
        "tools": [
            {"name": "DeferredToolPlaceholder", "description": "d", "input_schema": {}, "defer_loading": True},
            {**READ, "cache_control": mark},
        ],
        "tool_choice": {"type": "auto"},
        "metadata": {"user_id": "device"},
        "max_tokens": 32000,
        "thinking": {"budget_tokens": 31999, "type": "enabled", "display": "updates"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
        "temperature": 1,
        "stream": True,
    }


def test_what_the_real_cli_sends_is_forwarded_whole_but_for_its_metadata_and_placeholder() -> None:
    sent = a_cli_request()
    made = read(sent)
    expected = {key: value for key, value in sent.items() if key not in {"metadata", "stream"}}
    expected["tools"] = [{**READ, "cache_control": {"type": "ephemeral"}}]
    talk = json.loads(json.dumps(expected["messages"]))
    del talk[2]["content"][2]["citations"]
    expected["messages"] = talk
    assert (made.body, made.stream) == (expected, True)


def test_every_result_is_found_with_its_first_text_only() -> None:
    """Those before a reply too, since anybody can write one; the CLI adds reminders behind a result's text."""
    call, again = (
        {"role": "assistant", "content": [{"type": "tool_use", "id": identity, "name": "Read", "input": {}}]}
        for identity in ("t0", "t1")
    )
    old = user({"type": "tool_result", "tool_use_id": "t0", "content": "old"})
    new = user(
        {"type": "tool_result", "tool_use_id": "t1", "content": "text"},
        {"type": "tool_result", "tool_use_id": "t2", "is_error": True, "content": [{"type": "text", "text": "first"}, IMAGE]},
        {"type": "tool_result", "tool_use_id": "t3", "content": [IMAGE]},
        {"type": "text", "text": "and this"},
    )
    later = user({"type": "tool_result", "tool_use_id": "t4"})
    body = a_request(
        user({"type": "text", "text": "go"}), call, old, again, new, later, {"role": "system", "content": "# Environment"}
    )
    assert read(body).results == (
        ToolResult(tool_use_id="t0", text="old", is_error=False),
        ToolResult(tool_use_id="t1", text="text", is_error=False),
        ToolResult(tool_use_id="t2", text="first", is_error=True),
        ToolResult(tool_use_id="t3", text="", is_error=False),
        ToolResult(tool_use_id="t4", text="", is_error=False),
    )


@pytest.mark.parametrize(
    ("role", "block"),
    [
        ("assistant", {"type": "tool_use", "id": "t", "name": "Read", "input": {}}),
        ("user", {"type": "tool_result", "tool_use_id": "t", "content": "x"}),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_no_call_and_no_result_comes_twice(role: str, block: JsonObject, apart: bool) -> None:
    """B11: a call has one input and one result; thousands of one id would each be given its whole input back."""
    once: list[JsonObject] = [{"role": role, "content": [block]}]
    twice = once * 2 if apart else [{"role": role, "content": [block] * 2}]
    other = {"role": role, "content": [block, {**block, "id": "u"} if role == "assistant" else {**block, "tool_use_id": "u"}]}
    assert read(a_request(other)).body["messages"] == [other]
    assert "with one id" in refusal(a_request(*twice))


@pytest.mark.parametrize(
    "key", ["mcp_servers", "container", "service_tier", "betas", "tools_extra", "anthropic_beta", "speculation", "MODEL"]
)
def test_a_key_outside_the_list_is_refused_by_name(key: str) -> None:
    """G3: connectors, code containers and whatever comes next."""
    assert refusal(a_request(**{key: []})) == f"cannot forward the request: request has the key '{key}', which is not forwarded"


@pytest.mark.parametrize("model", ["claude-other", "", None, ["claude-test"]])
def test_another_model_than_the_profile_s_is_refused(model: Json) -> None:
    assert "not the profile's" in refusal({**a_request(), "model": model})


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "web_search_20250305", "name": "Read", "input_schema": {}},
        {"type": "code_execution_20250825", "name": "code_execution"},
        {"type": "computer_20250124", "name": "Read", "input_schema": {}},
        {"type": "mcp_toolset", "mcp_server_name": "x"},
        {"name": "Bash", "input_schema": {}},
        {"name": "DeferredToolPlaceholder", "input_schema": {}},
        {**READ, "allowed_callers": ["code_execution_20250825"]},
        {"name": "Read"},
        "Read",
    ],
)
def test_only_plain_tools_of_the_reference_are_offered_to_the_model(tool: Json) -> None:
    """Case 72: WebSearch makes the CLI send a server tool, which no network wall stops."""
    assert "cannot forward the request: request.tools[0]" in refusal(a_request(tools=[tool]))


def test_a_tool_offered_twice_is_refused() -> None:
    assert "names a tool twice" in refusal(a_request(tools=[READ, READ]))


@pytest.mark.parametrize("choice", [{"type": "tool", "name": "Bash"}, {"type": "server"}, "auto"])
def test_a_tool_choice_outside_the_reference_is_refused(choice: Json) -> None:
    assert "request.tool_choice" in refusal(a_request(tool_choice=choice))


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "url", "url": "https://example.org/x.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "url", "url": "https://example.org/x.pdf"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "content", "content": []}},
        {"type": "container_upload", "file_id": "file_1"},
        {"type": "tool_reference", "tool_name": "Bash"},
        {"type": "web_search_tool_result", "tool_use_id": "t", "content": []},
        {"type": "tool_use", "id": "t", "name": "Read", "input": {}},
        {"type": "text", "text": 1},
        {"type": "text", "text": "a", "extra": 1},
        {"text": "a"},
        "a",
        None,
    ],
)
def test_a_block_that_points_elsewhere_or_is_of_no_known_kind_is_refused(block: Json) -> None:
    """G3: no URL, no file id, nothing that runs at the provider, in a message or within a tool result."""
    assert refusal(a_request(user(block))).startswith("cannot forward the request: request.messages[0].content[0]")
    result: JsonObject = {"type": "tool_result", "tool_use_id": "t", "content": [block]}
    assert ".content[0].content[0]" in refusal(a_request(user(result)))


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use", "code_execution_tool_result", "tool_result", "image"])
def test_an_assistant_message_holds_only_what_a_model_says(kind: str) -> None:
    block: JsonObject = {"type": kind, "id": "t", "name": "web_search", "input": {}}
    assert f"'{kind}', which is not forwarded" in refusal(a_request({"role": "assistant", "content": [block]}))


def test_a_call_made_by_code_at_the_provider_is_refused() -> None:
    block: JsonObject = {"type": "tool_use", "id": "t", "name": "Read", "input": {}, "caller": {"type": "code_execution"}}
    assert "caller.type" in refusal(a_request({"role": "assistant", "content": [block]}))


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 10**7}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"stream": "yes"}, "stream"),
        ({"system": [{"type": "image"}]}, "system[0]"),
        ({"thinking": {"type": "enabled", "tools": []}}, "thinking"),
        ({"context_management": {"edits": [{"type": "compact_20260112"}]}}, "context_management.edits[0]"),
        ({"output_config": {"format": {}}}, "output_config"),
        ({"stop_sequences": [1]}, "stop_sequences[0]"),
        ({"messages": {}}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": "x", "id": 1}]}, "messages[0]"),
    ],
)
def test_a_known_key_with_an_unknown_value_is_refused_where_it_stands(more: JsonObject, where: str) -> None:
    assert f"request.{where}" in refusal({**a_request(), **more})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"model": "claude-test", "model": "claude-test", "messages": []}',
        b'{"model": "claude-test", "messages": [], "temperature": NaN}',
        b'{"model": "\xff"}',
        b'{"model": "claude-test", "messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"a":' * 200 + b"1" + b"}" * 200,
    ],
)
def test_a_body_that_two_readers_might_read_differently_is_refused(data: bytes) -> None:
    assert refusal(data).startswith("cannot")


def test_a_body_of_too_many_values_is_refused_before_it_is_parsed() -> None:
    limits = GatewayLimits(body_items=1000)
    assert refusal(b"[" + b"0," * 2000 + b"0]", limits) == "cannot read the request: too many values"


@pytest.mark.parametrize("more", [{}, {"ttl": "5m"}, {"scope": "global"}])
def test_a_cache_mark_keeps_nothing_but_itself(more: JsonObject) -> None:
    body = a_request(user({"type": "text", "text": "a", "cache_control": {"type": "ephemeral", **more}}))
    assert read(body).body["messages"] == [user({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}})]


@pytest.mark.parametrize("ttl", ["1h", "9y", 3600])
def test_a_cache_for_longer_than_is_reserved_for_is_refused(ttl: Json) -> None:
    """M11: writing it costs twice what input does, and what is set aside is a quarter more. The CLI here never asks for it."""
    mark: JsonObject = {"type": "ephemeral", "ttl": ttl}
    for body in (
        a_request(user({"type": "text", "text": "a", "cache_control": mark})),
        a_request(system=[{"type": "text", "text": "a", "cache_control": mark}]),
        a_request(tools=[{**READ, "cache_control": mark}]),
    ):
        assert "cache_control.ttl" in refusal(body)


def test_betas_that_grant_something_are_dropped() -> None:
    header = "claude-code-20250219, files-api-2025-04-14,mcp-client-2025-11-20,interleaved-thinking-2025-05-14,"
    assert allowed_betas(header) == ("claude-code-20250219", "interleaved-thinking-2025-05-14")


def test_counting_tokens_takes_what_is_counted_only() -> None:
    assert without_reply(read(a_request(system="s", temperature=1)).body) == {
        "model": MODEL,
        "messages": [{"role": "user", "content": "go"}],
        "system": "s",
    }
