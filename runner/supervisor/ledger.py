"""What a segment attempt writes down: turns, strays, results, deliveries; each in one transaction, each only while it may.

A stale attempt (its run has moved on to another segment or attempt) writes nothing (engine.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from runner import approvals
from runner.approvals import Request
from runner.errors import AgentProtocolError, GatewayError
from runner.gateway import ModelTurn, ToolResult, noted, said_by
from runner.lifecycle import RUN_ENDS, ApprovalEvent, ApprovalState, RunEvent
from runner.model import ApprovalId, Attempt, CallId, Json, Profile, Usage, Verdict
from runner.policy.catalogue import TOOLS, definition_digest
from runner.policy.taint import Taint
from runner.store import ApprovalRow, CallRow, Connection, RunRow, Store, calls, heard, runs, taints, threads, transcript
from runner.store import approvals as rows
from runner.supervisor import granted
from runner.supervisor.entries import Entry
from runner.supervisor.ids import Ids
from runner.supervisor.proposals import MAX_NAME, Proposal

_ASKED_AGAIN = "the agent asked the model anew without an answer to this call"
_IN_CONTAINER = "Runs in the container, on the snapshot of the agent's directory; it changes nothing."
#: Bytes of a stray call's arguments kept for the record.
_STRAY_BYTES = 2000
#: Characters of a run's transcript, of all its containers together. One request to the model holds 32 MiB, and each file that
#: was read stands in a transcript twice; all of it is in memory when a run is resumed.
MAX_TRANSCRIPT = 96 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """An outcome as the container is told it, once."""

    text: str
    is_error: bool


class Ledger:
    """The rows of one attempt."""

    def __init__(self, store: Store, attempt: Attempt, profile: Profile, *, clock: Callable[[], float], ids: Ids) -> None:
        self._store = store
        self._attempt = attempt
        self._profile = profile
        self._clock = clock
        self._ids = ids
        self._mirrored: int | None = None  #: characters of the run's transcript; not known before the first of this attempt

    async def is_current(self) -> bool:
        """Whether this attempt still speaks for its run."""
        row = await self._store.query(runs.get, self._attempt.run)
        return _speaks_for(self._attempt, row)

    async def record_turn(
        self, proposals: Sequence[Proposal], *, turn: ModelTurn, usage: Usage, taint: Sequence[Taint] = ()
    ) -> list[Entry]:
        """Store a turn's decisions and queue its gated calls together, before anything is answered (invariant 2).

        Args:
            proposals: The turn's calls, decided.
            turn: What the model said. Where it made no call and the supervisor dies now, its words are the run's reply.
            usage: The run's, this turn included.
            taint: What untrusted content the calls bring into the run (P4).

        Raises:
            GatewayError: This attempt is stale.
        """
        return await self._store.call(self._record_turn, proposals, turn=turn, usage=usage, taint=taint)

    async def denials(self) -> int:
        """How many calls of the run were denied, by a person or by an earlier no (L8)."""
        return await self._store.query(rows.count, run=self._attempt.run, states={ApprovalState.DENIED})

    def new_wire_id(self) -> str:
        """An id for a call whose own came before."""
        return self._ids.wire()

    async def record_stray(self, name: str, arguments: Mapping[str, Json]) -> None:
        """Store a call that the container asked for and the model never made."""
        await self._store.call(self._record_stray, name, json.dumps(dict(arguments))[:_STRAY_BYTES])

    async def note_results(self, ran: Mapping[CallId, ToolResult]) -> None:
        """Note which calls were carried out in the container, by its own word, which failed, and what the model is told."""
        if ran:
            await self._store.call(self._note_results, ran)

    async def deliver(self, approval: ApprovalId, *, again: bool = False) -> Delivered | None:
        """Take an approval's outcome for the container; None when it was taken before, unless it is to be told `again`."""
        return await self._store.call(self._deliver, approval, again=again)

    async def approval(self, approval: ApprovalId) -> ApprovalRow:
        """The approval as it is now."""
        return await self._store.query(rows.get, approval)

    async def mirror(self, entries: Sequence[str]) -> None:
        """Append transcript lines as they come: the run must be resumable from any of them on.

        Raises:
            AgentProtocolError: The run's transcript is larger than any conversation may be.
        """
        await self._store.call(self._mirror, entries)

    def _note_results(self, conn: Connection, ran: Mapping[CallId, ToolResult]) -> None:
        for call, result in ran.items():
            text = "the container reports an error" if result.is_error else "ran in the container"
            calls.set_outcome(conn, call, outcome=text, error=result.is_error, now=self._clock())
            if result.parts:
                heard.note_result(conn, self._attempt, call, noted(result.parts))

    def _mirror(self, conn: Connection, entries: Sequence[str]) -> None:
        if _speaks_for(self._attempt, runs.get(conn, self._attempt.run)):
            before = transcript.size(conn, self._attempt.run) if self._mirrored is None else self._mirrored
            self._mirrored = before + sum(map(len, entries))
            if self._mirrored > MAX_TRANSCRIPT:
                raise AgentProtocolError(
                    f"cannot store the agent's transcript: it is larger than {MAX_TRANSCRIPT // 2**20} MiB"
                )
            transcript.append(conn, *self._attempt, entries)

    def _record_turn(
        self,
        conn: Connection,
        proposals: Sequence[Proposal],
        *,
        turn: ModelTurn,
        usage: Usage,
        taint: Sequence[Taint],
    ) -> list[Entry]:
        now = self._clock()
        run = runs.get(conn, self._attempt.run)
        if not _speaks_for(self._attempt, run):
            raise GatewayError("cannot take a turn: this attempt is no longer the run's own")
        runs.record(conn, run.id, now=now, usage=usage, reply=None if proposals else turn.words)
        threads.note_words(conn, run.id, usage.turns, turn.words)
        heard.note_said(conn, run.id, said_by(turn), turn=usage.turns)
        # An honest CLI asks the model again only when the last turn is answered; one that lost a reply has nobody to tell.
        approvals.end_for_run(conn, run.id, event=ApprovalEvent.SUPERSEDE, reason=_ASKED_AGAIN, now=now)
        proposals = granted.used(conn, proposals, run=run.id, now=now)
        entries = [self._append(conn, proposal, turn=usage.turns, now=now) for proposal in proposals]
        gated = [(entry, one) for entry, one in zip(entries, proposals, strict=True) if one.gated]
        named = taints.add(conn, run.id, taint, now=now)
        recorded = {"taint": taints.dump(named)}
        requests = [
            replace(
                self._request(run, entry, proposal, turn=usage.turns),
                recorded=recorded,
                standing=granted.standing(conn, proposal.decision),
            )
            for entry, proposal in gated
        ]
        opened = approvals.open_turn(conn, requests, now=now, ids=self._ids.approval, nonces=self._ids.nonce)
        for (entry, _), row in zip(gated, opened, strict=True):
            if isinstance(row, ApprovalRow):
                entry.approval = row.id
                continue
            entry.decision = replace(entry.decision, verdict=Verdict.DENY, rank=0, rule=row.code, reason=row.reason)
            calls.set_outcome(conn, entry.call, outcome=row.reason, error=True, now=now)
        waits = any(isinstance(row, ApprovalRow) and row.state is ApprovalState.PENDING for row in opened)
        event = RunEvent.HOLD if waits else RunEvent.RELEASE
        runs.move(conn, run.id, event, now=now, segment=self._attempt.segment, attempt=self._attempt.number)
        return entries

    def _append(self, conn: Connection, proposal: Proposal, *, turn: int, now: float) -> Entry:
        decision = proposal.decision
        row = calls.append(
            conn,
            CallRow(
                id=self._ids.call(),
                run=self._attempt.run,
                segment=self._attempt.segment,
                attempt=self._attempt.number,
                turn=turn,
                tool=proposal.call.tool,
                raw=proposal.call.raw,
                call_digest=decision.call_digest,
                verdict=decision.verdict,
                rank=decision.rank,
                rule=decision.rule,
                reason=decision.reason,
                wire_id=proposal.use.id,
                created=now,
                paths=decision.paths,
            ),
        )
        if decision.verdict is Verdict.DENY:
            calls.set_outcome(conn, row.id, outcome="denied", error=True, now=now)
        return Entry(
            call=row.id,
            tool=proposal.call.tool,
            wire_id=proposal.use.id,
            key=proposal.key,
            in_container=proposal.in_container,
            decision=decision,
        )

    def _request(self, run: RunRow, entry: Entry, proposal: Proposal, *, turn: int) -> Request:
        plan, decision = proposal.plan, entry.decision
        if plan is None and not entry.in_container:
            raise GatewayError("cannot queue a call: it has no plan")
        return Request(
            call=entry.call,
            run=run.id,
            segment=self._attempt.segment,
            attempt=self._attempt.number,
            turn=turn,
            agent=run.agent,
            tool=entry.tool,
            profile_digest=self._profile.digest,
            definition_digest=definition_digest(TOOLS[entry.tool]),
            why=decision.rule,
            reason=decision.reason,
            raw=proposal.call.raw,
            paths=decision.paths,
            pre_images={str(path): digest for path, digest in plan.pre_images.items()} if plan is not None else {},
            post_image=plan.post_image if plan is not None else None,
            preview=plan.preview if plan is not None else _IN_CONTAINER,
            warnings=plan.warnings if plan is not None else (),
            sender=run.sender,
            expires_at=self._clock() + self._profile.approvals.expires,
            required=self._profile.approvals.required,
        )

    def _record_stray(self, conn: Connection, name: str, raw: str) -> None:
        now = self._clock()
        row = CallRow(
            id=self._ids.call(),
            run=self._attempt.run,
            segment=self._attempt.segment,
            attempt=self._attempt.number,
            turn=0,
            tool=printable(name[:MAX_NAME]),
            raw=raw,
            call_digest=None,
            verdict=Verdict.DENY,
            rank=0,
            rule="unasked",
            reason="The container asked for a call that the model never made.",
            wire_id="",
            created=now,
        )
        calls.append(conn, row)
        calls.set_outcome(conn, row.id, outcome="denied", error=True, now=now)

    def _deliver(self, conn: Connection, approval: ApprovalId, *, again: bool) -> Delivered | None:
        text = approvals.deliver(conn, approval, now=self._clock())
        row = rows.get(conn, approval)
        if text is None and again and row.delivered_at is not None:
            text = approvals.outcome_text(row)
        return None if text is None else Delivered(text=text, is_error=row.outcome_error)


def _speaks_for(attempt: Attempt, run: RunRow) -> bool:
    return (run.segment, run.attempt) == (attempt.segment, attempt.number) and run.state not in RUN_ENDS


def printable(text: str) -> str:
    """A container's word as every database takes it: no NUL, no half characters."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
