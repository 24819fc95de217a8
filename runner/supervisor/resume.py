"""Prepares a resumed segment: the transcript for the container, and a desk that knows the last turn's calls."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from runner import approvals
from runner.agent import versions
from runner.digest import parse_call
from runner.lifecycle import APPROVAL_ENDS, ApprovalState
from runner.model import UNDECLARED, Attempt, CallId, Decision, JsonObject, RunId, Verdict
from runner.policy import call_key
from runner.policy.catalogue import model_name
from runner.store import ApprovalRow, CallRow, Connection, RunRow, calls, transcript
from runner.store import approvals as rows
from runner.supervisor.acts import runs_in_container
from runner.supervisor.entries import Entry, Phase
from runner.supervisor.progress import WAITING, Clock
from runner.supervisor.proposals import MAX_NAME, NOT_OFFERED
from runner.transcript import NOT_RUN, Scribe, Told, resume

#: What the agent is asked when nothing of its last turn is open and it has to be set going again.
NUDGE = "The run was interrupted by the host and continues now. Go on where you were."
#: Containers in a row that may end by themselves before the agent has heard what became of its calls.
MAX_DEATHS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a fresh container of a run that ran before starts from."""

    session_id: str
    lines: tuple[str, ...]  #: the transcript, whole
    entries: tuple[Entry, ...]  #: the last turn's calls, as far as the container was told
    wire_ids: frozenset[str]  #: of every call the run has made
    nudge: bool  #: no call is open: the agent has to be asked to go on


def restore(conn: Connection, attempt: Attempt, run: RunRow, *, prompt: JsonObject, clock: Clock) -> Restored | None:
    """Build the transcript from the rows and store what was added to it; None when no turn with calls was taken: start afresh.

    Outcomes that our lines tell are delivered here, in the same transaction that stores the lines.
    """
    answers = _answers(conn, run.id)
    turns = _turns(conn, run.id, answers)
    if not turns:
        return None
    # Containers that ended before the model's first turn left nothing to go on from.
    first = (turns[0][0].segment, turns[0][0].attempt)
    mirrored = [row.entry for row in transcript.read(conn, run.id) if (row.segment, row.attempt) >= first]
    told = [[_told(call, answers.get(call.id)) for call in turn] for turn in turns]
    scribe = Scribe(
        session_id=run.session_id or "",
        cli_version=versions()[1],
        new_uuid=lambda: str(uuid.uuid4()),
        timestamp=datetime.fromtimestamp(clock(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    )
    resumption = resume(mirrored, told, scribe, prompt=prompt)
    transcript.append(conn, *attempt, resumption.added)
    last = turns[-1]
    open_call = None if resumption.deferred is None else last[resumption.deferred].id
    for index in resumption.unrun:
        calls.set_outcome(conn, last[index].id, outcome=NOT_RUN, error=True, now=clock())
    for call in itertools.chain.from_iterable(turns):
        if call.id in answers and call.id != open_call:
            approvals.deliver(conn, answers[call.id].id, now=clock())
    return Restored(
        session_id=scribe.session_id,
        lines=(*resumption.kept, *resumption.added),
        entries=tuple(
            _entry(call, answers.get(call.id), run, told=None if call.id == open_call else one)
            for call, one in zip(last, told[-1], strict=True)
        ),
        wire_ids=frozenset(call.wire_id for call in calls.of_run(conn, run.id) if call.turn > 0),
        nudge=resumption.deferred is None,
    )


def worth_resuming(conn: Connection, attempt: Attempt, *, refused: bool) -> bool:
    """Whether a run whose container ended by itself is parked, not over (L10).

    It is while a call waits for an outcome, or while the agent may not have heard one. A container that ends every time before
    it gets there must not be started for ever.

    Args:
        conn: The transaction.
        attempt: The one that ended.
        refused: The gateway got no reply for its last request: another container would get none either.
    """
    answers = _answers(conn, attempt.run)
    if any(row.state in WAITING for row in answers.values()):
        return True
    turns = _turns(conn, attempt.run, answers)
    if refused or not turns or not any(call.id in answers for call in turns[-1]):
        return False
    return attempt.segment - turns[-1][0].segment < MAX_DEATHS


def _answers(conn: Connection, run: RunId) -> Mapping[CallId, ApprovalRow]:
    return {row.call: row for row in rows.list(conn, run=run)}


def _turns(conn: Connection, run: RunId, answers: Mapping[CallId, ApprovalRow]) -> list[Sequence[CallRow]]:
    """The run's calls by turn. Strays (turn 0) are no turn, nor is one whose reply the CLI lost and asked for again."""
    found = [call for call in calls.of_run(conn, run) if call.turn > 0]
    turns = [tuple(turn) for _, turn in itertools.groupby(found, key=lambda call: call.turn)]
    return [turn for turn in turns if not any(_is_superseded(answers.get(call.id)) for call in turn)]


def _is_superseded(approval: ApprovalRow | None) -> bool:
    return approval is not None and approval.state is ApprovalState.SUPERSEDED


def _told(call: CallRow, approval: ApprovalRow | None) -> Told:
    text, is_error = _words(call, approval)
    parsed = parse_call(call.tool, call.raw).input
    name = UNDECLARED + call.tool[:MAX_NAME] if call.rule in NOT_OFFERED else model_name(call.tool)
    askable = parsed is not None and call.rule not in NOT_OFFERED
    return Told(wire_id=call.wire_id, name=name, arguments=parsed or {}, text=text, is_error=is_error, askable=askable)


def _words(call: CallRow, approval: ApprovalRow | None) -> tuple[str | None, bool]:
    if runs_in_container(call.tool) and (call.verdict is Verdict.ALLOW or _is_done(approval)):
        return None, False
    if approval is not None and approval.state in APPROVAL_ENDS:
        return approvals.outcome_text(approval), approvals.is_error(approval)
    return call.outcome if approval is None and call.verdict is not Verdict.DENY else call.reason, True


def _is_done(approval: ApprovalRow | None) -> bool:
    return approval is not None and approval.state is ApprovalState.DONE


def _entry(call: CallRow, approval: ApprovalRow | None, run: RunRow, *, told: Told | None) -> Entry:
    parsed = parse_call(call.tool, call.raw).input
    return Entry(
        call=call.id,
        tool=call.tool,
        wire_id=call.wire_id,
        key=call_key(call.tool, parsed) if parsed is not None else None,
        in_container=runs_in_container(call.tool),
        decision=Decision(
            verdict=call.verdict,
            rank=call.rank,
            rule=call.rule,
            reason=call.reason,
            strict=run.strict,
            call_digest=call.call_digest,
            profile_digest=run.profile_digest,
            paths=call.paths,
        ),
        approval=approval.id if approval is not None else None,
        phase=Phase.DECIDED if told is None else Phase.CLOSED,
        told=None if told is None else told.text or NOT_RUN,
        told_error=told is not None and (told.is_error or told.text is None),
        again=told is None and approval is not None and approval.delivered_at is not None,
    )
