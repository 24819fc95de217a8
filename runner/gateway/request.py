"""From the bytes a container sent to the request the upstream gets.

Owns strict parsing and the allow-list of top-level keys (M6, G3, case 72). Unknown keys are refused, not ignored: a request
that asks for more than the CLI of this version ever does is a sign of a lying one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runner.digest import MalformedJsonError, objects, parse_strict
from runner.gateway.content import TEXT, cache_control, message
from runner.gateway.media import check_media
from runner.gateway.notes import check_notes
from runner.gateway.refusals import RequestRefusedError
from runner.gateway.shapes import (
    Rule,
    anything,
    by_type,
    flag,
    listed,
    number,
    one_of,
    record,
    refuse,
    shown,
    text,
    text_or,
    whole,
)
from runner.gateway.values import GatewayLimits, Reference, ToolResult
from runner.model import Json, JsonObject

#: Tool inputs may nest 64 deep; they stand a few levels down in a request.
_DEPTH = 96
_MESSAGES = 20_000

#: What these models' thinking, effort and context editing need. No beta here grants a tool, a file or a connection.
BETAS = frozenset(
    {
        "claude-code-20250219",
        "interleaved-thinking-2025-05-14",
        "context-management-2025-06-27",
        "thinking-token-count-2026-05-13",
        "thinking-display-updates-2026-08-18",
        "effort-2025-11-24",
    }
)

#: The CLI adds this entry, marked `defer_loading`, for models it believes able to load tools later. Nothing is ever deferred
#: here, so it is left out.
_PLACEHOLDER = "DeferredToolPlaceholder"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request fit to be forwarded; `body` is ours, re-built, with `stream` left out."""

    body: JsonObject
    stream: bool
    results: tuple[ToolResult, ...]
    size: int = 0  #: bytes of the body it came in


def read_request(body: bytes, *, reference: Reference, limits: GatewayLimits) -> ModelRequest:
    """Parse and re-build a request.

    Args:
        body: The HTTP body as received.
        reference: What model and tools must agree with.
        limits: Caps.

    Raises:
        RequestRefusedError: Malformed, or asking for what is not forwarded.
    """
    value = _parse(body, limits)
    if not isinstance(value, dict):
        refuse("it", "is not an object")
    if value.get("model") != reference.model:
        refuse("model", f"is {shown(value.get('model'))}, not the profile's")
    made = record(_needed(), _maybe(reference, limits), dropped=frozenset({"metadata"}))(value, "request")
    assert isinstance(made, dict)  # noqa: S101 - what `record` makes, said to the type checker
    check_media(made["messages"], limits)
    check_notes(made["messages"], model=reference.model)
    return ModelRequest(body=made, stream=made.pop("stream", False) is True, results=_results(made["messages"]), size=len(body))


def allowed_betas(header: str) -> tuple[str, ...]:
    """The betas of a request's header that are forwarded; others are dropped."""
    return tuple(name for name in (part.strip() for part in header.split(",")) if name in BETAS)


def without_reply(request: JsonObject) -> JsonObject:
    """The keys of a request that counting tokens takes."""
    taken = ("model", "messages", "system", "tools", "tool_choice", "thinking", "context_management", "output_config")
    return {key: request[key] for key in taken if key in request}


def _parse(body: bytes, limits: GatewayLimits) -> Json:
    # Counted before parsing: a million tiny values take seconds and hundreds of MiB, whatever their bytes.
    if sum(body.count(mark) for mark in (b'"', b",", b"[", b"{")) > limits.body_items:
        raise RequestRefusedError("cannot read the request: too many values", status=413)
    try:
        return parse_strict(body.decode(), max_depth=_DEPTH, max_parts=limits.body_parts)
    except (UnicodeDecodeError, MalformedJsonError) as error:
        raise RequestRefusedError(f"cannot read the request: {error}") from None


def _needed() -> dict[str, Rule]:
    return {"model": text(256), "messages": listed(message, _MESSAGES)}


def _maybe(reference: Reference, limits: GatewayLimits) -> dict[str, Rule]:
    effort = one_of("low", "medium", "high", "xhigh", "max")
    return {
        "system": text_or(listed(by_type({"text": TEXT}), 100)),
        "tools": _tools(reference.offered),
        "tool_choice": _tool_choice(reference.offered),
        "max_tokens": whole(1, limits.max_tokens),
        "stop_sequences": listed(text(1000), 100),
        "stream": flag,
        "temperature": number(0, 2),
        "top_p": number(0, 1),
        "top_k": whole(0, 100_000),
        "thinking": record(
            {"type": one_of("enabled", "disabled", "adaptive")},
            {"budget_tokens": whole(0, limits.max_tokens), "display": one_of("updates", "omitted", "summarized")},
        ),
        "context_management": record({}, {"edits": listed(_EDIT, 10)}),
        "output_config": record({}, {"effort": effort}),
    }


def _keep(value: Json, where: str) -> Json:
    if value == "all":
        return value
    return record({"type": one_of("thinking_turns"), "value": whole(0, 100_000)})(value, where)


_EDIT = record({"type": one_of("clear_thinking_20251015")}, {"keep": _keep})


def _tools(offered: frozenset[str]) -> Rule:
    """Plain client tools of the reference only; anything that runs at the provider has another type (case 72)."""
    plain = record(
        {"name": one_of(*offered), "input_schema": anything},
        {"type": one_of("custom"), "description": text(), "cache_control": cache_control, "strict": flag},
        dropped=frozenset({"defer_loading", "eager_input_streaming"}),
    )

    def rule(value: Json, where: str) -> Json:
        if isinstance(value, list):
            value = [tool for tool in value if not _is_placeholder(tool)]
        made = listed(plain, 512)(value, where)
        names = [tool["name"] for tool in objects(made)]
        if len(set(map(str, names))) != len(names):
            refuse(where, "names a tool twice")
        return made

    return rule


def _is_placeholder(tool: Json) -> bool:
    return isinstance(tool, dict) and tool.get("name") == _PLACEHOLDER and tool.get("defer_loading") is True


def _tool_choice(offered: frozenset[str]) -> Rule:
    parallel: Mapping[str, Rule] = {"disable_parallel_tool_use": flag}
    return by_type(
        {
            **{kind: record({"type": one_of(kind)}, parallel) for kind in ("auto", "any", "none")},
            "tool": record({"type": one_of("tool"), "name": one_of(*offered)}, parallel),
        }
    )


def _results(messages: Json) -> tuple[ToolResult, ...]:
    """Every tool result, wherever it stands: words of the agent's that it puts behind a result make it no older."""
    blocks = [block for item in objects(messages) for block in objects(item["content"])]
    for kind, key in (("tool_use", "id"), ("tool_result", "tool_use_id")):
        named = [str(block[key]) for block in blocks if block["type"] == kind]
        if len(set(named)) != len(named):
            refuse("messages", f"hold two blocks of type {kind} with one id")
    return tuple(_result(block) for block in blocks if block["type"] == "tool_result")


def _result(block: JsonObject) -> ToolResult:
    content = block.get("content", "")
    if isinstance(content, list):
        texts = [part["text"] for part in objects(content) if part["type"] == "text"]
        content = texts[0] if texts else ""
    return ToolResult(tool_use_id=str(block["tool_use_id"]), text=str(content), is_error=block.get("is_error") is True)
