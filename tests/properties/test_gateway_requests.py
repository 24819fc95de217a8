"""For any JSON in a request: it is refused, or what is forwarded was named by the allow-list (M6)."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.gateway.history import History
from runner.gateway.refusals import RequestRefusedError
from runner.gateway.request import read_request
from runner.gateway.values import GatewayLimits, Handover, Reference, ToolUse
from runner.model import Json, JsonObject
from tests.helpers.gateway import MODEL, OFFERED, a_request

REFERENCE = Reference(model=MODEL, offered=OFFERED)
KINDS = [
    "text",
    "image",
    "document",
    "tool_use",
    "tool_result",
    "thinking",
    "server_tool_use",
    "container_upload",
    "url",
    "file",
]
KEYS = ["type", "text", "source", "content", "url", "file_id", "name", "input", "id", "tool_use_id", "data", "media_type"]
TOP = {
    *("model", "messages", "system", "tools", "tool_choice", "max_tokens", "stop_sequences", "temperature"),
    *("top_p", "top_k", "thinking", "context_management", "output_config"),
}
scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from([*KINDS, "base64", "image/png", "x"]))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)),
    max_leaves=12,
)


def kinds_in(value: Json) -> set[str]:
    """Every `type` a re-built body holds outside free-form inputs."""
    if isinstance(value, list):
        return {kind for item in value for kind in kinds_in(item)}
    if not isinstance(value, dict):
        return set()
    found = {str(value["type"])} if "type" in value else set()
    return found | {kind for key, item in value.items() if key not in {"input", "input_schema"} for kind in kinds_in(item)}


@settings(max_examples=400, deadline=None)
@given(
    content=values,
    role=st.sampled_from(["user", "assistant", "system", "tool"]),
    more=st.dictionaries(
        st.sampled_from([*sorted(TOP - {"model", "messages"}), "mcp_servers", "container"]), values, max_size=2
    ),
)
def test_whatever_is_forwarded_holds_known_keys_and_kinds_only(content: Json, role: str, more: JsonObject) -> None:
    body = {**a_request({"role": role, "content": content}), **more}
    try:
        made = read_request(json.dumps(body).encode(), reference=REFERENCE, limits=GatewayLimits())
    except RequestRefusedError:
        return
    assert made.body.keys() <= TOP
    assert kinds_in(made.body["messages"]) <= {
        *(
            "text",
            "image",
            "document",
            "tool_use",
            "tool_result",
            "thinking",
            "redacted_thinking",
            "base64",
            "ephemeral",
            "direct",
        )
    }


@given(data=st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail_in_another_way(data: bytes) -> None:
    with pytest.raises(RequestRefusedError) as caught:
        read_request(data, reference=REFERENCE, limits=GatewayLimits())
    assert caught.value.brief.isprintable()


@given(
    calls=st.lists(
        st.tuples(st.sampled_from(["t1", "t2", "t3"]), st.sampled_from(["Read", "Bash"]), st.integers(0, 3), st.booleans()),
        max_size=6,
    )
)
def test_a_call_handed_over_in_any_form_comes_back_as_the_model_wrote_it(calls: list[tuple[str, str, int, bool]]) -> None:
    """Repeated ids included: the last call under an id is the one that is remembered, so each turn restores its own."""
    history = History()
    for identity, name, number, replaced in calls:
        tool = ToolUse(id=identity, name=name, raw=json.dumps({"n": number}))
        given_name = f"undeclared__{name}" if replaced else name
        given_input: JsonObject = {} if replaced else {"n": number}
        history.note(tool, Handover(name=given_name, raw=json.dumps(given_input)))
        wrote: list[Json] = [_message(identity, given_name, given_input)]
        expected = [_message(identity, name, {"n": number})]
        history.restore(wrote)
        assert wrote == expected
        again = copy.deepcopy(wrote)
        history.restore(again)
        assert again == expected


def _message(identity: str, name: str, arguments: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": identity, "name": name, "input": arguments}]}
