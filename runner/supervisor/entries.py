"""One call of a segment as its desk follows it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from runner.model import ApprovalId, CallId, Decision


class Phase(Enum):
    """How far the container has come with one call."""

    DECIDED = 0  #: known from the model's reply
    ASKED = 1  #: the hook has its answer
    CONFIRMED = 2  #: the callback has its answer
    CLOSED = 3  #: refused, or its outcome is delivered


@dataclass(slots=True)
class Entry:
    """A recorded call and where the container stands with it. `key` is None where it can never come to the gate."""

    call: CallId
    tool: str
    wire_id: str  #: the model's name for it: data, never identity (B11)
    key: str | None
    in_container: bool
    decision: Decision
    approval: ApprovalId | None = None
    phase: Phase = Phase.DECIDED
    told: str | None = None  #: the outcome or refusal the container was given, for the gateway's comparison
    told_error: bool = False  #: that it was given as an error
    again: bool = False  #: a container before this one was told the outcome and took it to its grave
