"""The one function that decides a tool call (invariant 1): pure, total, strictest wins, silence is refusal."""

from __future__ import annotations

from runner.digest import MalformedJsonError, call_digest
from runner.model import Decision, Digest, Profile, ResolvedPath, ToolCall, Verdict
from runner.policy.catalogue import NEVER, TOOLS, definition_digest
from runner.policy.context import PolicyContext
from runner.policy.grants import granted
from runner.policy.guard import MAX_INPUT_BYTES, guard
from runner.policy.judge import Vote, find_tool, is_strict, judge, refused
from runner.policy.precedence import GRANT
from runner.policy.tool import Tool


def decide(call: ToolCall, profile: Profile, context: PolicyContext) -> Decision:
    """Decide one tool call.

    Args:
        call: The call under the profile's name for the tool.
        profile: The snapshot of the profile that the run refers to.
        context: The world it is decided in.

    Returns:
        The verdict with the rule that made it. Rank 1-9 is a row of the precedence table, 0 a rule outside it.
    """
    tool = find_tool(call.tool, context)
    refusal = _refuse_unseen(call, tool, profile)
    paths: tuple[ResolvedPath, ...] = ()
    if refusal is None and call.input is not None:
        guarded = guard(tool, call.input, profile=profile, view=context.view)
        paths = guarded.paths
        if guarded.refusal is not None:
            refusal = refused(guarded.refusal.rule, guarded.refusal.reason)
    grant = granted(call, paths, profile=profile, context=context) if refusal is None else None
    vote = refusal if refusal is not None else judge(tool, profile, context, granted=grant is not None)
    digest = _digest(call, tool, paths)
    if digest is None and vote.verdict is not Verdict.DENY:
        vote = refused("malformed", "The input has no canonical form.")
    return Decision(
        verdict=vote.verdict,
        rank=vote.rank,
        rule=vote.rule,
        reason=_sentence(vote),
        strict=is_strict(profile, context),
        call_digest=digest,
        profile_digest=profile.digest,
        paths=paths,
        grant=grant if vote.rule == GRANT.rule else None,
    )


def _refuse_unseen(call: ToolCall, tool: Tool, profile: Profile) -> Vote | None:
    if call.tool not in profile.tools or call.tool in NEVER:
        return refused("not_declared", "This agent has no such tool.")
    if call.tool in TOOLS and tool.available is not True:
        return refused("not_available", "This tool is not available yet.")
    if len(call.raw.encode("utf-8", "surrogatepass")) > MAX_INPUT_BYTES:
        return refused("too_large_to_review", "The input is larger than 256 KiB, more than a person can review.")
    if call.input is None:
        return refused("malformed", "The input is malformed: it must be one JSON object that every reader reads alike.")
    return None


def _digest(call: ToolCall, tool: Tool, paths: tuple[ResolvedPath, ...]) -> Digest | None:
    if call.input is None:
        return None
    try:
        return call_digest(
            tool=call.tool,
            definition=definition_digest(tool),
            arguments=call.input,
            paths=[str(path.resolved) for path in paths],
        )
    except MalformedJsonError:
        return None


def _sentence(vote: Vote) -> str:
    """The reason as shown to the model and to people: what kind of answer, why, and what not to do (P12)."""
    says = vote.says if vote.says.endswith(".") else f"{vote.says[:1].upper()}{vote.says[1:]}."
    match vote.verdict:
        case Verdict.ALLOW:
            return f"Runs at once: {says}"
        case Verdict.ASK:
            return f"Waits for a person's approval: {says}"
        case Verdict.DENY:
            kind = "Blocked" if vote.rule == "blocked" else "Refused"
            return f"{kind} ({vote.rule}): {says} Do not retry this call unchanged."
