"""A stage with a pool: containers in memory whose CLI answers `initialize`, and then does nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from runner.model import SERVER, JsonObject
from runner.supervisor.pool import QUIET, Pool, Sizes
from runner.supervisor.segment import Conductor
from runner.supervisor.warm import Warm
from tests.helpers.agent_stream import INITIALIZED
from tests.helpers.fake_engine import FakeContainer
from tests.unit.supervisor.conducting import Stage
from tests.unit.supervisor.world import World

#: What the CLI answers when it is asked about the server of brokered tools.
TOOLS: JsonObject = {"mcpServers": [{"name": SERVER, "status": "connected"}]}


async def polite(container: FakeContainer) -> None:
    """A CLI that answers the handshake and waits."""
    while data := await container.read():
        for line in data.splitlines():
            said: Any = json.loads(line)
            if said["type"] == "control_request":
                answer = {"subtype": "success", "request_id": said["request_id"], "response": {**INITIALIZED, **TOOLS}}
                await container.out(json.dumps({"type": "control_response", "response": answer}).encode() + b"\n")


async def hasty(container: FakeContainer) -> None:
    """One that asks for a permission before it was asked anything, just after the handshake."""
    data = await container.read()
    said: Any = json.loads(data.splitlines()[0])
    answer = {"subtype": "success", "request_id": said["request_id"], "response": INITIALIZED}
    await container.out(json.dumps({"type": "control_response", "response": answer}).encode() + b"\n")
    entry = {"type": "transcript_mirror", "filePath": "/x", "entries": [{"type": "user"}]}
    await container.out(json.dumps(entry).encode() + b"\n")
    while await container.read():
        pass


@dataclass
class Clock:
    """Monotonic seconds that are moved by hand."""

    now: float = 1000.0

    def __call__(self) -> float:
        """The time."""
        return self.now


class Pooled:
    """A stage whose conductor has a pool that is filled when a test says so."""

    def __init__(self, world: World, **sizes: Any) -> None:
        self.world, self.stage, self.clock = world, Stage(world), Clock()
        self.stage.engine.behaviour = polite
        around = self.stage.conductor._around
        self.pool = Pool(around=around, sizes=Sizes(**{"each": 1, "all": 4} | sizes), now=self.clock)
        self.stage.conductor = Conductor(around, pool=self.pool)
        self.stage.drain = type(self.stage.drain)(conductor=self.stage.conductor, live=world.live, effects=world.effects)

    async def fill(self) -> list[Warm]:
        """Let the pool look until nothing is missing."""
        self.clock.now += QUIET
        for _ in range(4):
            await self.pool.round()
        return list(self.pool._waiting)
