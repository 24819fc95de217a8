"""Errors on the wire: the contract's JSON object, both ways.

Owns the mapping between an error class and its code. Never invents a message.
"""

from __future__ import annotations

from runner.errors import RunnerError, every_error
from runner.model import JsonObject


def error_body(error: RunnerError) -> JsonObject:
    """The JSON of an error, as the API answers it."""
    body: JsonObject = {"code": error.code, "message": error.brief, "hint": error.resolution or ""}
    if error.details:
        body["details"] = error.details
    return {"error": body}


def error_from(body: object) -> RunnerError:
    """The error a supervisor answered, as the class it was raised as; what is no error body says so itself."""
    found = body.get("error") if isinstance(body, dict) else None
    if not isinstance(found, dict) or not isinstance(found.get("message"), str):
        return RunnerError("cannot read the supervisor's answer: it is no error of ours")
    kind = every_error().get(str(found.get("code")), RunnerError)
    return kind(found["message"], details=_text(found.get("details")), resolution=_text(found.get("hint")))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
