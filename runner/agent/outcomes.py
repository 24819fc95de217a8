"""The in-process tool server of one segment. Its handlers perform nothing: they return what is on record.

A bare tool message from the container runs a handler with no hook before it, and can be cancelled halfway (case 108);
nothing is lost or gained by either, because here is nothing to start, stop, order or repeat (invariant 13).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool, create_sdk_mcp_server

from runner.agent.gate import Gate, told
from runner.agent.options import brokered_tools
from runner.model import SERVER, Json, Profile
from runner.policy.catalogue import TOOLS, model_name


def outcome_server(profile: Profile, gate: Gate) -> McpSdkServerConfig:
    """The server `runner` with the profile's brokered tools, closing over this segment's gate."""
    return create_sdk_mcp_server(SERVER, "1", [_offer(name, gate) for name in brokered_tools(profile)])


def _offer(name: str, gate: Gate) -> SdkMcpTool[Any]:
    tool = TOOLS[name]
    return SdkMcpTool(
        name=name,
        description=tool.told,
        # The SDK checks arguments against it and answers in its own words; an honest CLI's call has passed the gate before.
        input_schema=dict(tool.json_schema()),
        handler=_handler(model_name(name), gate),
    )


def _handler(name: str, gate: Gate) -> Callable[[Mapping[str, Json]], Awaitable[dict[str, Any]]]:
    async def deliver(arguments: Mapping[str, Json]) -> dict[str, Any]:
        outcome = await told(gate, name, arguments)
        return {"content": [{"type": "text", "text": outcome.text}], "is_error": outcome.is_error}

    return deliver
