"""Start-up drift check: did the flags take effect? What the CLI says of itself is compared with what it was started with.

The container's word proves nothing about a hostile CLI; this catches an honest one that changed under an upgrade (sdk.md §2C).
"""

from __future__ import annotations

from runner.agent.options import brokered_tools, container_tools, versions
from runner.model import SERVER, WORKSPACE, Json, JsonObject, Profile
from runner.policy.catalogue import model_name


def drift(init: JsonObject, profile: Profile) -> tuple[str, ...]:
    """Differences between the `system/init` line and the profile; empty when it is as it should be."""
    brokered = brokered_tools(profile)
    expected: JsonObject = {
        "tools": [*sorted([*container_tools(profile), *(model_name(name) for name in brokered)])],
        "mcp_servers": [f"{SERVER} connected sdk"] if brokered else [],
        "permissionMode": "default",
        "claude_code_version": versions()[1],
        "cwd": str(WORKSPACE),
        "model": profile.model,
    }
    found: JsonObject = {
        "tools": _names(init.get("tools")),
        "mcp_servers": _servers(init.get("mcp_servers")),
        **{key: init.get(key) for key in ("permissionMode", "claude_code_version", "cwd", "model")},
    }
    return tuple(f"{key} is {found[key]!r}, expected {expected[key]!r}" for key in expected if found[key] != expected[key])


def _names(value: Json) -> Json:
    return [*sorted(str(item) for item in value)] if isinstance(value, list) else None


def _servers(value: Json) -> Json:
    if not isinstance(value, list):
        return None
    servers = [item if isinstance(item, dict) else {} for item in value]
    return [f"{item.get('name')} {item.get('status')} {item.get('source')}" for item in servers]
