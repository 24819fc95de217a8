"""The two ways a request ends without a reply, and how the CLI is told.

Owns the map from HTTP status to the Messages API's error types. Texts that go to the container name nothing of the
supervisor's: no id, no path, no key (invariant 7).
"""

from __future__ import annotations

import re

from runner.errors import GatewayError
from runner.model import JsonObject

#: What the container is told when the desk refuses; the real reason stays on this side.
DESK_REFUSED = "the supervisor refused this request; the run cannot go on"

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
#: The statuses of the errors a stream may carry.
_STATUS = {"overloaded_error": 529, "rate_limit_error": 429, "invalid_request_error": 400, "authentication_error": 401}
_CONTROLS = re.compile(r"[^\x20-\x7e\u00a1-\u167f\u3040-\ud7ff]+")


class RequestRefusedError(GatewayError):
    """The container asked for something this door does not do.

    Args:
        brief: Why; may be shown to the container.
        status: HTTP status of the answer.
        details: As in `RunnerError`.
        resolution: As in `RunnerError`.
    """

    code = "gateway_refused"

    def __init__(self, brief: str, *, status: int = 400, details: str | None = None, resolution: str | None = None) -> None:
        super().__init__(brief, details=details, resolution=resolution)
        self.status = status


class UpstreamError(GatewayError):
    """The model's upstream refused, broke off or stayed silent.

    Args:
        brief: Why, cleaned and bounded; may be shown to the container.
        status: The upstream's HTTP status, or the nearest one for a broken connection.
        details: As in `RunnerError`.
        resolution: As in `RunnerError`.
    """

    code = "upstream"

    def __init__(self, brief: str, *, status: int = 502, details: str | None = None, resolution: str | None = None) -> None:
        super().__init__(brief, details=details, resolution=resolution)
        self.status = status
        self.retry_after: float | None = None  #: seconds the upstream asked for

    @property
    def passing(self) -> bool:
        """Whether asking again may help."""
        return self.status in {408, 429} or self.status >= 500


def error_body(status: int, message: str) -> JsonObject:
    """The Messages API's error object, which is also the data of an `error` event."""
    return {"type": "error", "error": {"type": _KINDS.get(status, "api_error"), "message": clean(message)}}


def status_for_cli(error: UpstreamError) -> int:
    """The status that makes the CLI give up at once: it tries 401 and 400 again, 403 and a marked 5xx not (measured)."""
    if error.status in {401, 403}:
        return 403
    return error.status if error.status in {400, 404, 413, 429, 500, 503, 504, 529} else 500


def raise_if_error(event: JsonObject) -> None:
    """Turn a stream's `error` event into the exception it stands for.

    Raises:
        UpstreamError: The event is one.
    """
    if event.get("type") != "error":
        return
    error = event.get("error")
    kind = error.get("type") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    raise UpstreamError(f"the model's upstream broke off: {clean(str(message or kind))}", status=_STATUS.get(str(kind), 500))


def clean(text: str, limit: int = 300) -> str:
    """One printable, bounded line of a text that came from outside."""
    line = _CONTROLS.sub(" ", text).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"
