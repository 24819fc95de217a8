"""What the database holds, as frozen values.

A row is what one table says at one moment. Rooms above read rows and never write to them; every change goes through the
named functions beside this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from runner.lifecycle import ApprovalState, CaptureState, RunState
from runner.model import ApprovalId, CallId, CaptureId, Digest, Json, ResolvedPath, RunId, Sender, Usage, Verdict

if TYPE_CHECKING:
    from runner.store.edit import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Approver:
    """Who decided, through which door, and how that is known (W4). Rows of older versions lack all but the first three."""

    uid: int
    channel: str  #: "cli", "web", ...
    name: str | None = None
    method: str = "uid"  #: "uid": the kernel's word alone; "key": besides it a signature
    key_id: str | None = None  #: fingerprint of the key that signed
    tty: str | None = None
    host: str | None = None

    def facts(self) -> dict[str, Json]:
        """As a fact of an audit row: uid, door and name always, what is known besides only where it is known."""
        facts: dict[str, Json] = {"uid": self.uid, "channel": self.channel, "name": self.name}
        more: dict[str, Json] = {"key_id": self.key_id, "tty": self.tty, "host": self.host}
        if self.method != "uid":
            facts["method"] = self.method
        return facts | {name: value for name, value in more.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRow:
    """A published profile. `uid` is the agent's reserved user inside its containers (design.md §8).

    `author` is the uid of the person who first published it; None: it was shipped. `retired`: when its agent was retired.
    """

    digest: Digest
    name: str
    text: str
    created: float
    current: bool
    uid: int
    author: int | None = None
    retired: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    """What the owner saved for one tool of one agent: `allow`, `ask` or `block` (R72-R74)."""

    agent: str
    tool: str
    verdict: str
    set_by: Approver
    set_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRow:
    """A capture as stored: the JSON text of what was received, and who sent it."""

    id: CaptureId
    agent: str
    sender: Sender
    text: str
    created: float
    state: CaptureState = CaptureState.RECEIVED


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One capture's life. `segment` and `attempt` name the container that may speak for it now."""

    id: RunId
    capture: CaptureId
    agent: str
    profile_digest: Digest
    sender: Sender
    strict: bool
    created: float
    updated: float
    state: RunState = RunState.QUEUED
    segment: int = 0
    attempt: int = 0
    session_id: str | None = None
    nonce: str | None = None  #: of its fence; the same in every segment, or the system prompt would change on resume
    reason: str | None = None  #: why it failed, was cancelled or lost
    reply: str | None = None
    usage: Usage = field(default_factory=Usage)
    version: int = 1  #: grows with each change


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """One attempt at one segment of a run: at most one container, ever (invariant 6)."""

    run: RunId
    segment: int
    attempt: int
    created: float
    container_id: str | None = None
    ended: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """A tool call with its decision, stored before it was answered (invariant 2).

    `n` counts the run's calls and is given by `calls.append`. `wire_id` is the model's name for the call: data, never
    identity (B11). `answered` says that the container was told.
    """

    id: CallId
    run: RunId
    segment: int
    attempt: int
    turn: int
    tool: str
    raw: str
    call_digest: Digest | None
    verdict: Verdict
    rank: int
    rule: str
    reason: str
    wire_id: str
    created: float
    paths: tuple[ResolvedPath, ...] = ()
    n: int = 0
    outcome: str | None = None
    outcome_error: bool = False
    outcome_at: float | None = None
    answered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRow:
    """A gated call in the queue, bound to the exact bytes a person is shown (B1, B2).

    `pre_images` maps the real path of each target to the digest of its bytes, None where it is absent; `post_image` is
    the digest of what the effect is to leave there, so that the disk can decide after a crash (B9).
    `recorded` is kept for the record and bound by no digest: image digest, policy version, taint.
    """

    id: ApprovalId
    call: CallId
    run: RunId
    segment: int
    attempt: int
    turn: int
    agent: str
    tool: str
    profile_digest: Digest
    definition_digest: Digest
    why: str
    reason: str
    call_digest: Digest
    approval_digest: Digest
    nonce: str
    raw: str
    sender: Sender
    created: float
    expires: float
    paths: tuple[ResolvedPath, ...] = ()
    pre_images: Mapping[str, Digest | None] = field(default_factory=lambda: MappingProxyType({}))
    post_image: Digest | None = None
    preview: str = ""
    warnings: tuple[str, ...] = ()
    recorded: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    state: ApprovalState = ApprovalState.PENDING
    decided_by: Approver | None = None
    decided_at: float | None = None
    decision_reason: str | None = None
    effect: str | None = None  #: null, started, done, failed or unknown; follows `state`
    outcome: str | None = None
    outcome_error: bool = False
    delivered_at: float | None = None
    opened: int = 0  #: place in the audit log at which it was asked for: the queue's order
    version: int = 1
    required: int = 1  #: distinct approvers' signatures that a yes needs (D5)
    edit: Edit | None = None  #: what an approver made of it; the fields above stay what the agent proposed (D2)

    @property
    def effective(self) -> ApprovalRow:
        """The same approval with what is carried out in place of what was proposed; the one way to an effect's bytes (D2)."""
        made = self.edit
        if made is None:
            return self
        return replace(
            self,
            edit=None,
            raw=made.raw,
            call_digest=made.call_digest,
            approval_digest=made.approval_digest,
            paths=made.paths,
            pre_images=made.pre_images,
            post_image=made.post_image,
            preview=made.preview,
            warnings=made.warnings,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRow:
    """What stood at an approval's target before it was carried out: `absent`, `directory` or `file`, and a file's bytes.

    `standing` counts the leading names of the path that were directories.
    """

    approval: ApprovalId
    form: str
    data: bytes | None
    mode: int
    uid: int
    gid: int
    standing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptRow:
    """One line of the mirrored transcript, as it came."""

    n: int
    segment: int
    attempt: int
    entry: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One link of the audit chain; `hash` covers every other field and `previous` is the hash before it (A1)."""

    seq: int
    time: float
    event: str
    subject: str
    data: str  #: canonical JSON
    previous: Digest
    hash: Digest
