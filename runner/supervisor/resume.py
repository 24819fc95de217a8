"""Prepares a resumed segment: the transcript for the container, and a desk that knows the last turn's calls."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from runner import approvals
from runner.agent import versions
from runner.digest import parse_call
from runner.lifecycle import APPROVAL_ENDS
from runner.model import UNDECLARED, Attempt, Decision, JsonObject, RunId, Verdict
from runner.policy import call_key
from runner.policy.catalogue import TOOLS, Place, model_name
from runner.store import ApprovalRow, CallRow, Connection, RunRow, calls, transcript
from runner.store import approvals as rows
from runner.supervisor.entries import Entry, Phase
from runner.supervisor.progress import Clock
from runner.supervisor.proposals import MAX_NAME, NOT_OFFERED
from runner.transcript import NOT_RUN, Scribe, Told, resume

#: What the agent is asked when nothing of its last turn is open and it has to be set going again.
NUDGE = "The run was interrupted by the host and continues now. Go on where you were."


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a fresh container of a run that ran before starts from."""

    session_id: str
    lines: tuple[str, ...]  #: the transcript, whole
    entries: tuple[Entry, ...]  #: the last turn's calls, as far as the container was told
    nudge: bool  #: no call is open: the agent has to be asked to go on


def restore(conn: Connection, attempt: Attempt, run: RunRow, *, prompt: JsonObject, clock: Clock) -> Restored | None:
    """Build the transcript from the rows and store what was added to it; None when nothing was mirrored and no turn taken.

    Outcomes that our lines tell are delivered here, in the same transaction that stores the lines.
    """
    mirrored = [row.entry for row in transcript.read(conn, run.id)]
    turn = _last_turn(conn, run.id)
    if not mirrored and not turn:
        return None
    answers = {row.call: row for row in rows.list(conn, run=run.id)}
    told = [_told(call, answers.get(call.id)) for call in turn]
    scribe = Scribe(
        session_id=run.session_id or "",
        cli_version=versions()[1],
        new_uuid=lambda: str(uuid.uuid4()),
        timestamp=datetime.fromtimestamp(clock(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    )
    resumption = resume(mirrored, told, scribe, prompt=prompt)
    transcript.append(conn, *attempt, resumption.added)
    for index in resumption.unrun:
        calls.set_outcome(conn, turn[index].id, outcome=NOT_RUN, error=True, now=clock())
    entries = []
    for index, (call, told_one) in enumerate(zip(turn, told, strict=True)):
        is_open = index == resumption.deferred
        approval = answers.get(call.id)
        if approval is not None and not is_open:
            approvals.deliver(conn, approval.id, now=clock())
        entries.append(_entry(call, approval, run, told=None if is_open else told_one.text or NOT_RUN))
    return Restored(
        session_id=scribe.session_id,
        lines=(*resumption.kept, *resumption.added),
        entries=tuple(entries),
        nudge=resumption.deferred is None,
    )


def has_untold(conn: Connection, run: RunId) -> bool:
    """Whether a gated call of the run waits, or has an outcome that its agent was not told: then the run is worth resuming."""
    return any(row.delivered_at is None for row in rows.list(conn, run=run))


def _last_turn(conn: Connection, run: RunId) -> Sequence[CallRow]:
    """Calls of the run's last turn that had any; strays (turn 0) are no turn."""
    found = calls.of_run(conn, run)
    last = max((call.turn for call in found), default=0)
    return [call for call in found if call.turn == last and last > 0]


def _told(call: CallRow, approval: ApprovalRow | None) -> Told:
    text, is_error = _words(call, approval)
    parsed = parse_call(call.tool, call.raw).input
    name = UNDECLARED + call.tool[:MAX_NAME] if call.rule in NOT_OFFERED else model_name(call.tool)
    untold = approval is not None and approval.delivered_at is None
    return Told(wire_id=call.wire_id, name=name, arguments=parsed or {}, text=text, is_error=is_error, untold=untold)


def _words(call: CallRow, approval: ApprovalRow | None) -> tuple[str | None, bool]:
    if approval is not None and approval.state in APPROVAL_ENDS:
        return approvals.outcome_text(approval), approvals.is_error(approval)
    if call.verdict is Verdict.ALLOW:
        return None, False
    return call.outcome if approval is None and call.verdict is Verdict.ASK else call.reason, True


def _entry(call: CallRow, approval: ApprovalRow | None, run: RunRow, *, told: str | None) -> Entry:
    parsed = parse_call(call.tool, call.raw).input
    tool = TOOLS.get(call.tool)
    return Entry(
        call=call.id,
        tool=call.tool,
        wire_id=call.wire_id,
        key=call_key(call.tool, parsed) if parsed is not None else None,
        in_container=tool is not None and tool.place is Place.CONTAINER,
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
        told=told,
    )
