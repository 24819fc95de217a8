"""What the API asks of the supervisor, answered from rows; the seam `runner.api.Service`.

Reads, queues and decides; it starts no container and performs no effect itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version

from runner import approvals
from runner.approvals import Approver
from runner.captures.tally import Tally
from runner.errors import RunnerError, UsageError
from runner.lifecycle import RUN_ENDS, ApprovalState
from runner.model import OWNER, Attempt, Capture, Digest, JsonObject, Profile, RunId, Sender
from runner.notify.worker import Notifier
from runner.sandbox.image import image_info
from runner.sandbox.launch import STATE_LABEL
from runner.store import ApprovalRow, AuditRow, Connection, RunRow, profiles, runs
from runner.supervisor import queries
from runner.supervisor.agents import Agents, profile_line, publish
from runner.supervisor.backstage import Backstage
from runner.supervisor.contacts import Contacts
from runner.supervisor.conversations import Threads
from runner.supervisor.endings import End, Ending
from runner.supervisor.finding import Look, found
from runner.supervisor.forwarding import Forwarding
from runner.supervisor.grants import Grants
from runner.supervisor.handing import Handing
from runner.supervisor.intake import Intake
from runner.supervisor.lanes import Captures
from runner.supervisor.places import waiting_view
from runner.supervisor.progress import retry
from runner.supervisor.queue import Queue
from runner.supervisor.reception import Reception
from runner.supervisor.shares import Shares
from runner.supervisor.spending import Spending
from runner.supervisor.statistics import Statistics
from runner.supervisor.switch import Switch, pause_view
from runner.supervisor.undo import Undos
from runner.supervisor.views import event_line, run_line, run_view
from runner.supervisor.witness import Witness

#: Longest a client may have a request wait for a change; it asks again.
MAX_WAIT = 60.0


class SupervisorService:
    """Implements `runner.api.Service`."""

    def __init__(self, backstage: Backstage) -> None:
        self._on = on = backstage
        self._queue = Queue(store=on.store, effects=on.effects, changes=on.changes, clock=on.clock, enqueue=on.enqueue)
        self._intake = intake = Intake(clock=on.clock, ids=on.ids, enqueue=on.enqueue, floors=on.agents.floors)
        self.reception = Reception(
            store=on.store,
            intake=intake,
            changes=on.changes,
            clock=on.clock,
            per_hour=on.per_hour,
            gate=on.replies,
            pictures=on.pictures,
        )
        self.tally = Tally(time.monotonic)  # of what the network's door takes and refuses
        self.captures = Captures(store=on.store, intake=intake, changes=on.changes)
        self.contacts = Contacts(
            store=on.store,
            intake=intake,
            endings=on.endings,
            live=on.live,
            changes=on.changes,
            clock=on.clock,
            changed=self.reception.forget,
            pictures=on.pictures,
        )
        self.replies, self.statistics = on.replies, Statistics(store=on.store)
        self.shares = Shares(store=on.store, changes=on.changes, clock=on.clock, ids=on.ids, seconds=on.share_seconds)
        self.handing = Handing(store=on.store, clock=on.clock)
        self.due = (on.replies.expire, self.shares.expire)  # what ends by the clock alone
        self.forwarding = Forwarding(store=on.store, intake=intake, changes=on.changes)
        self.threads = Threads(store=on.store, intake=intake, changes=on.changes, pictures=on.pictures)
        self._began = time.monotonic()

    async def status(self) -> JsonObject:
        """How the supervisor is; trouble with the engine is told, not raised."""
        on = self._on
        counts, pending, paused = await on.store.query(queries.counts)
        answer: JsonObject = {
            "version": version("hosted-agent-runner"),
            "pid": os.getpid(),
            "uptime": round(time.monotonic() - self._began, 3),
            "state_dir": on.state_dir,
            "model": on.model_kind,
            "runs": {state: count for state, count in sorted(counts.items())},
            "waiting": waiting_view(counts.get("queued", 0), paused=paused is not None, hindrance=on.hindrance()),
            "pending": pending,
            "paused": pause_view(paused),
            "ingress": self.tally.view,
            "notices": await on.notices.summary(),
        }
        try:
            engine, image = await on.engine.info(), await image_info(on.engine)
            found = await on.engine.find({STATE_LABEL: on.owner})
        except RunnerError as error:
            return {**answer, "engine": None, "image": None, "containers": None, "trouble": error.brief}
        shown: JsonObject | None = None
        if image is not None:
            shown = {"id": image.id, "tag": image.tag, "cli_version": image.cli_version, "size": image.size}
        return {**answer, "engine": engine.version, "image": shown, "containers": len(found)}

    async def send(self, capture: Capture, *, sender: Sender) -> JsonObject:
        """Take a capture and queue its run, in one transaction.

        Raises:
            NotFoundError: No such agent.
            NotAllowedError: The sender is not one of the agent's contacts.
            CaptureError: A picture cannot be decoded.
            PausedError: The supervisor is paused; nothing is kept (R29).
        """
        clean = await self._on.pictures.clean(capture, sender=OWNER)
        taken = await self._on.store.call(self._intake.receive, clean, sender)
        self._on.changes.ring()
        return taken.answer

    async def runs(self, *, agent: str | None, state: str | None) -> list[JsonObject]:
        """Runs, newest first."""
        states = None if state is None else {queries.run_state(state)}
        found = await self._on.store.query(runs.list, agent=agent, states=states)
        return [run_line(row) for row in found]

    async def run(self, ref: str) -> JsonObject:
        """One run."""
        facts = await self._on.store.query(queries.run_facts, ref)
        return run_view(facts, self._on.live.get(facts.row.id))

    async def wait_run(self, ref: str, *, version: int, seconds: float) -> JsonObject:
        """The run as soon as it is another than `version`, or after a while."""

        async def look() -> JsonObject | None:
            view = await self.run(ref)
            return view if view["version"] != version else None

        return await self._wait(look, seconds) or await self.run(ref)

    async def approvals(self, *, run: str | None, states: list[str] | None, limit: int | None = None) -> JsonObject:
        """The queue, oldest first; without `states`, what waits for a person. `total` counts what is past the limit too."""
        wanted = {ApprovalState.PENDING, ApprovalState.UNKNOWN}
        if states is not None:
            wanted = {queries.approval_state(one) for one in states}
        found, answer = await self._on.store.query(queries.listed, run, wanted, limit=limit)
        self._queue.remember(found)
        return answer

    async def approval(self, ref: str) -> JsonObject:
        """One approval, whole."""
        return await self._on.store.query(queries.whole_approval, ref)

    async def wait_approval(self, ref: str, *, version: int, seconds: float) -> JsonObject:
        """The approval as soon as it is another than `version`, or after a while."""

        async def look() -> JsonObject | None:
            view = await self.approval(ref)
            return view if view["version"] != version else None

        return await self._wait(look, seconds) or await self.approval(ref)

    @property
    def agents(self) -> Agents:
        """Profiles, saved verdicts, the owner's default."""
        return self._on.agents

    @property
    def notices(self) -> Notifier:
        """Telling people that something needs them."""
        return self._on.notices

    @property
    def queue(self) -> Queue:
        """What is done with waiting calls besides deciding one."""
        return self._queue

    @property
    def switch(self) -> Switch:
        """Pause and resume."""
        on = self._on
        return Switch(store=on.store, effects=on.effects, changes=on.changes, clock=on.clock, enqueue=on.enqueue)

    @property
    def witness(self) -> Witness:
        """Showings and refusals, on record."""
        return self._on.witness

    @property
    def grants(self) -> Grants:
        """Yeses given beforehand."""
        return self._on.grants

    @property
    def spending(self) -> Spending:
        """The books."""
        on = self._on
        return Spending(store=on.store, changes=on.changes, clock=on.clock, ids=on.ids, enqueue=on.enqueue)

    @property
    def undos(self) -> Undos:
        """Taking file effects back."""
        return Undos(store=self._on.store, effects=self._on.effects, clock=self._on.clock, ids=self._on.ids)

    async def approve(self, ref: str, *, digest: str, reason: str | None, who: Approver, save: str | None = None) -> JsonObject:
        """Say yes to exactly what was shown, and carry it out; `save` is kept as the tool's verdict with it."""
        also = None if save is None else self._on.agents.with_decision(save, who=who)
        row = await self._on.store.query(approvals.find, ref)
        await self._on.effects.approve(row.id, digest=Digest(digest), who=who, reason=reason, also=also)
        return {**await self.approval(row.id), **await self._on.agents.said(row.agent, row.tool, save)}

    async def deny(self, ref: str, *, reason: str | None, stop: bool, who: Approver, save: str | None = None) -> JsonObject:
        """Say no, and end the run where asked to; `save` is kept as the tool's verdict with it."""
        saves = None if save is None else self._on.agents.with_decision(save, who=who)

        def also(conn: Connection, denied: ApprovalRow) -> None:
            if saves is not None:
                saves(conn, denied)
            if stop:
                self._stop(conn, denied.run, reason or "stopped with a denial", who)

        row = await self._on.store.query(approvals.find, ref)
        await self._on.effects.deny(row.id, who=who, reason=reason, also=also)
        return {**await self.approval(row.id), **await self._on.agents.said(row.agent, row.tool, save)}

    async def settle(self, ref: str, *, happened: bool, reason: str | None, who: Approver) -> JsonObject:
        """Say what became of an effect that nobody knows about; its run goes on."""
        row = await self._on.store.query(approvals.find, ref)
        await self._on.effects.settle(row.id, happened=happened, who=who, reason=reason)
        return await self.approval(row.id)

    async def log(self, *, after: int | None, limit: int, seconds: float) -> JsonObject:
        """What happened since place `after` of the audit, waiting for something to happen; without it, the newest events."""

        async def look() -> tuple[AuditRow, ...] | None:
            return await self._on.store.query(queries.events, after, limit) or None

        # Not every row of the audit rings the bell.
        found = await self._on.changes.until(look, seconds=min(max(seconds, 0.0), MAX_WAIT), every=1.0) or ()
        return {"events": [event_line(row) for row in found], "next": found[-1].seq if found else after or 0}

    async def stop(self, ref: str, *, who: Approver, reason: str | None) -> JsonObject:
        """End a run: its container is destroyed, its waiting calls are cancelled."""
        row = await self._on.store.query(runs.find, ref)
        why = reason or f"stopped by {who.name or f'uid {who.uid}'}"
        ended = await self._on.store.call(self._stop, row.id, why, who)
        segment = self._on.live.get(row.id)
        if segment is not None:
            segment.stop.set()
        self._on.changes.ring()
        if ended is None:
            raise UsageError(f"cannot stop {row.id}: it has already ended ({row.state.value})")
        return await self.run(row.id)

    async def resume(self, ref: str) -> JsonObject:
        """Let a failed run go on: the model's upstream is back, the disk has room again, the image is built."""
        row = await self._on.store.query(runs.find, ref)
        again = await self._on.store.call(retry, row.id, now=self._on.clock(), enqueue=self._on.enqueue)
        if again is None:
            raise UsageError(
                f"cannot resume {row.id}: it is {row.state.value}, and only a failed run can go on",
                resolution="a parked run goes on by itself when its calls are decided",
            )
        self._on.changes.ring()
        return await self.run(row.id)

    async def publish(self, profile: Profile, *, who: Approver) -> JsonObject:
        """Store a checked profile and make it its agent's current one."""
        return await self._on.store.call(publish, profile, self._on.clock(), by=who)

    async def profiles(self) -> list[JsonObject]:
        """Every agent's current profile."""
        found = await self._on.store.query(profiles.all)
        return [profile_line(row) for row in found]

    async def find(self, ref: str) -> JsonObject:
        """What an id of any kind names."""
        looks: dict[str, Look] = {"approval": self.approval, "run": self.run, "grant": self.grants.grant}
        looks |= {"reply": self.replies.shown, "share": self.shares.shown}
        looks["capture"] = lambda one: self._on.store.query(queries.whole_capture, one)
        return await found(ref, looks)

    async def _wait(self, look: Callable[[], Awaitable[JsonObject | None]], seconds: float) -> JsonObject | None:
        return await self._on.changes.until(look, seconds=min(max(seconds, 0.0), MAX_WAIT))

    def _stop(self, conn: Connection, run: RunId, reason: str, by: Approver) -> RunRow | None:  # noqa: PLR0917 -- for `call`
        row = runs.get(conn, run)
        if row.state in RUN_ENDS:
            return None
        return self._on.endings.record_in(
            conn, Attempt(run, row.segment, row.attempt), End(ending=Ending.CANCEL, reason=reason, by=by)
        )
