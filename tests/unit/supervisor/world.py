"""A supervisor's rooms around a real database and real files, without engine, CLI or queue."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from runner.captures import to_json as capture_to_json
from runner.gateway import ModelTurn, ToolUse
from runner.lifecycle import ApprovalState, RunState
from runner.model import OWNER, ApprovalId, Attempt, Capture, CaptureId, Digest, Json, Policy, Profile, RunId, Usage
from runner.profiles import to_json as profile_to_json
from runner.sandbox.beneath import Beneath
from runner.sandbox.view import SnapshotView
from runner.store import (
    ApprovalRow,
    CallRow,
    CaptureRow,
    Connection,
    RunRow,
    SegmentRow,
    Store,
    calls,
    captures,
    profiles,
    runs,
    segments,
)
from runner.store import approvals as rows
from runner.supervisor.changes import Changes
from runner.supervisor.contexts import Contexts
from runner.supervisor.desk import Desk
from runner.supervisor.effects import Effects, Parts
from runner.supervisor.endings import End, Endings
from runner.supervisor.ids import Ids
from runner.supervisor.ledger import Ledger
from runner.supervisor.live import Live
from tests.helpers.builders import a_profile
from tests.helpers.stored import ANNA, NOW, fresh, opened

T = TypeVar("T")
WRITE = "mcp__runner__Write"
EDIT = "mcp__runner__Edit"
#: Longest that something may take before a test gives up; nothing is said about how long it does take.
PATIENCE = 30.0
_numbers = itertools.count(1)


def use(name: str, /, id: str | None = None, **arguments: Json) -> ToolUse:
    """A call as the model makes it."""
    return ToolUse(id=id or f"toolu_{next(_numbers)}", name=name, raw=json.dumps(arguments))


def write(path: str, content: str = "x", *, id: str | None = None) -> ToolUse:
    """A brokered Write."""
    return use(WRITE, id, file_path=path, content=content)


def read(path: str, *, id: str | None = None) -> ToolUse:
    """A Read in the container."""
    return use("Read", id, file_path=path)


def arguments_of(tool_use: ToolUse) -> Mapping[str, Json]:
    """The input, parsed."""
    found: Mapping[str, Json] = json.loads(tool_use.raw)
    return found


def a_turn(*uses: ToolUse, text: str = "") -> ModelTurn:
    """One whole reply of the model."""
    return ModelTurn(
        model="claude-sonnet-4-5",
        texts=(text,) if text else (),
        tool_uses=uses,
        stop_reason="tool_use" if uses else "end_turn",
        usage=Usage(requests=1, input_tokens=10, output_tokens=5),
    )


@dataclass
class World:
    """Real store, real directory; a clock that stands still unless it is moved; a queue that only remembers."""

    store: Store
    folder: Path
    profile: Profile
    now: float = NOW
    queued: list[Attempt] = field(default_factory=list)
    live: Live = field(default_factory=Live)
    changes: Changes = field(default_factory=Changes)
    ids: Ids = field(default_factory=lambda: Ids(_entropy))

    def __post_init__(self) -> None:
        """Make the rooms."""
        self.contexts = Contexts(store=self.store, max_policy=Policy.SKIP)
        self.endings = Endings(clock=self.clock, enqueue=self.enqueue)
        self.effects = Effects(
            Parts(
                store=self.store,
                live=self.live,
                changes=self.changes,
                contexts=self.contexts,
                clock=self.clock,
                enqueue=self.enqueue,
            )
        )

    @property
    def cwd(self) -> Path:
        """The agent's directory on the host."""
        return self.profile.cwd

    def clock(self) -> float:
        """Epoch seconds."""
        return self.now

    def enqueue(self, conn: Connection, attempt: Attempt, *, agent: str) -> None:
        """Remember it."""
        del conn, agent
        self.queued.append(attempt)

    def a_run(self, **changes: Any) -> RunRow:
        """A queued run of the world's profile."""
        with self.store.begin() as conn:
            return _insert(conn, self.profile, changes)

    def a_running(self, **changes: Any) -> RunRow:
        """A run whose attempt has been claimed and started."""
        row = self.a_run(**changes)
        attempt = Attempt(row.id, row.segment, row.attempt)
        with self.store.begin() as conn:
            self.endings.claim(conn, attempt)
            segments.insert(conn, SegmentRow(run=row.id, segment=row.segment, attempt=row.attempt, created=self.now))
            started = self.endings.started(conn, attempt)
        assert started is not None
        return started

    def ledger(self, row: RunRow) -> Ledger:
        """The ledger of the run's attempt."""
        attempt = Attempt(row.id, row.segment, row.attempt)
        return Ledger(self.store, attempt, self.profile, clock=self.clock, ids=self.ids)

    def desk(self, row: RunRow, **more: Any) -> Desk:
        """The desk of the run's attempt, looking at cwd itself."""
        view = SnapshotView(Beneath.open(self.cwd))
        context = partial(self.contexts.fresh, view, agent=row.agent, sender=OWNER, folder=self.cwd)
        return Desk(self.ledger(row), self.profile, context, changes=self.changes, usage=row.usage, **more)

    def run(self, run: RunId) -> RunRow:
        """The run as it is."""
        with self.store.reading() as conn:
            return runs.get(conn, run)

    def calls(self, run: RunId) -> tuple[CallRow, ...]:
        """The run's calls."""
        with self.store.reading() as conn:
            return calls.of_run(conn, run)

    def approvals(self, run: RunId, *states: ApprovalState) -> tuple[ApprovalRow, ...]:
        """The run's approvals, in any state or in these."""
        with self.store.reading() as conn:
            return rows.list(conn, run=run, states=states or None)

    def approval(self, approval: ApprovalId) -> ApprovalRow:
        """One approval."""
        with self.store.reading() as conn:
            return rows.get(conn, approval)

    async def end(self, row: RunRow, end: End) -> RunRow | None:
        """The run's attempt comes to an end."""
        return await self.store.call(self.endings.record_in, Attempt(row.id, row.segment, row.attempt), end)

    async def approve(self, row: ApprovalRow, digest: Digest | None = None) -> ApprovalRow:
        """Anna says yes to what she was shown."""
        return await self.effects.approve(row.id, digest=digest or row.approval_digest, who=ANNA, reason=None)

    async def deny(self, row: ApprovalRow, reason: str | None = None) -> ApprovalRow:
        """Anna says no."""
        return await self.effects.deny(row.id, who=ANNA, reason=reason)


def _entropy(count: int) -> bytes:
    return fresh("x").encode()[-count:].rjust(count, b"0")


def _insert(conn: Connection, profile: Profile, changes: Mapping[str, Any]) -> RunRow:
    profiles.put(conn, json.dumps(profile_to_json(profile)), digest=profile.digest, name=profile.name, now=NOW)
    text = json.dumps(capture_to_json(Capture(agent=profile.name, note="go")))
    capture = CaptureRow(id=CaptureId(fresh("c")), agent=profile.name, sender=OWNER, text=text, created=NOW)
    captures.insert(conn, capture)
    row = RunRow(
        id=RunId(fresh("r")),
        capture=capture.id,
        agent=profile.name,
        profile_digest=profile.digest,
        sender=OWNER,
        strict=profile.strict,
        created=NOW,
        updated=NOW,
        session_id="3b1f0c52-4ac6-4e4e-9d0a-0d5c2a0f7c11",
        nonce="0" * 32,
    )
    return runs.insert(conn, replace(row, **changes))


def play(folder: Path, scene: Callable[[World], Coroutine[Any, Any, T]], **profile: Any) -> T:
    """Play a scene in a fresh world; `profile` replaces fields of its agent's profile."""
    cwd = folder / "agent"
    cwd.mkdir()
    (cwd / "in.txt").write_text("INSIDE\n")
    with opened(folder / "runner.db") as store:
        world = World(store=store, folder=folder, profile=a_profile(cwd=cwd, **profile))
        return asyncio.run(asyncio.wait_for(scene(world), PATIENCE))


async def settled(look: Callable[[], bool]) -> None:
    """Let other tasks go on until it is so; `play` gives up when it never is."""
    while not look():  # noqa: ASYNC110 -- what rows say no event tells
        await asyncio.sleep(0.005)


async def both(*work: Awaitable[T]) -> Sequence[T | BaseException]:
    """Everything at once; errors are answers."""
    return await asyncio.gather(*work, return_exceptions=True)


def states(found: Sequence[ApprovalRow]) -> list[ApprovalState]:
    """Their states, in order."""
    return [row.state for row in found]


__all__ = [
    "ANNA",
    "EDIT",
    "NOW",
    "WRITE",
    "RunState",
    "World",
    "a_turn",
    "arguments_of",
    "both",
    "play",
    "read",
    "settled",
    "states",
    "use",
    "write",
]
