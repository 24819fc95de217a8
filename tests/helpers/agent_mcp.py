"""The handshake of the tool server, as the pinned CLI words it."""

from __future__ import annotations

from runner.model import JsonObject

HANDSHAKE: tuple[JsonObject, ...] = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "1"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)
