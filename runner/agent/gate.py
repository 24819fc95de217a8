"""The gate: one hook and one callback in front of every tool call, both asking the same recorded decision (P11).

Translates only. It never answers with changed input or permissions (invariant 5), and whatever is not a plain yes is a no.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny, ToolPermissionContext
from claude_agent_sdk.types import HookContext, HookInput, HookJSONOutput

from runner.model import Json

#: The CLI's timers hold 2^31 ms; a hook that times out is refused (sdk.md §2B), so the hold must end before this.
HOOK_TIMEOUT = 20 * 86400.0

_FAULT = "refused: the supervisor could not decide about this call, and nothing was done; do not retry it"
_log = logging.getLogger(__name__)


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
        call: Any = data if isinstance(data, dict) else {}
        answer = await _asked(gate.ask, call.get("tool_name"), call.get("tool_input"))
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
        answer = await _asked(self._gate.confirm, name, arguments)
        return PermissionResultAllow() if answer.allowed else PermissionResultDeny(message=answer.reason)


async def told(gate: Gate, name: str, arguments: Mapping[str, Json]) -> Outcome:
    """What a brokered call is told; when the gate fails, that nothing was done now."""
    said = await _settled(gate.outcome(name, arguments))
    if isinstance(said, Outcome) and isinstance(said.text, str):
        return Outcome(text=said.text, is_error=said.is_error is not False)
    return Outcome(text=_FAULT, is_error=True)


async def _asked(question: Callable[[str, Mapping[str, Json]], Awaitable[Answer]], name: object, arguments: object) -> Answer:
    """A plain yes, or a no with words to it."""
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return Answer(allowed=False, reason="refused: the call is malformed")
    said = await _settled(question(name, arguments))
    if not isinstance(said, Answer):
        return Answer(allowed=False, reason=_FAULT)
    if said.allowed is True:
        return Answer(allowed=True)
    return Answer(allowed=False, reason=said.reason if isinstance(said.reason, str) and said.reason else "denied")


async def _settled(question: Awaitable[object]) -> object:
    """What the gate says; None when it fails: what went wrong is for the log and never for the container.

    The gate's edge (P10): whatever is raised in here is a no.
    """
    try:
        return await question
    except Exception:  # noqa: BLE001 -- the gate's edge, one of the two
        _log.exception("the gate failed; its call is refused")
        return None


def _hook(decision: str, reason: str) -> HookJSONOutput:
    return cast(
        "HookJSONOutput",
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": decision,
                "permissionDecisionReason": reason,
            }
        },
    )
