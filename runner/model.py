"""The values every room shares: ids, profiles, captures, calls, decisions.

Owns meaning, never I/O. Values are frozen; whoever builds one from outside text has parsed and bounded it first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple, NewType, NoReturn, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = "dict[str, Json]"

RunId = NewType("RunId", str)
CaptureId = NewType("CaptureId", str)
ApprovalId = NewType("ApprovalId", str)
GrantId = NewType("GrantId", str)
ReplyId = NewType("ReplyId", str)
ShareId = NewType("ShareId", str)
CallId = NewType("CallId", str)
Digest = NewType("Digest", str)  #: "sha256:" and 64 hex digits

#: Where the snapshot of cwd stands inside the container.
WORKSPACE = PurePosixPath("/workspace")
#: Name of the one in-process tool server; the model sees `mcp__runner__<tool>`.
SERVER = "runner"
#: Prefix under which an undeclared tool's call reaches the CLI (design.md §2.4).
UNDECLARED = "undeclared__"

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
ID_LENGTH = 16  #: 16 symbols of 5 bits: 80 bits (B12)


def make_id(prefix: str, entropy: bytes) -> str:
    """An id such as `a_` and 16 Crockford base32 symbols.

    Args:
        prefix: `c`, `r`, `a`, `p`, `g` (cli.md) or `k` for a call.
        entropy: At least 10 random bytes; only the first 10 count.

    Raises:
        ValueError: Fewer than 10 bytes.
    """
    if len(entropy) < 10:
        raise ValueError("an id needs 10 random bytes")
    number = int.from_bytes(entropy[:10], "big")
    symbols = [_CROCKFORD[(number >> shift) & 31] for shift in range(75, -1, -5)]
    return f"{prefix}_{''.join(symbols)}"


class Attempt(NamedTuple):
    """One container's life: a run, its segment, and which try of it."""

    run: RunId
    segment: int
    number: int

    def __str__(self) -> str:
        return f"{self.run}:{self.segment}:{self.number}"


class Verdict(Enum):
    """What the gate answers."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


#: Loosest first. Verdicts are combined by `strictest`, never compared as text.
STRICTNESS = (Verdict.ALLOW, Verdict.ASK, Verdict.DENY)


class Policy(Enum):
    """The owner's default for calls that no saved verdict settles."""

    ASK = "ask"
    READ_ONLY = "read_only"
    SKIP = "skip"


class SenderKind(Enum):
    """Whose capture it is."""

    OWNER = "owner"
    CONTACT = "contact"
    AGENT = "agent"  #: a contact that is a program on another machine (R23-R25)


class ToolClass(Enum):
    """What kind of thing a tool does (design.md §6)."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    EXECUTE = "execute"
    EXTERNAL_SEND = "external_send"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedPath:
    """A path argument as the model wrote it and where it leads in the container's view."""

    asked: str
    resolved: PurePosixPath


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool call, under the profile's name for the tool.

    `raw` is the exact JSON text of the input; `input` is that text strictly parsed, or None when it is malformed, and then
    `fault` says how.
    """

    tool: str
    raw: str
    input: Mapping[str, Json] | None
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict that explains itself. It has no truth value: `if decision` raises, so nothing is granted by accident.

    `rank` is 1-9 for a row of the precedence table and 0 for a rule outside it. `reason` is a full sentence the model may be
    shown. `call_digest` is None only where the input is no JSON object at all.
    """

    verdict: Verdict
    rank: int
    rule: str
    reason: str
    strict: bool
    call_digest: Digest | None
    profile_digest: Digest
    paths: tuple[ResolvedPath, ...] = ()
    grant: GrantId | None = None  #: what lets it run unasked, where the rule is `grant` (D3)

    def __bool__(self) -> NoReturn:
        raise TypeError("a Decision has no truth value: compare its verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLimits:
    """Caps on what is copied into a snapshot; over a cap the run does not start."""

    max_bytes: int = 256 * 1024 * 1024
    max_files: int = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may use."""

    memory: int = 1024**3  #: bytes; swap is off
    cpus: float = 1.0
    pids: int = 128
    turns: int = 40
    wall: float = 900.0  #: seconds a container may live, waiting for a person not counted
    calls: int = 200
    budget_usd: float = 1.0
    budget_tokens: int = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSettings:
    """How long a call may wait and what silence means."""

    hold: float = 60.0  #: seconds the container stays alive while calls wait
    expires: float = 7 * 86400.0  #: seconds until an unanswered call is denied
    on_expiry: str = "deny"  #: "deny" or "stop"
    on_denial: str = "tell"  #: "tell" or "stop"
    required: int = 1  #: distinct approvers


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A call and the verdict the profile's author expects; checked whenever the profile is loaded."""

    tool: str
    raw: str  #: JSON text of the input
    expect: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class FromAgent:
    """A paired agent that may send, by its label, and the owner's standing word on what to do with what it sends (R23, R25)."""

    label: str
    instruction: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolScope:
    """What one entry such as `Write(out/**, !out/raw/**)` leaves of a tool: gitignore patterns against the resolved path.

    `only` empty: everything. `never` is taken away from that.
    """

    tool: str
    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A published agent. Absent and empty mean the same only where said so.

    `policy` None: the owner's own default, `ask` until set. `contacts` empty: the owner only. `read` says what of cwd is
    copied into the snapshot, `hide` what is left out of that; both are gitignore patterns, defaults already merged in. `tools`
    are bare names; what patterns narrow them to stands in `scopes`. `unprotect`: protected names that may be written.
    """

    name: str
    digest: Digest
    description: str
    kind: str
    model: str
    system_prompt: str
    cwd: Path
    tools: tuple[str, ...]
    strict: bool = True
    policy: Policy | None = Policy.READ_ONLY
    unattended: bool = False
    contacts: tuple[str, ...] = ()
    from_agents: tuple[FromAgent, ...] = ()
    wake: bool = True
    allow_replies: bool = False
    allow_unconfined_tools: bool = False
    allow_hard_links: bool = False
    read: tuple[str, ...] = ("**",)
    hide: tuple[str, ...] = ()
    snapshot: SnapshotLimits = field(default_factory=SnapshotLimits)
    limits: Limits = field(default_factory=Limits)
    approvals: ApprovalSettings = field(default_factory=ApprovalSettings)
    examples: tuple[Example, ...] = ()
    scopes: tuple[ToolScope, ...] = ()
    unprotect: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A picture of a capture. Its pixels are data too (R2); `name` is the sender's word."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Who sent a capture, as the supervisor knows it. The owner has neither petname nor fingerprint."""

    kind: SenderKind
    petname: str | None = None
    fingerprint: str | None = None


OWNER = Sender(kind=SenderKind.OWNER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What a sender sends. Every text is as received, within its bound; `truncated` maps a field to its full length."""

    agent: str
    note: str = ""
    intent: str = ""
    url: str = ""
    title: str = ""
    labels: tuple[str, ...] = ()
    text: str = ""
    images: tuple[Image, ...] = ()
    strict: bool = False  #: its run is to be strict whatever the profile says; nobody can ask for the contrary (R33)
    truncated: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the gateway saw a run use; the container's own figures are never used."""

    requests: int = 0
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def strictest(verdicts: tuple[Verdict, ...]) -> Verdict:
    """The strictest of some verdicts; DENY for none, since silence is refusal."""
    return max(verdicts, key=STRICTNESS.index, default=Verdict.DENY)
