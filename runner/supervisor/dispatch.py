"""The durable queue: one DBOS workflow per segment attempt. The only module that knows DBOS (engine.md).

It dispatches and nothing else: what a run is, whether it may still run and what it has done are rows of our own, moved by
compare-and-set. A workflow that comes twice, late or after a crash finds its attempt taken and returns.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import socket
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NoReturn

from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, EnqueueOptions
from dbos._serialization import DefaultSerializer

from runner.errors import StoreError
from runner.model import Attempt, RunId
from runner.supervisor.places import LetIn, Places

if TYPE_CHECKING:
    from runner.store import Connection, Engine

QUEUE = "segments"
#: Where contacts' attempts wait: a lane's are taken one by one, and lanes in no order: many of one keep out no other.
CONTACTS = "contacts"
#: Of theirs, how many may stand before a place at once: more than places, or many for one agent would keep out another agent's.
LANES = 64
WORKFLOW = "segment"
#: Constant on purpose: by default it is a checksum of our code, and a deploy would strand what is queued.
APPLICATION_VERSION = "1"
POLL_SECONDS = 0.1
#: Attempts after which DBOS's rows of ended ones are deleted; ours hold all that matters of them.
PRUNE_EVERY = 100
_ENDED = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")
_BATCH = 500

#: Tells whether the attempt was this caller's to carry.
Conduct = Callable[[Attempt], Awaitable[bool]]


class Dispatch:
    """Queues segment attempts and calls `conduct` for each, on the running loop.

    One instance per process at a time: DBOS is a process-wide singleton.
    """

    def __init__(self, engine: Engine, *, host_limit: int, agent_limit: int, room: LetIn | None = None) -> None:
        self._engine = engine
        self._conduct: Conduct = _untaken
        self._limits = (host_limit, agent_limit)
        self._places = Places(host=host_limit, agent=agent_limit, room=room)
        self._client: DBOSClient | None = None
        self._started = asyncio.Event()
        self._conducted = 0
        self._nudging = False
        self._queued: list[tuple[Attempt, str]] = []
        self._begun: dict[Attempt, asyncio.Task[bool]] = {}
        # Unique per boot: a former boot's work is taken over by our own recovery, never by DBOS's (engine.md §4).
        self._executor = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"

    def hindrance(self) -> str | None:
        """What attempts wait for; see `Places`."""
        return self._places.hindrance()

    async def open(self, conduct: Conduct, *, tell: Callable[[Callable[[], None]], None] = lambda _nudge: None) -> None:
        """Create DBOS's tables where missing, forget a dead supervisor's work and make `enqueue` work.

        Nothing is conducted yet; runs that were under way are for `recovery`, which knows them from our rows.

        Args:
            conduct: Called for each attempt that is taken, for one more than once; never raises.
            tell: Takes what is to be called whenever rows have changed.
        """
        self._conduct = conduct
        tell(self.nudge)
        _refuse_pickle()
        _quiet()
        config = DBOSConfig(
            name="runner",
            system_database_engine=self._engine,
            system_database_url=self._engine.url.render_as_string(hide_password=False),
            executor_id=self._executor,
            application_version=APPLICATION_VERSION,
            serializer=DBOSPortableJSONSerializer(),
            notification_listener_polling_interval_sec=POLL_SECONDS,
            log_level="WARNING",
        )
        DBOS(config=config)

        @DBOS.workflow(name=WORKFLOW)
        async def segment(run: str, number: int, attempt: int, agent: str = "", lane: str = "") -> None:  # noqa: PLR0917 - DBOS's
            # DBOS remembers the queue from the boot before and takes work from it as soon as it is launched.
            await self._started.wait()
            await self._taken_up(Attempt(RunId(run), number, attempt), agent, owner=not lane)
            self._conducted += 1
            if self._conducted % PRUNE_EVERY == 0:
                await asyncio.to_thread(self._forget, _ENDED)

        # Launched inside the running loop, or queued coroutines would run on a thread of DBOS's own.
        await asyncio.to_thread(self._make_client)
        DBOS.launch()
        await asyncio.to_thread(self._forget, ("PENDING", *_ENDED))

    async def start(self) -> None:
        """Begin taking work."""
        self._started.set()
        self._nudging = True
        host, agent = self._limits
        await DBOS.register_queue_async(
            QUEUE,
            worker_concurrency=host,
            partition_concurrency=agent,
            polling_interval_sec=POLL_SECONDS,
            on_conflict="always_update",
        )
        await DBOS.register_queue_async(
            CONTACTS,
            worker_concurrency=LANES,
            partition_concurrency=1,
            polling_interval_sec=POLL_SECONDS,
            on_conflict="always_update",
        )

    def enqueue(self, conn: Connection, attempt: Attempt, *, agent: str, lane: str = "") -> None:
        """Queue one attempt inside the caller's transaction; the same attempt twice is one.

        Args:
            conn: The transaction.
            attempt: The attempt.
            agent: Whose container it will be.
            lane: Of a contact; empty: it is the owner's.

        Raises:
            StoreError: The dispatcher is not open.
        """
        if self._client is None:
            raise StoreError("cannot queue a run: the dispatcher is not open")
        options = EnqueueOptions(
            workflow_name=WORKFLOW,
            queue_name=CONTACTS if lane else QUEUE,
            workflow_id=str(attempt),
            queue_partition_key=lane or agent,
        )
        self._client.enqueue_in_transaction(conn, options, *attempt, agent, lane)
        if not lane:
            self._queued.append((attempt, agent))

    def nudge(self) -> None:
        """Begin what was queued just now where a place is free: DBOS looks only every so often (issue 7, M12).

        Called when rows have changed. The workflow comes after and finds the attempt begun. What no commit has made true yet,
        or never does, is not taken, and is left to the workflow, if there is one.
        """
        queued, self._queued = self._queued, []
        for attempt, agent in queued:
            if self._nudging and attempt not in self._begun and self._places.vacant(agent):
                self._begun[attempt] = task = asyncio.create_task(self._placed(attempt, agent, owner=True))
                task.add_done_callback(functools.partial(self._begun_ended, attempt))

    async def close(self, *, drain_seconds: float) -> None:
        """Stop taking work and forget DBOS; what runs has `drain_seconds` to end."""
        self._nudging = False
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(max_workers=1) as closing:
            destroy = functools.partial(
                DBOS.destroy, workflow_completion_timeout_sec=round(drain_seconds), destroy_registry=True
            )
            await loop.run_in_executor(closing, destroy)
            if self._client is not None:
                await loop.run_in_executor(closing, self._client.destroy)
                self._client = None
        if begun := [task for task in self._begun.values() if not task.done()]:
            await asyncio.wait(begun, timeout=drain_seconds)
            for task in begun:
                task.cancel()
            await asyncio.gather(*begun, return_exceptions=True)
        # DBOS made its own pool the loop's default and has just shut it down; what still closes needs threads.
        loop.set_default_executor(ThreadPoolExecutor())

    async def _taken_up(self, attempt: Attempt, agent: str, *, owner: bool) -> None:
        """An attempt whose workflow has come: by who began it before, or else now."""
        begun = self._begun.get(attempt)
        try:
            if begun is not None and await asyncio.shield(begun):
                return
        finally:
            self._begun.pop(attempt, None)
        await self._placed(attempt, agent, owner=owner)

    async def _placed(self, attempt: Attempt, agent: str, *, owner: bool) -> bool:
        async with self._places.one(agent, owner=owner):
            return await self._conduct(attempt)

    def _begun_ended(self, attempt: Attempt, task: asyncio.Task[bool]) -> None:
        """One that was not taken has perhaps no workflow that would ask for it."""
        if task.cancelled() or task.exception() is not None or not task.result():
            self._begun.pop(attempt, None)

    def _forget(self, states: tuple[str, ...]) -> None:
        """Delete workflows. What a killed supervisor left as running would count against its agent's limit for ever."""
        client = self._client
        while client is not None:
            found = client.list_workflows(name=WORKFLOW, status=list(states), limit=_BATCH, load_input=False, load_output=False)
            gone = [one.workflow_id for one in found if one.status in _ENDED or one.executor_id != self._executor]
            if not gone:
                return
            client.delete_workflows(gone)

    def _make_client(self) -> None:
        self._client = DBOSClient(system_database_engine=self._engine, serializer=DBOSPortableJSONSerializer())


async def _untaken(_attempt: Attempt) -> bool:
    return False


def _refuse_pickle() -> None:
    """A row names its own codec, and one marked `py_pickle` ran code: that codec must not exist here (engine.md)."""

    def refuse(*_args: Any, **_kwargs: Any) -> NoReturn:
        raise StoreError("cannot read a queue row: it is pickled, which is never trusted")

    for name in ("serialize", "deserialize"):
        setattr(DefaultSerializer, name, refuse)


def _quiet() -> None:
    """DBOS logs a long traceback per cancelled workflow; its warnings still come through."""
    logging.getLogger("dbos").setLevel(logging.WARNING)
