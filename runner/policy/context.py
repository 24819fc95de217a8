"""What a decision depends on besides the call and the profile. Every field left out takes its strict value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from runner.model import Digest, Policy, SenderKind
from runner.paths import DirectoryView
from runner.policy.tool import Tool

if TYPE_CHECKING:
    from runner.policy.grants import Grant


class SavedVerdict(Enum):
    """What the owner saved for one tool of one agent (R72-R74)."""

    ALLOW = "allow"
    ASK = "ask"
    BLOCK = "block"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """A connector's tool that the operator declared, pinned to the definition it had then (P5)."""

    tool: Tool
    pinned: Digest
    offered: Digest  #: of the definition as the server gives it now


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyContext:
    """The world a call is decided in.

    `tainted`: untrusted content is in the conversation now (P4). `thread_tainted`: it was there before this run, so the run is
    strict (design.md §6); only whoever continues a thread can know it. `sensitive`: something private can be reached (C9); a
    connector among the profile's tools counts by itself (R105). `reachable_person`: an approval can be queued and answered.
    """

    view: DirectoryView
    sender: SenderKind = SenderKind.OWNER
    tainted: bool = True
    thread_tainted: bool = False
    saved: Mapping[str, SavedVerdict] = field(default_factory=lambda: MappingProxyType({}))
    owner_policy: Policy = Policy.ASK
    max_policy: Policy = Policy.SKIP
    sensitive: bool = True
    own_reply: bool = False  #: the supervisor's own call of `Reply`, made of a run's last word; never one of the model's
    reachable_person: bool = True
    connectors: Mapping[str, Connector] = field(default_factory=lambda: MappingProxyType({}))
    grants: tuple[Grant, ...] = ()  #: those that live now (D3)
