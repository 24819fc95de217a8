"""Prepares a resumed segment: the transcript for the container, and a desk that knows the last turn's calls."""

from __future__ import annotations

import itertools
import uuid
from dataclasses import dataclass

from runner import approvals
from runner.agent import versions
from runner.digest import parse_call
from runner.fence import Fenced
from runner.model import Attempt, Decision, JsonObject
from runner.policy import call_key
from runner.store import ApprovalRow, CallRow, Connection, RunRow, calls, transcript
from runner.supervisor.acts import runs_in_container
from runner.supervisor.continuing import NO_PAST, Past, since, stamp
from runner.supervisor.entries import Entry, Phase
from runner.supervisor.mirrored import check_mirrored
from runner.supervisor.progress import WAITING, Clock
from runner.supervisor.recorded import as_recorded, recorded
from runner.supervisor.retold import answers_of, told_of, turns_of
from runner.transcript import NOT_RUN, Scribe, Told, last_uuid, resume

#: What the agent is asked when nothing of its last turn is open and it has to be set going again.
NUDGE = Fenced("The run was interrupted by the host and continues now. Go on where you were.")
#: Containers in a row that may end by themselves before the agent has heard what became of its calls.
MAX_DEATHS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a fresh container starts from: of a run that ran before, or that continues another one."""

    session_id: str
    lines: tuple[str, ...]  #: the transcript, whole
    entries: tuple[Entry, ...] = ()  #: the last turn's calls, as far as the container was told
    wire_ids: frozenset[str] = frozenset()  #: of every call the run has made
    past_ids: frozenset[str] = frozenset()  #: of every call of the runs that it continues
    begun: bool = True  #: its own prompt is in the transcript
    nudge: bool = False  #: it is, and no call is open: the agent has to be asked to go on


def restore(  # noqa: PLR0913 -- a run, and all that it starts from
    conn: Connection, attempt: Attempt, run: RunRow, *, prompt: JsonObject, clock: Clock, past: Past = NO_PAST
) -> Restored | None:
    """Build the transcript from the rows and store what was added to it; None: nothing is there to go on from, start afresh.

    Outcomes that our lines tell are delivered here, in the same transaction that stores the lines.

    Args:
        conn: The transaction.
        attempt: Whose container it is for.
        run: Its run.
        prompt: What the agent is asked in it.
        clock: Gives the time.
        past: The conversation that the run continues.

    Raises:
        SandboxMismatchError: The transcript that a container left tells the run's calls otherwise than they are on record.
    """
    answers = answers_of(conn, run.id)
    turns = turns_of(conn, run.id, answers)
    if not turns and not past.lines:
        return None
    if not turns:
        return Restored(session_id=run.session_id or "", lines=past.lines, past_ids=past.wire_ids, begun=False)
    # Containers that ended before the model's first turn left nothing to go on from.
    first = (turns[0][0].segment, turns[0][0].attempt)
    record = recorded(conn, run.id)
    mirrored = as_recorded(since(transcript.read(conn, run.id), first), record)
    told = [[told_of(call, answers.get(call.id)) for call in turn] for turn in turns]
    scribe = Scribe(
        session_id=run.session_id or "",
        cli_version=versions()[1],
        new_uuid=lambda: str(uuid.uuid4()),
        timestamp=stamp(clock()),
        parent=last_uuid(past.lines),
    )
    resumption = resume(mirrored, told, scribe, prompt=prompt)
    made = frozenset(record.turns)
    check_mirrored(resumption.kept, told, made=made)
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
        lines=(*past.lines, *resumption.kept, *resumption.added),
        entries=tuple(
            _entry(call, answers.get(call.id), run, told=None if call.id == open_call else one)
            for call, one in zip(last, told[-1], strict=True)
        ),
        wire_ids=made,
        past_ids=past.wire_ids,
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
    answers = answers_of(conn, attempt.run)
    if any(row.state in WAITING for row in answers.values()):
        return True
    turns = turns_of(conn, attempt.run, answers)
    if refused or not turns or not any(call.id in answers for call in turns[-1]):
        return False
    return attempt.segment - turns[-1][0].segment < MAX_DEATHS


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
