"""Why a capture is not taken over the network: one table for both ends, so that a sender can act on what it is told.

Whoever has no key that is known here gets `refused` and nothing else, whatever they did (issue 8).
"""

from __future__ import annotations

from typing import NamedTuple

from runner.errors import DeliveryError


class Refusal(NamedTuple):
    """A reason: HTTP status, exit code of the sender's command, words, what to do; `again`: it may pass by itself."""

    status: int
    exit_code: int
    says: str
    hint: str
    again: bool = False


STRANGER = "refused"

REFUSALS: dict[str, Refusal] = {
    STRANGER: Refusal(
        404, 7, "the other side does not take it from this key", "check the address; ask its owner to add your key"
    ),
    "clock": Refusal(403, 1, "the request's time is too far from the other side's", "set this machine's clock"),
    "replayed": Refusal(409, 1, "the request was seen before", "send it again", again=True),
    "not_for_you": Refusal(
        403, 7, "there is no such agent for this key", "ask its owner for the agent's name, and to list you"
    ),
    "retired": Refusal(410, 3, "the agent was retired", "ask its owner"),
    "rate": Refusal(429, 1, "too many captures from this key", "try again later", again=True),
    "paused": Refusal(423, 8, "the other side is paused", "try again later"),
    "too_large": Refusal(413, 2, "it is too large", "send less: fewer or smaller images, a shorter text"),
    "malformed": Refusal(400, 2, "it is no capture", "runner send --help"),
    "conflict": Refusal(409, 2, "another capture was sent under the same key for it", "send it anew"),
    "busy": Refusal(503, 9, "the other side has its hands full", "try again later", again=True),
    "not_found": Refusal(404, 3, "there is no such capture of this key", "runner send printed its id"),
    "no_share": Refusal(404, 3, "there is no such share for this key", "runner get --to URL lists what there is"),
    "gone": Refusal(410, 5, "it was taken back, or its time was up", "ask its owner to share it again"),
}


def refused(code: str, *, more: str = "", retry_after: int | None = None) -> DeliveryError:
    """The error of a reason.

    Args:
        code: A key of `REFUSALS`.
        more: What exactly, in our own words.
        retry_after: Seconds after which it may pass.
    """
    why = REFUSALS[code]
    brief = f"cannot deliver the capture: {why.says}{f': {more}' if more else ''}"
    error = DeliveryError(brief, resolution=why.hint)
    error.code, error.exit_code, error.http_status, error.retry_after = code, why.exit_code, why.status, retry_after
    return error
