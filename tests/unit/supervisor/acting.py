"""A run that waits, and a gate in the middle of an effect: the scenes of effects' tests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runner.broker import Effect
from runner.lifecycle import ApprovalState
from runner.store import ApprovalRow, RunRow
from runner.supervisor import effects as room
from tests.unit.supervisor.world import World, a_turn, settled, write

_S = ApprovalState


async def held(world: World, *uses: object) -> tuple[RunRow, tuple[ApprovalRow, ...]]:
    """A run that waits for a person about these calls."""
    row = world.a_running()
    await world.desk(row).take_turn(a_turn(*(uses or (write("a.txt", "A"),))))  # type: ignore[arg-type]
    return world.run(row.id), world.approvals(row.id)


@dataclass
class Gate:
    """Stands before and after the real act: lets a test look at the rows, wait, or fail, in the middle of an effect."""

    world: World
    real: Callable[..., Effect]
    before: threading.Event = field(default_factory=threading.Event)
    entered: threading.Event = field(default_factory=threading.Event)
    seen: list[ApprovalState] = field(default_factory=list)
    most: int = 0
    now: int = 0
    fails: BaseException | None = None

    def __call__(self, row: ApprovalRow, cwd: Path, **more: Any) -> Effect:
        self.now += 1
        self.most = max(self.most, self.now)
        self.seen.append(self.world.approval(row.id).state)
        self.entered.set()
        try:
            assert self.before.wait(20)
            if self.fails is not None:
                raise self.fails
            return self.real(row, cwd, **more)
        finally:
            self.now -= 1


def gate(world: World, monkeypatch: pytest.MonkeyPatch, *, is_open: bool = True) -> Gate:
    found = Gate(world, room.act)
    if is_open:
        found.before.set()
    monkeypatch.setattr(room, "act", found)
    return found


async def entered(one: Gate) -> None:
    await settled(one.entered.is_set)
