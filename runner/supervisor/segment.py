"""Conducts one attempt at one segment, top to bottom: claim, snapshot, gateway, container, conversation, end.

Whatever happens, the container is destroyed and its folder removed before the attempt is over (invariant 11).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

from runner.agent import (
    SessionEnd,
    user_message,
)
from runner.errors import (
    AgentProtocolError,
    RunnerError,
    SandboxError,
    SandboxMismatchError,
    SandboxUnavailableError,
    StoreError,
)
from runner.gateway import Gateway, Residents
from runner.model import Attempt
from runner.sandbox.beneath import Beneath
from runner.sandbox.engine import ImageInfo
from runner.sandbox.image import image_info
from runner.sandbox.view import SnapshotView
from runner.store import Connection, RunRow, SegmentRow, segments
from runner.supervisor.continuing import conversation
from runner.supervisor.desk import Desk
from runner.supervisor.doorkeeper import Doorkeeper
from runner.supervisor.endings import End, Ending
from runner.supervisor.ledger import Ledger
from runner.supervisor.live import LiveSegment
from runner.supervisor.patience import until_impatient
from runner.supervisor.pool import Pool
from runner.supervisor.preparation import Facts, checked, clear, lay_out, message_of, read_facts, reference_of
from runner.supervisor.purse import RunPurse
from runner.supervisor.resume import Restored, restore, worth_resuming
from runner.supervisor.staging import Stage, cold, waiting
from runner.supervisor.surroundings import Partners, Surroundings
from runner.supervisor.tainting import Tainting

_log = logging.getLogger(__name__)
P = ParamSpec("P")

#: Pause between two tries to write down what the database refused.
AGAIN_SECONDS = 1.0
#: How long a container that is to be parked may take to mirror the turn that waits.
MIRROR_SECONDS = 3.0
_STOPPING = End(ending=Ending.PARK, reason="the supervisor stops")


class Conductor:
    """Calls the tune for attempts; `conduct` is the dispatcher's door."""

    def __init__(self, surroundings: Surroundings, *, pool: Pool | None = None) -> None:
        self._around = surroundings
        self._pool = pool or Pool(around=surroundings)
        self._closing = False

    def close(self) -> None:
        """Take no attempt any more: what is still queued is left to the next supervisor."""
        self._closing = True

    async def conduct(self, attempt: Attempt) -> bool:
        """Carry one attempt from claim to end. A stale or repeated one changes nothing; False: it was not taken.

        The supervisor's edge: whatever goes wrong in here ends this run as failed, and no other.
        """
        folder = self._around.attempts / str(attempt).replace(":", "-")
        segment = LiveSegment(attempt=attempt, snapshot=folder / "snapshot")
        # From before the claim to after the end is on record: who drains must not close the store in between.
        self._around.live.add(segment)
        try:
            return await self._conduct(attempt, segment, folder)
        finally:
            self._around.live.remove(segment)

    async def _conduct(self, attempt: Attempt, segment: LiveSegment, folder: Path) -> bool:
        run = None if self._closing else await self._insist(self._claim, attempt)
        if run is None:
            _log.info("attempt %s is not taken: it is stale, or the supervisor stops or is paused", attempt)
            return False
        self._around.changes.ring()
        try:
            end = await self._attempted(attempt, run, segment=segment, folder=folder)
        except SandboxUnavailableError as error:
            # A run that has been under way is not lost to an engine that is away for a while.
            away = Ending.PARK if attempt.segment > 0 else Ending.FAIL
            end = End(ending=away, reason=error.diagnostics(), wait=True)
        except RunnerError as error:
            end = End(ending=Ending.FAIL, reason=error.diagnostics(), mismatch=isinstance(error, SandboxMismatchError))
        except Exception:  # noqa: BLE001 -- the supervisor's edge, one of the two
            _log.exception("attempt %s broke off", attempt)
            end = End(ending=Ending.FAIL, reason="the supervisor met a fault of its own; its log has the details")
        await self._insist(self._around.endings.record_in, attempt, end)
        self._around.changes.ring()
        return True

    async def _insist(
        self, write: Callable[Concatenate[Connection, P], RunRow | None], *args: P.args, **kw: P.kwargs
    ) -> RunRow | None:
        """Write beginning or end until the database takes it: a full disk may have room again, and who else would try?

        A supervisor that stops leaves it to the next one's recovery.
        """
        while True:
            try:
                return await self._around.store.call(write, *args, **kw)
            except StoreError as error:
                _log.error("cannot write down an attempt's beginning or end: %s", error.brief)
                if self._closing:
                    return None
            await asyncio.sleep(AGAIN_SECONDS)

    async def _attempted(self, attempt: Attempt, run: RunRow, *, segment: LiveSegment, folder: Path) -> End:
        around = self._around
        facts, found = await asyncio.gather(around.store.query(read_facts, attempt, run), image_info(around.engine))
        image, claimed = checked(found), None
        try:
            past = await around.store.query(conversation, facts.earlier, session_id=run.session_id or "")
            asked = user_message(facts.message)
            restored = await around.store.call(restore, attempt, run, prompt=asked, clock=around.clock, past=past)
            claimed = None if restored is not None else await self._pool.claim(facts, image)
            if claimed is not None:
                facts, segment.snapshot = claimed.facts, claimed.warm.folder / "snapshot"
            else:
                await asyncio.to_thread(lay_out, folder, restored)
            if segment.park.is_set():
                return _STOPPING
            stage: Stage = partial(cold, around, image, folder, resumed=restored is not None)
            if claimed is not None:
                stage = partial(waiting, around, claimed.warm)
            return await self._with_view(facts.still_open(restored), image, stage=stage, restored=restored, segment=segment)
        finally:
            if claimed is not None:
                await claimed.warm.discard()
            await asyncio.to_thread(clear, folder)

    async def _with_view(
        self, facts: Facts, image: ImageInfo, *, stage: Stage, restored: Restored | None, segment: LiveSegment
    ) -> End:
        around = self._around
        with Beneath.open(segment.snapshot) as beneath:
            desk = Desk(
                Ledger(around.store, facts.attempt, facts.profile, clock=around.clock, ids=around.ids),
                facts.profile,
                partial(
                    around.contexts.fresh,
                    SnapshotView(beneath),
                    run=facts.run.id,
                    agent=facts.run.agent,
                    sender=facts.run.sender,
                    folder=segment.snapshot,
                ),
                changes=around.changes,
                usage=facts.run.usage,
                entries=restored.entries if restored else (),
                wire_ids=restored.wire_ids if restored else (),
                past_ids=restored.past_ids if restored else (),
                tainting=Tainting(store=around.store, run=facts.run.id, agent=facts.run.agent, files=beneath).of_turn,
            )
            purse = RunPurse(around.store, facts.run, facts.profile, budgets=around.budgets, clock=around.clock, ids=around.ids)
            residents = Residents()
            keeper = Doorkeeper(store=around.store, attempt=facts.attempt, clock=around.clock)
            # Of a run that goes on or continues others it reads the whole conversation.
            past = () if restored is None else restored.lines
            reference = await asyncio.to_thread(reference_of, facts, image, resume=restored is not None, past=past)
            gateway = Gateway(
                directory=segment.snapshot.parent / "gateway",
                desk=desk,
                reference=reference,
                upstream=around.upstream(facts.profile.name),
                purse=purse,
                peers=residents,
                watch=keeper,
            )
            await gateway.start()
            try:
                async with stage(facts, desk) as (box, session):
                    residents.are_of(box.container_id)
                    if await around.store.call(around.endings.started, facts.attempt, box.proof) is None:
                        return End(ending=Ending.CANCEL, reason="stopped while it was starting")
                    segment.proven = True
                    around.changes.ring()
                    partners = Partners(box=box, session=session, desk=desk, gateway=gateway, purse=purse)
                    return await self._converse(facts, partners, restored=restored, segment=segment)
            finally:
                await gateway.stop()
                await keeper.close(doubt=desk.doubt)

    async def _converse(self, facts: Facts, partners: Partners, *, restored: Restored | None, segment: LiveSegment) -> End:
        """Let the agent talk until it, its limits or a person end it."""
        around, desk, purse = self._around, partners.desk, partners.purse
        talk = asyncio.create_task(partners.session.run(message_of(facts, restored)))
        others: dict[asyncio.Task[Any], Callable[[], End]] = {
            _task(segment.stop.wait()): lambda: End(ending=Ending.CANCEL, reason="stopped by a person"),
            _task(segment.park.wait()): lambda: _STOPPING,
            _task(purse.spent.wait()): purse.end,
            _task(desk.doomed.wait()): lambda: End(ending=Ending.FAIL, reason=desk.doom),
        }
        patience = _task(until_impatient(around.store, facts.attempt.run, facts.profile, changes=around.changes))
        others[patience] = patience.result
        try:
            done, _ = await asyncio.wait({talk, *others}, return_when=asyncio.FIRST_COMPLETED)
            ended = next((others[task] for task in others if task in done), None)
            desk.close()
            if ended is not None:
                return await self._settle(ended(), desk)
            return await self._concluded(talk, partners, facts)
        finally:
            desk.close()
            await _put_down({talk, *others})

    async def _settle(self, end: End, desk: Desk) -> End:
        """Before a container is parked its mirror may catch up with the turn, which it does about 0.1 s after the hook."""
        if end.ending is not Ending.PARK:
            return end
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(desk.mirrored.wait(), MIRROR_SECONDS)
        return end if desk.reply is None else End(ending=Ending.REPLY, reply=desk.reply, private=desk.private)

    async def _concluded(self, talk: asyncio.Task[SessionEnd], partners: Partners, facts: Facts) -> End:
        """The conversation is over: a reply if the gateway saw the model's last word, parked if calls still wait."""
        desk, gateway, attempt, said = partners.desk, partners.gateway, facts.attempt, ""
        try:
            end = talk.result()
            said = f"; the CLI said: {end.subtype} {end.said}".rstrip()
        except SandboxMismatchError:
            raise
        except (AgentProtocolError, SandboxError) as error:
            said = f"; {error.diagnostics()}"
        if partners.box.out_of_memory:
            said = f"; it ran out of memory (limit {facts.profile.limits.memory // 2**20} MiB)"
        if desk.doomed.is_set():
            return End(ending=Ending.FAIL, reason=desk.doom)
        if desk.reply is not None and not gateway.failure:
            return End(ending=Ending.REPLY, reply=desk.reply, private=desk.private)
        if await self._around.store.query(worth_resuming, attempt, refused=gateway.failure is not None):
            return End(ending=Ending.PARK, reason=f"its container ended while calls waited{said}")
        if gateway.failure:
            return End(ending=Ending.FAIL, reason=gateway.failure)  # the CLI says the same, in words for its own user
        return End(ending=Ending.FAIL, reason=f"the agent ended without an answer{said}")

    def _claim(self, conn: Connection, attempt: Attempt) -> RunRow | None:
        run = self._around.endings.claim(conn, attempt)
        if run is not None:
            row = SegmentRow(run=run.id, segment=attempt.segment, attempt=attempt.number, created=self._around.clock())
            segments.insert(conn, row)
        return run


def _task(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.create_task(work)


async def _put_down(tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
