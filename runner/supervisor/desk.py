"""The desk of one segment attempt: where the gateway's turns are decided and the gate's questions are answered.

Owns the identity of calls: run and segment from the closure, our own counter, and a key over tool and exact input. Ids that
come over the wire are data. It starts no effect; it waits for what approvals and broker record (invariant 13).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from runner.agent import Answer, Outcome
from runner.approvals import outcome_text
from runner.digest import parse_call
from runner.errors import GatewayError
from runner.gateway import Handover, ModelTurn, ToolResult, ToolUse
from runner.lifecycle import APPROVAL_ENDS, ApprovalState
from runner.model import ApprovalId, CallId, Decision, Json, Profile, Usage, Verdict
from runner.policy import PolicyContext, decide
from runner.policy.catalogue import profile_name
from runner.policy.taint import Taint
from runner.supervisor.changes import Changes
from runner.supervisor.entries import Entry, Phase
from runner.supervisor.keys import key_of, named_in
from runner.supervisor.ledger import Ledger
from runner.supervisor.proposals import Proposal, as_strict_as_its_twins, propose
from runner.supervisor.quota import Quota
from runner.supervisor.results import told_of
from runner.supervisor.tainting import of_results

#: Calls the model never made that a container may ask for before it is killed.
MAX_STRAYS = 20
#: Calls of a run that may be denied before it ends instead of asking again.
MAX_DENIALS = 5
_ASKS_NOW = (
    "Refused (changed): the owner's choices changed while this call was under way, and it needs a person's approval now. "
    "It was not run. Ask for it anew if it is still wanted."
)


class Desk:
    """Implements the gateway's `TurnDesk` and the agent's `Gate` for one attempt."""

    def __init__(  # noqa: PLR0913 -- a desk of a resumed segment starts with what it was told
        self,
        ledger: Ledger,
        profile: Profile,
        context: Callable[[], PolicyContext],
        *,
        changes: Changes,
        usage: Usage,
        entries: Sequence[Entry] = (),
        wire_ids: Collection[str] = (),
        past_ids: Collection[str] = (),
        tainting: Callable[[Sequence[Proposal], PolicyContext], tuple[Taint, ...]] = of_results,
    ) -> None:
        self._ledger = ledger
        self._profile = profile
        self._context = context
        self._changes = changes
        self._tainting = tainting
        #: The last turn's calls. Those of turns before are over: the model has been asked again.
        self._entries: list[Entry] = list(entries)
        self._wire_ids = set(wire_ids)  #: of the whole run's calls, as the CLI knows them
        self._past_ids = frozenset(past_ids)  #: of the calls of the runs that it continues
        self._strays = 0
        self._quota = Quota(profile.limits)
        self._noted: set[CallId] = set()  #: calls that the container said it carried out
        self._lock = asyncio.Lock()
        self.usage = usage
        self.mirrored = asyncio.Event()
        self._unmirrored: set[str] = set()
        self.mirrored.set()
        self.reply: str | None = None
        self.private = False  #: anything could be read in the snapshot, at some turn
        self.doomed = asyncio.Event()
        self._closed = False
        self.doom = ""
        self.doubt: str | None = None  #: what showed that the container lies

    # --- the gateway's side -------------------------------------------------------------------------------------------

    async def open_request(self) -> None:
        """Refuse a model request when this attempt is over its limits or no longer the run's own.

        Raises:
            GatewayError: It is; the run ends.
        """
        await self._let_out(self._quota.request(turns=self.usage.turns))

    async def open_count(self) -> None:
        """The same, before tokens are counted; raises alike."""
        await self._let_out(self._quota.count())

    async def take_turn(self, turn: ModelTurn) -> tuple[Handover, ...]:
        """Decide, store and queue a turn's calls together; only then may the CLI see them (design.md §3.5)."""
        async with self._lock:
            self._check_open()
            self._quota.turn()
            self.usage = Usage(
                requests=self.usage.requests + turn.usage.requests,
                turns=self.usage.turns + 1,
                input_tokens=self.usage.input_tokens + turn.usage.input_tokens,
                output_tokens=self.usage.output_tokens + turn.usage.output_tokens,
            )
            if len(self._wire_ids) + len(turn.tool_uses) > self._profile.limits.calls:
                raise self._end(f"cannot go on: the limit of {self._profile.limits.calls} calls is reached")
            self.reply = None if turn.tool_uses else turn.words
            uses = [self._told_apart(use) for use in turn.tool_uses]
            proposals, taint = await asyncio.to_thread(self._propose, uses)
            await self._check_denials(proposals)
            entries = await self._ledger.record_turn(proposals, turn=turn, usage=self.usage, taint=taint)
            self._entries = entries
            self._unmirrored = {entry.wire_id for entry in entries}
            if self._unmirrored:
                self.mirrored.clear()
        self._changes.ring()
        return tuple(replace(proposal.handover(), id=proposal.use.id) for proposal in proposals)

    async def check_results(self, results: Sequence[ToolResult]) -> None:
        """Compare what the CLI tells the model with what is on record (design.md §2.4).

        Raises:
            GatewayError: A brokered call's result is not its recorded outcome, or one of the container's own was not let run.
                Or this attempt is over: a CLI whose input ends says of the call that waits that it failed.
        """
        self._check_open()
        told = told_of(results, self._entries)
        await self._ledger.note_results({call: result for call, result in told.ran.items() if call not in self._noted})
        self._noted |= told.ran.keys()
        if told.doubt is not None:
            self.doubt = told.doubt
            raise self._end(f"cannot trust the agent: {told.doubt}")

    # --- the transcript's side ----------------------------------------------------------------------------------------

    async def mirror(self, entries: Sequence[str]) -> None:
        """Store transcript lines as they come, and note whether the last turn's calls are all among them."""
        await self._ledger.mirror(entries)
        self._unmirrored -= await named_in(entries, frozenset(self._unmirrored))
        if not self._unmirrored:
            self.mirrored.set()

    # --- the gate's side ----------------------------------------------------------------------------------------------

    async def ask(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """The hook's question."""
        entry = await self._claim(name, arguments, (Phase.DECIDED,))
        if entry is None:
            return await self._stray(name, arguments)
        entry.phase = Phase.ASKED
        return await self._answer(entry, arguments)

    async def confirm(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """The callback's question: the hook's call again, or, were there no hook, the first time."""
        entry = await self._claim(name, arguments, (Phase.ASKED, Phase.DECIDED))
        if entry is None:
            return await self._stray(name, arguments)
        entry.phase = Phase.CONFIRMED
        return await self._answer(entry, arguments)

    async def outcome(self, name: str, arguments: Mapping[str, Json]) -> Outcome:
        """The handler's question: what is on record for a confirmed call, once."""
        entry = await self._claim(name, arguments, (Phase.CONFIRMED,))
        if entry is None or entry.approval is None:
            await self._stray(name, arguments)
            return Outcome(text="refused: no approved call fits this one; nothing was done", is_error=True)
        entry.phase, again, entry.again = Phase.CLOSED, entry.again, False
        delivered = await self._ledger.deliver(entry.approval, again=again)
        if delivered is None:
            entry.phase, entry.again = Phase.CONFIRMED, again
            return Outcome(text="refused: this call has no outcome to tell; nothing was done", is_error=True)
        entry.told, entry.told_error = delivered.text, delivered.is_error
        return Outcome(text=delivered.text, is_error=delivered.is_error)

    # --- inside -------------------------------------------------------------------------------------------------------

    async def _let_out(self, over: str | None) -> None:
        self._check_open()
        if over is not None:
            raise self._end(f"cannot go on: {over}")
        if not await self._ledger.is_current():
            raise self._end("cannot go on: this attempt is no longer the run's own")

    def _told_apart(self, use: ToolUse) -> ToolUse:
        """The call under an id that no other of the conversation has: of two with one id the CLI forgets one (B11, case 54)."""
        if use.id in self._wire_ids or use.id in self._past_ids:
            use = replace(use, id=self._ledger.new_wire_id())
        self._wire_ids.add(use.id)
        return use

    async def _check_denials(self, proposals: Sequence[Proposal]) -> None:
        """An agent that was told no so often may say its last word, but not ask a person for more (B10, L8)."""
        if any(one.decision.verdict is Verdict.ASK for one in proposals) and await self._ledger.denials() >= MAX_DENIALS:
            raise self._end(f"cannot go on: {MAX_DENIALS} of its calls were denied, and the agent asks for more")

    def _propose(self, uses: Sequence[ToolUse]) -> tuple[list[Proposal], tuple[Taint, ...]]:
        context = self._context()
        self.private |= context.sensitive is not False
        proposals = [propose(use, self._profile, context, cwd=self._profile.cwd) for use in uses]
        final = [as_strict_as_its_twins(one, proposals) for one in proposals]
        return final, self._tainting(final, context)

    async def _claim(self, name: str, arguments: Mapping[str, Json], phases: Sequence[Phase]) -> Entry | None:
        """The first call of this very tool and input that has come exactly so far. Nothing is awaited once it is found."""
        tool = profile_name(name)
        if tool is None or not any(entry.tool == tool and entry.phase in phases for entry in self._entries):
            return None  # whatever its input is
        key = await key_of(tool, arguments)
        for phase in phases:
            for entry in self._entries:
                if key is not None and entry.key == key and entry.phase is phase:
                    return entry
        return None

    async def _answer(self, entry: Entry, arguments: Mapping[str, Json]) -> Answer:
        if entry.approval is not None:
            answer = await self._wait(entry, entry.approval)
            if not answer.allowed or not entry.in_container:
                return answer
        elif entry.decision.verdict is not Verdict.ALLOW:
            return self._refuse(entry, entry.decision.reason)
        return await self._let_run(entry, arguments)

    async def _let_run(self, entry: Entry, arguments: Mapping[str, Json]) -> Answer:
        """Let the CLI carry a call out in the container, if the owner's choices still have it so (R109)."""
        fresh = await asyncio.to_thread(self._decide_again, entry, arguments)
        if fresh.verdict is Verdict.DENY:
            return self._refuse(entry, fresh.reason)
        if fresh.verdict is Verdict.ASK and entry.approval is None:
            return self._refuse(entry, _ASKS_NOW)
        if entry.phase is Phase.CONFIRMED:
            entry.phase = Phase.CLOSED
            if entry.approval is not None:
                await self._ledger.deliver(entry.approval)
        return Answer(allowed=True)

    def _decide_again(self, entry: Entry, arguments: Mapping[str, Json]) -> Decision:
        call = parse_call(entry.tool, json.dumps(dict(arguments)))
        return decide(call, self._profile, self._context())

    async def _wait(self, entry: Entry, approval: ApprovalId) -> Answer:
        """Until the approval has its outcome: a yes lets the handler tell it, a no is told here."""

        async def look() -> Answer | None:
            row = await self._ledger.approval(approval)
            if row.state in (ApprovalState.DONE, ApprovalState.FAILED):
                return Answer(allowed=True)
            if row.state in APPROVAL_ENDS:
                return Answer(allowed=False, reason=outcome_text(row))
            return None

        answer = await self._changes.until(look, seconds=None)
        if answer is None:
            return self._refuse(entry, "no answer")
        if not answer.allowed and entry.phase is not Phase.CLOSED:
            await self._ledger.deliver(approval)
            return self._refuse(entry, answer.reason)
        return answer

    def _refuse(self, entry: Entry, reason: str) -> Answer:
        entry.phase, entry.told, entry.told_error = Phase.CLOSED, reason, True
        return Answer(allowed=False, reason=reason)

    async def _stray(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """A call the model never made, as far as the gateway saw: refused, recorded, and a sign of a lying CLI."""
        self._strays += 1
        if self._strays > MAX_STRAYS:
            self._end(f"cannot trust the agent: it asked for more than {MAX_STRAYS} calls that the model never made")
        else:
            await self._ledger.record_stray(name, arguments)
        return Answer(allowed=False, reason="refused: the model made no such call; do not retry it")

    def close(self) -> None:
        """Take nothing more: the conductor has made up its mind about this attempt and is about to destroy its container.

        Until it is gone the CLI sees its input end, takes that for a refusal, and would ask the model about it.
        """
        self._closed = True

    def _check_open(self) -> None:
        if self.doomed.is_set():
            raise GatewayError(self.doom)
        if self._closed:
            raise GatewayError("cannot go on: this attempt is over")

    def _end(self, reason: str) -> GatewayError:
        self.doom = self.doom or reason
        self.doomed.set()
        return GatewayError(reason)
