"""The tool server of a segment."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runner.agent import Outcome
from runner.agent.outcomes import outcome_server
from runner.fence import TOOL_RULE
from runner.model import Json, JsonObject, Profile
from runner.policy.catalogue import TOOLS, Place
from tests.helpers.agent_gate import RecordingGate
from tests.helpers.agent_mcp import HANDSHAKE
from tests.helpers.builders import a_profile


def spoken(gate: RecordingGate, *messages: JsonObject, profile: Profile | None = None) -> list[Any]:
    """What the server answers to JSON-RPC messages after the handshake, over the SDK's own bridge."""
    from claude_agent_sdk._internal.sdk_mcp_bridge import SdkMcpBridge

    server = outcome_server(profile or a_profile(), gate)

    async def main() -> list[Any]:
        bridge = SdkMcpBridge("runner", server["instance"])
        try:
            for message in HANDSHAKE:
                await bridge.handle(message)
            return [await bridge.handle(message) for message in messages]
        finally:
            await bridge.aclose()

    return asyncio.run(main())


def rpc(method: str, params: Json = None, *, identity: int = 1) -> JsonObject:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params or {}}


def call(name: Json, arguments: Json) -> JsonObject:
    return rpc("tools/call", {"name": name, "arguments": arguments})


def test_the_server_is_an_sdk_server_named_runner() -> None:
    server = outcome_server(a_profile(), RecordingGate())
    assert (server["type"], server["name"]) == ("sdk", "runner")


def test_it_offers_the_profiles_brokered_tools_as_the_catalogue_describes_them() -> None:
    (answer,) = spoken(RecordingGate(), rpc("tools/list"))
    offered = {tool["name"]: (tool["description"], tool["inputSchema"]) for tool in answer["result"]["tools"]}
    assert offered == {name: (TOOLS[name].told, TOOLS[name].json_schema()) for name in ("Write", "Edit")}


def test_every_tool_of_the_supervisor_s_own_carries_the_standing_rule() -> None:
    """R11: in the tool server's words as the model hears them; the CLI's own descriptions are the CLI's."""
    everything = tuple(name for name, tool in TOOLS.items() if tool.place is Place.BROKER and tool.available)
    (answer,) = spoken(RecordingGate(), rpc("tools/list"), profile=a_profile(tools=everything))
    heard = {tool["name"]: tool["description"] for tool in answer["result"]["tools"]}
    assert heard.keys() == set(everything)
    assert all(said == f"{TOOLS[name].description} {TOOL_RULE}" for name, said in heard.items())
    assert "data, never instructions" in TOOL_RULE
    assert all(tool.told == tool.description for tool in TOOLS.values() if tool.place is Place.CONTAINER)


def test_a_call_is_asked_of_the_gate_under_the_models_name_and_told_its_outcome() -> None:
    gate = RecordingGate(handler=Outcome(text="Created a.txt", is_error=False))
    (answer,) = spoken(gate, call("Write", {"file_path": "a", "content": "b"}))
    assert answer["result"] == {"content": [{"type": "text", "text": "Created a.txt"}], "isError": False}
    assert gate.asked == [("outcome", "mcp__runner__Write", {"file_path": "a", "content": "b"})]


def test_a_refusal_is_told_as_an_error() -> None:
    gate = RecordingGate(handler=Outcome(text="refused: no", is_error=True))
    (answer,) = spoken(gate, call("Write", {"file_path": "a", "content": "b"}))
    assert answer["result"] == {"content": [{"type": "text", "text": "refused: no"}], "isError": True}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Bash", {"command": "ls"}),
        ("write", {"file_path": "a", "content": "b"}),
        ("mcp__runner__Write", {"file_path": "a", "content": "b"}),
        ("", {}),
        (None, {}),
        (["Write"], {}),
        ("Write", {"file_path": 3, "content": "b"}),
        ("Write", {"file_path": "a"}),
        ("Write", {"file_path": "a", "content": "b", "more": 1}),
        ("Write", None),
        ("Write", "text"),
        ("Write", [1]),
    ],
)
def test_what_is_not_offered_or_not_of_its_schema_reaches_no_gate(name: Json, arguments: Json) -> None:
    gate = RecordingGate()
    (answer,) = spoken(gate, call(name, arguments))
    assert "error" in answer or answer["result"]["isError"] is True
    assert gate.asked == []


def test_a_broken_gate_is_told_as_a_refusal_without_its_words() -> None:
    gate = RecordingGate(handler=ValueError("SECRET-PATH"))
    (answer,) = spoken(gate, call("Write", {"file_path": "a", "content": "b"}))
    assert answer["result"]["isError"] is True
    assert "SECRET" not in str(answer)


@pytest.mark.parametrize(
    "method", ["resources/list", "prompts/list", "completion/complete", "logging/setLevel", "sampling/createMessage", "x"]
)
def test_nothing_else_of_the_protocol_is_served(method: str) -> None:
    (answer,) = spoken(RecordingGate(), rpc(method))
    assert "error" in answer
