"""From the model's turn to decided proposals: name, parse, decide, and for what the broker would do, a plan from the files.

Synchronous and read-only: the desk runs it in a thread. A plan that cannot work is refused here and never asked of a person.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runner.broker import Impossible, Plan, plan
from runner.digest import parse_call
from runner.gateway import Handover, ToolUse
from runner.model import (
    STRICTNESS,
    UNDECLARED,
    WORKSPACE,
    Decision,
    GrantId,
    Profile,
    ResolvedPath,
    SenderKind,
    ToolCall,
    Verdict,
)
from runner.paths import EntryKind
from runner.policy import PolicyContext, call_key, decide
from runner.policy.catalogue import profile_name
from runner.policy.guard import MAX_INPUT_BYTES
from runner.supervisor.acts import runs_in_container

#: Rules that refuse what the CLI was never offered.
NOT_OFFERED = frozenset({"not_declared", "not_available"})
_NO_SUCH_TOOL = "Refused (not_declared): This agent has no tool of this name. Do not retry this call unchanged."
_NOT_FOR_YOU = "Refused (not_in_snapshot): Something that is not for this run stands there. Use another path."
#: A tool's name is the model's text; what is longer is no tool of ours.
MAX_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One call of a turn with its decision. `handed` is the input the CLI is given for it, `key` what it asks the gate by."""

    use: ToolUse
    call: ToolCall
    decision: Decision
    plan: Plan | None
    handed: str
    key: str
    without: Decision | None = None  #: the same where a grant let it run, were there no grant (D3)

    @property
    def grant(self) -> GrantId | None:
        """The grant that lets it run."""
        return self.decision.grant if self.decision.verdict is Verdict.ALLOW else None

    @property
    def in_container(self) -> bool:
        """Whether the CLI itself carries the call out."""
        return runs_in_container(self.call.tool)

    @property
    def gated(self) -> bool:
        """Whether it needs a place in the queue: a person has to be asked, or the supervisor has to act (R72)."""
        match self.decision.verdict:
            case Verdict.DENY:
                return False
            case Verdict.ASK:
                return True
            case Verdict.ALLOW:
                # What a grant lets run is on record with the grant's use, whoever carries it out.
                return not self.in_container or self.grant is not None

    def handover(self) -> Handover:
        """What the CLI is given for it: an undeclared tool under a name no CLI has, an input it could not pass on as none."""
        if self.decision.rule in NOT_OFFERED:
            return Handover(name=UNDECLARED + self.use.name[:MAX_NAME], raw=self.handed)
        return Handover(name=self.use.name, raw=self.handed)


def propose(use: ToolUse, profile: Profile, context: PolicyContext, *, cwd: Path) -> Proposal:
    """Decide one tool use.

    Args:
        use: As the gateway read it from the model's reply.
        profile: The run's profile.
        context: Policy context over the live snapshot.
        cwd: The agent's directory on the host, for the plan's pre-images and preview.
    """
    known = profile_name(use.name)
    name = known or use.name[:MAX_NAME]
    call = parse_call(name, use.raw)
    decision = decide(call, profile, context)
    if known is None and decision.rule not in NOT_OFFERED:
        # A name that only looks like a tool of the profile: `Write`, where `mcp__runner__Write` is what was offered.
        decision = replace(decision, verdict=Verdict.DENY, rank=0, rule="not_declared", reason=_NO_SUCH_TOOL)
    # Past the bound the CLI's own frame about it would be over the wire's, and would end the run instead of the call (case 87).
    passed = call.input if len(use.raw.encode("utf-8", "surrogatepass")) <= MAX_INPUT_BYTES else None
    proposal = Proposal(
        use=use,
        call=call,
        decision=decision,
        plan=None,
        handed="{}" if passed is None else use.raw,
        key=call_key(name, passed or {}),
        without=None if decision.grant is None else decide(call, profile, replace(context, grants=())),
    )
    if decision.verdict is Verdict.DENY or call.input is None or runs_in_container(name):
        return proposal
    if _stands_unseen(decision.paths, context, cwd):
        decision = replace(decision, verdict=Verdict.DENY, rank=0, rule="not_in_snapshot", reason=_NOT_FOR_YOU)
        return replace(proposal, decision=decision)
    planned = plan(name, call.input, paths=decision.paths, cwd=cwd)
    if isinstance(planned, Impossible):
        decision = replace(decision, verdict=Verdict.DENY, rank=0, rule="impossible", reason=planned.reason)
        return replace(proposal, decision=decision)
    return replace(proposal, plan=planned)


def _stands_unseen(paths: Sequence[ResolvedPath], context: PolicyContext, cwd: Path) -> bool:
    """Whether something is at a path that was kept from somebody else's run; a plan over it would tell what it holds."""
    if context.sender is SenderKind.OWNER:
        return False
    named = [path.resolved.relative_to(WORKSPACE).parts for path in paths]
    return any(context.view.kind(parts) is EntryKind.ABSENT and os.path.lexists(cwd.joinpath(*parts)) for parts in named)


def as_strict_as_its_twins(proposal: Proposal, turn: Sequence[Proposal]) -> Proposal:
    """The proposal, or, where the CLI would ask for a stricter call of the turn in the same words, with that one's verdict."""
    twins = [one.decision for one in turn if one.key == proposal.key]
    worst = max(twins, key=lambda decision: STRICTNESS.index(decision.verdict), default=proposal.decision)
    if worst.verdict is proposal.decision.verdict:
        return proposal
    decision = replace(proposal.decision, verdict=worst.verdict, rank=worst.rank, rule=worst.rule, reason=worst.reason)
    return replace(proposal, decision=decision, plan=proposal.plan if worst.verdict is Verdict.ASK else None)
