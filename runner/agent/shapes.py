"""What of the CLI's frames reaches the SDK, re-built field by field: what no rule names does not exist.

The SDK reads frames trustingly: a list where it expects a word ends its reader with a fault that looks like ours, and whatever
it does not need it keeps in memory. Pure.
"""

from __future__ import annotations

from runner.errors import AgentProtocolError
from runner.model import Json, JsonObject

CONTROL = frozenset({"control_request", "control_response", "control_cancel_request"})

_MAX_ID = 200
_MAX_WORD = 100
_MAX_TEXT = 2000
#: Fields of each kind of request that the SDK or our gate read. Identity, suggestions and descriptions are the container's
#: words about itself and are left behind.
_REQUESTS = {
    "can_use_tool": ("tool_name", "input"),
    "hook_callback": ("callback_id", "input"),
    "mcp_message": ("server_name", "message"),
}


def request_id(frame: JsonObject) -> str:
    """A control frame's id: data, good for matching an answer and for nothing else.

    Raises:
        AgentProtocolError: It has none.
    """
    found = frame.get("request_id")
    if not isinstance(found, str) or not 0 < len(found) <= _MAX_ID:
        raise AgentProtocolError("cannot take the agent's request: its id is missing or no short text")
    return found


def for_sdk(frame: JsonObject) -> JsonObject | None:
    """The frame as the SDK is given it; None for one that it needs nothing of.

    Raises:
        AgentProtocolError: A control frame is not of the protocol's form, or refuses a request of ours.
    """
    match frame["type"]:
        case "control_request":
            return {"type": "control_request", "request_id": request_id(frame), "request": _request(frame.get("request"))}
        case "control_response":
            return {"type": "control_response", "response": _response(frame.get("response"))}
        case "control_cancel_request":
            return {"type": "control_cancel_request", "request_id": request_id(frame)}
        case "result":
            return _result(frame)
        case _:
            return None


def _request(value: Json) -> JsonObject:
    subtype = value.get("subtype") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(subtype, str):
        raise AgentProtocolError("cannot take the agent's request: it does not say what it asks")
    wanted = _REQUESTS.get(subtype)
    if wanted is None:  # the SDK answers an error that repeats the word
        return {"subtype": subtype[:_MAX_WORD]}
    return {"subtype": subtype, **{name: value.get(name) for name in wanted}}


def _response(value: Json) -> JsonObject:
    """An answer to our one request, `initialize`."""
    if not isinstance(value, dict):
        raise AgentProtocolError("cannot read the agent's answer: it is no object")
    if value.get("subtype") != "success":
        raise AgentProtocolError("cannot start the agent: it refuses to", details=ascii(value.get("error"))[:_MAX_TEXT])
    return {"subtype": "success", "request_id": request_id(value), "response": value.get("response")}


def _result(frame: JsonObject) -> JsonObject:
    """The container's word of how it ended, for the log; figures are left out, since ours are the gateway's."""
    errors = frame.get("errors")
    return {
        "type": "result",
        "subtype": _text(frame.get("subtype"), _MAX_WORD) or "unknown",
        "is_error": frame.get("is_error") is not False,
        "result": _text(frame.get("result"), _MAX_TEXT),
        "errors": [_text(error, _MAX_TEXT) for error in errors[:3]] if isinstance(errors, list) else [],
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "session_id": "",
    }


def _text(value: Json, limit: int) -> str:
    return value[:limit] if isinstance(value, str) else ""
