"""Start-up drift check: did the flags take effect? What the CLI says of itself is compared with what it was started with.

The container's word proves nothing about a hostile CLI; this catches an honest one that changed under an upgrade (sdk.md §2C).
"""

from __future__ import annotations

from runner.agent.options import brokered_tools, container_tools, versions
from runner.model import SERVER, WORKSPACE, Json, JsonObject, Profile
from runner.policy.catalogue import model_name

#: Longest words of the container's that are repeated in a difference.
_SHOWN = 300


def drift(init: JsonObject, profile: Profile) -> tuple[str, ...]:
    """Differences between the `system/init` line and the profile; empty when it is as it should be."""
    brokered = brokered_tools(profile)
    expected: JsonObject = {
        "tools": [*sorted([*container_tools(profile), *(model_name(name) for name in brokered)])],
        "mcp_servers": [f"{SERVER} connected sdk"] if brokered else [],
        "plugins": [],
        "permissionMode": "default",
        "claude_code_version": versions()[1],
        "cwd": str(WORKSPACE),
        "model": profile.model,
        "apiKeySource": "ANTHROPIC_API_KEY",  # an apiKeyHelper of the directory's settings would say so here (case 82)
        "slash_commands": [],
        "skills": [],
    }
    found: JsonObject = {
        **{key: init.get(key) for key in expected},
        "tools": _names(init.get("tools")),
        "mcp_servers": _servers(init.get("mcp_servers")),
        "plugins": _plugins(init.get("plugins")),
    }
    return tuple(
        f"{key} is {ascii(found[key])[:_SHOWN]}, expected {expected[key]!r}" for key in expected if found[key] != expected[key]
    )


def _names(value: Json) -> Json:
    return [*sorted(str(item) for item in value)] if isinstance(value, list) else None


def _servers(value: Json) -> Json:
    if not isinstance(value, list):
        return None
    servers = [item if isinstance(item, dict) else {} for item in value]
    return [f"{item.get('name')} {item.get('status')} {item.get('source')}" for item in servers]


def _plugins(value: Json) -> Json:
    """Plugins that do not come with the CLI; the three that do stay listed under safe mode."""
    if not isinstance(value, list):
        return None
    return [item for item in value if not (isinstance(item, dict) and item.get("path") == "builtin")]
