"""What untrusted content is in a run, by name: where it came from and whose it is (P4, R57). Pure.

A run's taint only grows. The owner's own note and intent are the request (R4) and taint nothing; whatever else a capture
carries does, and so does every result of a tool that may bring back what others wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from runner.model import Capture, CaptureId, RunId, Sender, SenderKind, ToolCall
from runner.policy.context import PolicyContext
from runner.policy.judge import find_tool


class TaintKind(Enum):
    """What kind of thing brought it in."""

    TEXT = "text"  #: a capture's page text, address, title or labels, pasted text among them
    IMAGE = "image"  #: a capture's pictures
    NOTE = "note"  #: a contact's own words
    RESULT = "result"  #: what a tool brought back
    FILE = "file"  #: a file that a tainted run wrote, unchanged since


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """One source. `source`: the capture's id, the tool's name, or the file's path; `run`: of a file, who wrote it."""

    kind: TaintKind
    source: str
    sender: Sender | None = None  #: whose words they are, as far as is known
    run: RunId | None = None

    @property
    def says(self) -> str:
        """The source as the end of a sentence: "untrusted content is in its run: …"."""
        match self.kind:
            case TaintKind.TEXT:
                return f"text of capture {self.source}"
            case TaintKind.IMAGE:
                return f"images of capture {self.source}"
            case TaintKind.NOTE:
                return f"a contact's note in capture {self.source}"
            case TaintKind.RESULT:
                return f"results of {self.source}"
            case TaintKind.FILE:
                return f"{self.source}, written by {self.run}"


def of_capture(capture: Capture, sender: Sender, *, id: CaptureId) -> tuple[Taint, ...]:
    """What a capture brings into its run."""
    return tuple(Taint(kind=kind, source=id, sender=sender) for kind in _kinds(capture, sender))


def of_result(call: ToolCall, context: PolicyContext) -> Taint | None:
    """What a call's result brings into its run; None for a tool whose results are the supervisor's own words."""
    if not find_tool(call.tool, context).returns_untrusted:
        return None
    return Taint(kind=TaintKind.RESULT, source=call.tool)


def _kinds(capture: Capture, sender: Sender) -> Iterator[TaintKind]:
    if capture.url or capture.title or capture.labels or capture.text:
        yield TaintKind.TEXT
    if capture.images:
        yield TaintKind.IMAGE
    if sender.kind is not SenderKind.OWNER:
        # Whatever a contact sent, the run is theirs.
        yield TaintKind.NOTE
