"""The closed table of tools, their two names, and the digests and keys that stand for a definition and a call.

A tool's class comes from here and never from a server's annotations or from the model (P7). Names are mapped here and nowhere
else: profiles, approvals and logs say `Write`, the model sees `mcp__runner__Write`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from runner.digest import digest_json
from runner.model import SERVER, Digest, Json, JsonObject
from runner.paths import normalise
from runner.policy.file_tools import FILE_TOOLS
from runner.policy.outside_tools import OUTSIDE_TOOLS
from runner.policy.tool import Argument, ArgumentKind, Place, Tool

__all__ = [
    "NEVER",
    "TOOLS",
    "Argument",
    "ArgumentKind",
    "Place",
    "Tool",
    "call_key",
    "definition_digest",
    "is_connector",
    "model_name",
    "profile_name",
    "unknown_tool",
]

#: Every tool there is, under the profile's name.
TOOLS: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in (*FILE_TOOLS, *OUTSIDE_TOOLS)})

_OF_THE_CLI = """
Agent AskUserQuestion CronCreate CronDelete CronList EndConversation EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree
KillShell LS ListAgents Monitor MultiEdit NotebookRead PowerShell ReportFindings ScheduleWakeup SendMessage Skill Task
TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite ToolSearch View
"""
#: Tools of the CLI, present and past, that no profile may list (design.md §7; cases 44, 71, 84).
NEVER = frozenset(_OF_THE_CLI.split())

_CONNECTOR = re.compile(r"mcp__(?!runner__|mcp__)[A-Za-z0-9-]{1,40}__[A-Za-z0-9_-]{1,64}")
_OWN = f"mcp__{SERVER}__"


def is_connector(name: str) -> bool:
    """Whether a profile's name is a connector's tool, `mcp__<connector>__<tool>`."""
    return _CONNECTOR.fullmatch(name) is not None


def model_name(tool: str) -> str:
    """The name under which the model sees the profile's `tool`."""
    if is_connector(tool):
        return _OWN + tool.removeprefix("mcp__")
    known = TOOLS.get(tool)
    return tool if known is not None and known.place is Place.CONTAINER else _OWN + tool


def profile_name(model_name: str) -> str | None:
    """The profile's name for what the model calls `model_name`; None when no tool is offered under it."""
    if not model_name.startswith(_OWN):
        known = TOOLS.get(model_name)
        return model_name if known is not None and known.place is Place.CONTAINER else None
    name = model_name.removeprefix(_OWN)
    if name in TOOLS:
        return name if TOOLS[name].place is Place.BROKER else None
    return f"mcp__{name}" if is_connector(f"mcp__{name}") else None


def unknown_tool(name: str) -> Tool:
    """A tool nobody declared: an irreversible write with egress, whatever it says of itself (R89, P5)."""
    return Tool(name=name, description="", arguments=None)


@lru_cache(maxsize=512)
def definition_digest(tool: Tool) -> Digest:
    """Digest of what a tool is offered as: name, description, schema."""
    fields: JsonObject = {"name": tool.name, "description": tool.told, "schema": tool.json_schema()}
    return digest_json("runner.tool.v1", fields)


def call_key(tool: str, input: Mapping[str, Json]) -> str:
    """Key under which the gateway's call and the hook's are the same call, though the CLI has collapsed its path.

    Several calls of one turn may share a key; then each takes the strictest of their decisions. No default is filled in.

    Args:
        tool: The profile's name for the tool.
        input: The strictly parsed input.

    Raises:
        MalformedJsonError: The input has no canonical form.
    """
    fields: JsonObject = dict(input)
    known = TOOLS.get(tool)
    for argument in (known.arguments or ()) if known is not None else ():
        value = fields.get(argument.name)
        if not isinstance(value, str):
            continue
        if argument.blank_is_absent and not value.strip():
            del fields[argument.name]
        elif argument.path is not None:
            fields[argument.name] = normalise(value)
    return digest_json("runner.call-key.v1", {"tool": tool, "input": fields})
