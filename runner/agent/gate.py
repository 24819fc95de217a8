"""The gate: one hook and one callback in front of every tool call, both asking the same recorded decision (P11).

Translates only. It never answers with changed input or permissions (invariant 5), and whatever is not a plain yes is a no.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny, ToolPermissionContext
from claude_agent_sdk.types import HookContext, HookInput, HookJSONOutput

from runner.model import Json

#: The CLI's timers hold 2^31 ms; a hook that times out is refused (sdk.md §2B), so the hold must end before this.
HOOK_TIMEOUT = 20 * 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the gate says of one call. `reason` is for the model when it is a no."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a brokered call is told: a recorded outcome or a refusal."""

    text: str
    is_error: bool


class Gate(Protocol):
    """Who decides; the supervisor's desk for this segment. Names are the model's, arguments as they came over the wire."""

    async def ask(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """The hook: waits until the call has its answer."""

    async def confirm(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """The callback: the same answer once more; alone, it waits like the hook."""

    async def outcome(self, name: str, arguments: Mapping[str, Json]) -> Outcome:
        """The tool handler: a recorded outcome, once, or a refusal. Never performs anything (invariant 13)."""


def hooks(gate: Gate) -> dict[str, list[HookMatcher]]:
    """The one matcher for all tools; a hook that fails in any way blocks (P10)."""

    async def before_tool(data: HookInput, _tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        call = cast("dict[str, Any]", data)
        name, arguments = call.get("tool_name"), call.get("tool_input")
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return _hook("deny", "the call is malformed")
        answer = await gate.ask(name, arguments)
        return _hook("ask", "decided") if answer.allowed else _hook("deny", answer.reason)

    return {"PreToolUse": [HookMatcher(matcher=None, hooks=[before_tool], timeout=HOOK_TIMEOUT, on_failure="block")]}


class Callback:
    """`can_use_tool`: a plain allow or deny, never with updated input or permissions (cases 50, 58)."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def __call__(
        self, name: str, arguments: dict[str, Any], _context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        """Answer one permission request."""
        answer = await self._gate.confirm(name, arguments)
        return PermissionResultAllow() if answer.allowed else PermissionResultDeny(message=answer.reason or "denied")


def _hook(decision: str, reason: str) -> HookJSONOutput:
    return cast(
        "HookJSONOutput",
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": decision,
                "permissionDecisionReason": reason or "denied",
            }
        },
    )
