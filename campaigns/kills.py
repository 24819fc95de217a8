"""SIGKILL at every arrow of the state tables and at the events beside them, then a new supervisor: nothing lost, doubled, left.

`CASES` says for each arrow how a run is brought there; a test compares it with the tables. A case is one run: the supervisor
dies before or after the commit that walks the arrow, and another one takes over. What the rows say at that moment proves that
it was this arrow.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from campaigns import scenes
from campaigns.scenes import Scene
from campaigns.stage import DiedError, Stage
from campaigns.tally import Count
from runner.lifecycle import APPROVAL, RUN, ApprovalEvent, ApprovalState, RunEvent, RunState, sources
from runner.store import Connection, RunRow
from runner.store import approvals as rows
from tests.helpers.stored import url

REPLIED = ("replied",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """How a run is brought to an event."""

    event: str  #: `run.…`, `approval.…` or another event of the audit
    scene: Scene = scenes.plain
    agent: str = "holder"
    state: str | None = None  #: the arrow's state; None: the event is on no arrow
    nth: int = 1  #: which of these events of a supervisor's life
    first: str | None = None  #: where a supervisor before this one dies
    hand: bool = False  #: taken by hand: no code of today takes it, or none that a scene can bring about
    ends: tuple[str, ...] = REPLIED

    @property
    def name(self) -> str:
        """For a person."""
        return self.event if self.state is None else f"{self.event} from {self.state}"


def _on(state: str, event: str, **more: object) -> Case:
    return Case(state=state, event=event, **more)  # type: ignore[arg-type]


_END = ("replied", "cancelled", "failed", "lost")
_STOPPED = ("cancelled",)
_BEGUN = "approval.execute:after"

CASES: tuple[Case, ...] = (
    _on("queued", "run.claim"),
    _on("starting", "run.start"),
    _on("running", "run.hold"),
    _on("held", "run.release"),
    _on("held", "run.park", scene=scenes.parked, agent="soon"),
    _on("parked", "run.resume", scene=scenes.parked, agent="parker"),
    _on("running", "run.reply"),
    _on("starting", "run.park", first="run.claim:after"),
    _on("running", "run.park", first="run.start:after"),
    _on("starting", "run.fail", scene=scenes.fail_starting, ends=("failed",)),
    _on("running", "run.fail", scene=scenes.wait, agent="short", ends=("failed",)),
    _on("failed", "run.retry", scene=scenes.retry),
    _on("queued", "run.cancel", scene=scenes.stop_queued, agent="parker", ends=_END),
    _on("starting", "run.cancel", scene=scenes.stop("starting"), agent="slow", ends=_END),
    _on("running", "run.cancel", scene=scenes.stop("running"), agent="slow", ends=_END),
    _on("held", "run.cancel", scene=scenes.stop("held", "parked"), ends=_END),
    _on("parked", "run.cancel", scene=scenes.stop("parked"), agent="parker", ends=_END),
    _on("queued", "run.fail", hand=True, first="run.queue:after", ends=_END),
    _on("held", "run.fail", hand=True, first="run.hold:after", ends=_END),
    _on("parked", "run.fail", hand=True, scene=scenes.parked, first="run.park:after", agent="parker", ends=_END),
    _on("starting", "run.lose", hand=True, first="run.claim:after", ends=_END),
    _on("running", "run.lose", hand=True, first="run.start:after", ends=_END),
    _on("held", "run.lose", hand=True, first="run.hold:after", ends=_END),
    _on("pending", "approval.approve", scene=scenes.batch, agent="pair"),
    _on("pending", "approval.deny", scene=scenes.deny),
    _on("pending", "approval.expire", scene=scenes.wait, agent="brief"),
    _on("pending", "approval.cancel", scene=scenes.stop("parked"), agent="parker", ends=_END),
    _on("pending", "approval.no_channel", hand=True, first="run.hold:after"),
    _on("pending", "approval.supersede", hand=True, first="run.hold:after"),
    _on("approved", "approval.execute"),
    _on("approved", "approval.execute", scene=scenes.parked, agent="parker", nth=2),
    _on("approved", "approval.go_stale", scene=scenes.stale),
    _on("approved", "approval.cancel", hand=True, scene=scenes.batch, agent="pair", first="approval.approve:after"),
    _on("executing", "approval.succeed"),
    _on("executing", "approval.succeed", first=_BEGUN, scene=scenes.appears),
    _on("executing", "approval.fail", hand=True, first=_BEGUN),
    _on("executing", "approval.doubt", first=_BEGUN, scene=scenes.settle("happened")),
    _on("executing", "approval.not_happened", first=_BEGUN),
    _on("unknown", "approval.settle_happened", first=_BEGUN, scene=scenes.settle("happened")),
    _on("unknown", "approval.settle_not_happened", first=_BEGUN, scene=scenes.settle("not-happened")),
    Case(event="capture.receive"),
    Case(event="run.queue"),
    Case(event="call.decide"),
    Case(event="approval.request"),
    Case(event="call.outcome"),
    Case(event="approval.deliver"),
    Case(event="approval.extend", scene=scenes.extend),
    Case(event="approval.undo", scene=scenes.undo),
    Case(event="approval.execute", scene=scenes.undo, nth=3),
    Case(event="approval.succeed", scene=scenes.undo, nth=3),
    Case(event="approval.edit", scene=scenes.edited),
    Case(event="grant.give", scene=scenes.granted, agent="loose"),
    Case(event="grant.use", scene=scenes.granted, agent="loose"),
    Case(event="grant.revoke", scene=scenes.granted, agent="loose"),
    Case(event="verdict.set", scene=scenes.verdict),
    Case(event="verdict.reset", scene=scenes.verdict),
    Case(event="supervisor.pause", scene=scenes.pausing),
    Case(event="supervisor.resume", scene=scenes.pausing),
    Case(event="run.claim", scene=scenes.parked, agent="parker", nth=2),
    Case(event="run.start", scene=scenes.parked, agent="parker", nth=2),
)


def killed(stage: Stage, case: Case, when: str) -> Count:
    """One case: a supervisor that dies before or after the commit, and one that takes over."""
    stage.reset(case.agent)
    count = Count()
    if case.first is not None:
        count.missed += not _dies(stage, case.first, case.scene if case.hand else scenes.plain)
        count.faults += 1
        if case.scene not in (scenes.plain, scenes.parked, scenes.batch) and not case.hand:
            scenes.between(stage, case.event)
    point = f"{case.event}:{when}:{case.nth}"
    died = _by_hand(stage, point) if case.hand else _dies(stage, point, case.scene)
    count.faults += 1
    count.missed += not died or (
        case.state is not None and not stage.stored(lambda conn: _is_at(conn, stage.newest(conn), case, when=when))
    )
    stage.start()
    try:
        case.scene(stage)
    except (DiedError, AssertionError) as error:
        print(f"    {case.name} {when}: {error!r}", file=sys.stderr)
        count.lost_runs += 1
    stage.judge(count, ends=case.ends)
    return count


def _dies(stage: Stage, point: str, scene: Scene) -> bool:
    """Whether the supervisor died at the failpoint while a scene was played."""
    stage.start(point)
    with contextlib.suppress(DiedError, AssertionError):
        stage.alive()
        scene(stage)
    died = stage.dead and stage.supervisor.process is not None and stage.supervisor.process.returncode == -signal.SIGKILL
    if not stage.dead:
        stage.supervisor.kill()
    stage.supervisor.process = None
    return died


def _by_hand(stage: Stage, point: str) -> bool:
    run = stage.stored(stage.newest)
    if run is None:
        return False
    database = url(stage.supervisor.state / "runner.db")
    command = [sys.executable, "-m", "campaigns.hand", database, point, run.id]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == -signal.SIGKILL


def _is_at(conn: Connection, run: RunRow | None, case: Case, *, when: str) -> bool:
    """Whether what the rows say is what they say just before or just after this arrow."""
    kind, name = case.event.split(".")
    if run is None or case.state is None:
        return False
    if kind == "run":
        after = sources(RUN, RunEvent(name))[RunState(case.state)]
        # One that nobody has to be waited for is parked and resumed in one transaction.
        good = {after, RunState.QUEUED} if after is RunState.PARKED else {after}
        return run.state in ({RunState(case.state)} if when == "before" else good)
    # A yes and the beginning of its effect are one transaction.
    befores = {ApprovalState(case.state), ApprovalState.PENDING if case.state == "approved" else ApprovalState(case.state)}
    afters = {sources(APPROVAL, ApprovalEvent(name))[ApprovalState(case.state)]}
    return any(row.state in (befores if when == "before" else afters) for row in rows.list(conn, run=run.id))


def points() -> Iterator[tuple[Case, str]]:
    """Every case, before and after its commit."""
    for case in CASES:
        for when in ("before", "after"):
            yield case, when
