"""Whether an approved call still is what was approved, judged by policy, choices and paths as they are now (B5, R109)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from runner import approvals
from runner.broker import UNDO
from runner.digest import parse_call
from runner.model import Decision, Profile, Verdict
from runner.policy import decide
from runner.sandbox.dedicated import dedicated
from runner.sandbox.view import SnapshotView
from runner.store import ApprovalRow, Approver, Choices, grants
from runner.supervisor.contexts import Contexts

#: Who said yes where nobody was asked: the owner did so beforehand, with a saved verdict or a policy (R72).
STANDING_YES = Approver(uid=0, channel="policy", name="the owner's standing yes")
#: The rule by which `decide` refuses a blocked tool.
BLOCKED = "blocked"
#: The end of a refusal, which the outcome of an approved call says in its own words.
_RETRY = " Do not retry this call unchanged."


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Why a call is not carried out after all. `told` is what its agent is told, where that is not simply that it is stale."""

    rule: str
    says: str
    told: str | None = None


class Judged(NamedTuple):
    """What policy says of a call now, and the directory in which it would be carried out."""

    decision: Decision
    cwd: Path


def doubt_about(row: ApprovalRow, profile: Profile, chosen: Choices, *, contexts: Contexts) -> Doubt | None:
    """What speaks against carrying an approval out; None when nothing does. Blocking; for a thread.

    Args:
        row: The approval.
        profile: The profile its run has.
        chosen: The owner's choices as they are now.
        contexts: Makes the context.
    """
    if row.tool == UNDO:
        return None  # a person's own act: no rule about the agent's calls speaks of it; its files are looked at when it begins
    try:
        decision = decided_now(row.effective, profile, chosen, contexts=contexts)
    except OSError as error:
        return Doubt(rule="directory", says=f"the agent's directory cannot be opened: {error.strerror}")
    return _doubt(row.effective, decision)


def decided_now(row: ApprovalRow, profile: Profile, chosen: Choices, *, contexts: Contexts) -> Decision:
    """What policy says of an approval's input as the world is now; of grants only the one that let it in counts (D3).

    Raises:
        OSError: The agent's directory cannot be opened.
    """
    with dedicated(profile.cwd) as cwd:
        context = contexts.with_choices(chosen, SnapshotView(cwd), sender=row.sender, folder=profile.cwd, run=row.run)
        using = grants.grant_of(row)
        context = replace(context, grants=chosen.granted(using) if using is not None else ())
        return decide(parse_call(row.tool, row.raw), profile, context)


def _doubt(row: ApprovalRow, decision: Decision) -> Doubt | None:
    if decision.verdict is Verdict.DENY:
        return Doubt(rule=decision.rule, says=decision.reason, told=decision.reason.removesuffix(_RETRY))
    if (decision.call_digest, decision.paths) != (row.call_digest, row.paths):
        return Doubt(rule="moved", says="its paths lead elsewhere now, or its tool has another definition")
    if is_standing(row) and decision.verdict is not Verdict.ALLOW:
        gone = "the owner's standing yes was taken back before it was carried out"
        return Doubt(rule="withdrawn", says=gone if grants.grant_of(row) is None else approvals.WITHDRAWN)
    return None


def is_standing(row: ApprovalRow) -> bool:
    """Whether nobody was asked about this call, because the owner's choices or a grant run it."""
    return row.decided_by is not None and row.decided_by.channel in {STANDING_YES.channel, grants.CHANNEL}
