"""A run's calls as a transcript tells them: turn by turn, each with what is on record of its outcome."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from runner import approvals
from runner.digest import parse_call
from runner.lifecycle import APPROVAL_ENDS, ApprovalState
from runner.model import UNDECLARED, CallId, RunId, Verdict
from runner.policy.catalogue import model_name
from runner.store import ApprovalRow, CallRow, Connection, calls
from runner.store import approvals as rows
from runner.supervisor.acts import runs_in_container
from runner.supervisor.proposals import MAX_NAME, NOT_OFFERED
from runner.transcript import Told


def answers_of(conn: Connection, run: RunId) -> Mapping[CallId, ApprovalRow]:
    """The approvals of a run's calls."""
    return {row.call: row for row in rows.list(conn, run=run)}


def turns_of(conn: Connection, run: RunId, answers: Mapping[CallId, ApprovalRow]) -> list[Sequence[CallRow]]:
    """The run's calls by turn. Strays (turn 0) are no turn, nor is one whose reply the CLI lost and asked for again."""
    found = [call for call in calls.of_run(conn, run) if call.turn > 0]
    turns = [tuple(turn) for _, turn in itertools.groupby(found, key=lambda call: call.turn)]
    return [turn for turn in turns if not any(_is_superseded(answers.get(call.id)) for call in turn)]


def _is_superseded(approval: ApprovalRow | None) -> bool:
    return approval is not None and approval.state is ApprovalState.SUPERSEDED


def told_of(call: CallRow, approval: ApprovalRow | None) -> Told:
    """A call as a transcript has it."""
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
