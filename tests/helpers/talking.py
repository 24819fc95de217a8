"""Threads over a real database, without engine or CLI: runs are ended by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runner.lifecycle import RunEvent, RunState
from runner.model import OWNER, Attempt, Capture, Profile, RunId, Sender
from runner.policy.taint import Taint, TaintKind
from runner.store import RunRow, runs, taints, transcript
from runner.supervisor.conversations import Threads
from runner.supervisor.endings import End, Ending
from runner.supervisor.progress import retry
from tests.helpers.door import AsTheyCame, Door

RESULT = Taint(kind=TaintKind.RESULT, source="Read")


@dataclass
class Talk:
    """Sends into threads and ends their runs."""

    door: Door

    def __post_init__(self) -> None:
        """Wire the rooms."""
        door = self.door
        self.threads = Threads(store=door.store, intake=door.intake, changes=door.changes, pictures=AsTheyCame())

    def send(self, name: str = "taxes", agent: str = "tester", **fields: Any) -> dict[str, Any]:
        """The owner's capture into a thread: what is answered."""
        return dict(asyncio.run(self.threads.send(name, Capture(**{"agent": agent, "note": "go"} | fields))))

    def listed(self) -> list[dict[str, Any]]:
        """Threads as they are listed."""
        return [dict(one) for one in asyncio.run(self.threads.listed())]

    def row(self, run: object) -> RunRow:
        """A run."""
        with self.door.store.reading() as conn:
            return runs.get(conn, RunId(str(run)))

    def tainted_by(self, run: object) -> list[str]:
        """What is on record of what came into a run."""
        with self.door.store.reading() as conn:
            return [one.says for one in taints.of_run(conn, RunId(str(run)))]

    def taint(self, run: object) -> None:
        """Have a run read something."""
        with self.door.store.begin() as conn:
            taints.add(conn, RunId(str(run)), [RESULT], now=self.door.now)

    def end(self, run: object, ending: Ending = Ending.REPLY, reply: str = "Done.") -> RunRow:
        """End a run that is queued or under way."""
        row, attempt = self.row(run), self.attempt(run)
        with self.door.store.begin() as conn:
            if row.state is RunState.QUEUED and ending is Ending.REPLY:
                runs.move(conn, row.id, RunEvent.CLAIM, now=self.door.now)
                runs.move(conn, row.id, RunEvent.START, now=self.door.now)
            end = End(ending=ending, reply=reply if ending is Ending.REPLY else None, reason="ended by hand")
            ended = self.door.endings.record_in(conn, attempt, end)
        assert ended is not None
        return ended

    def said(self, name: str = "taxes", *, reply: str = "Done.", read: bool = False, **fields: Any) -> str:
        """A whole run of a thread: sent, tainted where it is to read something, replied."""
        run = str(self.send(name, **fields)["run"])
        if read:
            self.taint(run)
        self.end(run, reply=reply)
        return run

    def again(self, run: object) -> RunRow | None:
        """Let a failed run go on."""
        with self.door.store.begin() as conn:
            return retry(conn, RunId(str(run)), now=self.door.now, enqueue=self.door.enqueue)

    def mirror(self, run: object, lines: Sequence[str]) -> None:
        """Have a container's transcript lines stored."""
        with self.door.store.begin() as conn:
            transcript.append(conn, *self.attempt(run), lines)

    def attempt(self, run: object) -> Attempt:
        """The run's attempt."""
        row = self.row(run)
        return Attempt(row.id, row.segment, row.attempt)

    def take(self, sender: Sender = OWNER, thread: str | None = None, **fields: Any) -> Any:
        """A capture at the intake, whoever it is from."""
        with self.door.store.begin() as conn:
            capture = Capture(**{"agent": "tester", "note": "go"} | fields)
            return self.door.intake.receive(conn, capture, sender, thread=thread)

    def publish(self, **changes: Any) -> Profile:
        """Publish a profile."""
        return self.door.publish(**changes)
