"""What the supervisor's service works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runner.notify.worker import Notifier
from runner.sandbox.engine import Engine
from runner.store import Store
from runner.supervisor.agents import Agents
from runner.supervisor.changes import Changes
from runner.supervisor.effects import Effects
from runner.supervisor.endings import Endings
from runner.supervisor.grants import Grants
from runner.supervisor.ids import Ids
from runner.supervisor.live import Live
from runner.supervisor.pictures import Pictures
from runner.supervisor.progress import Clock, Enqueue
from runner.supervisor.replies import Replies
from runner.supervisor.witness import Witness


@dataclass(frozen=True, slots=True, kw_only=True)
class Backstage:
    """What the service works with."""

    store: Store
    engine: Engine
    effects: Effects
    agents: Agents
    grants: Grants
    witness: Witness
    notices: Notifier
    endings: Endings
    live: Live
    changes: Changes
    clock: Clock
    ids: Ids
    enqueue: Enqueue
    hindrance: Callable[[], str | None]  #: what attempts wait for
    pictures: Pictures
    replies: Replies  #: what leaves towards contacts
    owner: str  #: label of this supervisor's containers
    model_kind: str
    state_dir: str
    per_hour: int = 20  #: captures of one contact
    share_seconds: float = 7 * 86_400.0  #: for which a share can be fetched
