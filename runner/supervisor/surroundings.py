"""What an attempt is surrounded by: the rest of the supervisor, and the partners of one conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from runner.agent import Session
from runner.gateway import Gateway, UpstreamFactory
from runner.sandbox.box import Box
from runner.sandbox.engine import Engine
from runner.store import Store
from runner.supervisor.changes import Changes
from runner.supervisor.contexts import Contexts
from runner.supervisor.desk import Desk
from runner.supervisor.endings import Endings
from runner.supervisor.ids import Ids
from runner.supervisor.live import Live
from runner.supervisor.progress import Clock
from runner.supervisor.purse import Budgets, RunPurse
from runner.supervisor.starts import Starts


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a segment needs of the rest of the supervisor."""

    store: Store
    engine: Engine
    upstream: UpstreamFactory
    live: Live
    changes: Changes
    contexts: Contexts
    endings: Endings
    clock: Clock
    ids: Ids
    attempts: Path  #: a private folder; each attempt has one of its own in it
    owner: str  #: label of this supervisor's containers
    runtime: str | None
    boot: str = ""  #: label of what this process made of them
    starts: Starts = field(default_factory=Starts)
    budgets: Budgets = field(default_factory=Budgets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partners:
    """Who takes part in one conversation."""

    box: Box
    session: Session
    desk: Desk
    gateway: Gateway
    purse: RunPurse
