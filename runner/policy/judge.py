"""What the precedence table and the floors beneath it say of a tool, its call supposed to be in order."""

from __future__ import annotations

from dataclasses import dataclass

from runner.model import Policy, Profile, SenderKind, Verdict, strictest
from runner.policy.catalogue import TOOLS, is_connector, unknown_tool
from runner.policy.context import PolicyContext, SavedVerdict
from runner.policy.precedence import GRANT, LIFTED, REPLIES, Facts, Row, first_match
from runner.policy.tool import Tool

#: Loosest last (design.md §6).
_LOOSENESS = (Policy.ASK, Policy.READ_ONLY, Policy.SKIP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one rule says of a call; `says` is a clause or a sentence."""

    verdict: Verdict
    rank: int
    rule: str
    says: str
    word: str = ""


def judge(tool: Tool, profile: Profile, context: PolicyContext, *, granted: bool = False) -> Vote:
    """What the table and the floors say of a tool whose call has nothing wrong with it.

    `granted`: a grant covers the very call. It stands in for the default policy's yes, so everything stricter still counts.
    """
    table = _table_vote(tool, profile, context)
    if granted and table.rule == LIFTED:
        table = _stated(GRANT)
    if table.rule == LIFTED and _goes_out(tool, profile, context):
        table = _stated(REPLIES)
    votes = (table, *_floors(table, tool, profile=profile, context=context))
    verdict = strictest(tuple(vote.verdict for vote in votes))
    vote = next(vote for vote in votes if vote.verdict is verdict)
    if vote.verdict is Verdict.ASK and _unattended(profile, context):
        return Vote(
            verdict=Verdict.DENY,
            rank=0,
            rule="no_channel",
            word="unattended",
            says="This call needs a person's approval and nobody can be asked in this run.",
        )
    return vote


def find_tool(name: str, context: PolicyContext) -> Tool:
    """The catalogue's tool; a declared connector tool while its definition is the pinned one; else the worst case."""
    if name in TOOLS:
        return TOOLS[name]
    connector = context.connectors.get(name)
    if connector is not None and is_connector(name) and connector.pinned == connector.offered and connector.tool.name == name:
        return connector.tool
    return unknown_tool(name)


def is_strict(profile: Profile, context: PolicyContext) -> bool:
    """Whether the run is strict: only a literal false switches it off, and never for a contact or a tainted thread."""
    off = profile.strict is False and context.sender is SenderKind.OWNER and context.thread_tainted is False
    return not off


def refused(rule: str, says: str) -> Vote:
    """A refusal by a rule outside the table."""
    return Vote(verdict=Verdict.DENY, rank=0, rule=rule, says=says, word="refused")


def _stated(row: Row) -> Vote:
    return Vote(verdict=row.verdict, rank=row.rank, rule=row.rule, says=row.says, word=row.word)


def _goes_out(tool: Tool, profile: Profile, context: PolicyContext) -> bool:
    """Whether a run's last word may go out unreviewed: the owner said so, and there was nothing it could give away."""
    allowed = context.own_reply is True and tool.name == "Reply" and profile.allow_replies is True
    return allowed and context.thread_tainted is False and not _escalated(tool, profile, context)


def _table_vote(tool: Tool, profile: Profile, context: PolicyContext) -> Vote:
    facts = _facts(tool, profile, context)
    row = first_match(facts) if facts is not None else None
    if row is None:
        return refused("silence", "No rule allows this call.")
    verdict = row.unattended if _unattended(profile, context) else row.verdict
    return Vote(verdict=verdict, rank=row.rank, rule=row.rule, says=row.says, word=row.word)


def _facts(tool: Tool, profile: Profile, context: PolicyContext) -> Facts | None:
    """What the table looks at; None when a saved verdict is no known word."""
    saved: object = context.saved.get(tool.name)
    if saved is not None and not isinstance(saved, SavedVerdict):
        return None
    policy = _wanted_policy(profile, context)
    return Facts(
        blocked=saved is SavedVerdict.BLOCK,
        device_step=False,
        saved_allow=saved is SavedVerdict.ALLOW and not is_strict(profile, context),
        saved_ask=saved is SavedVerdict.ASK,
        escalated=_escalated(tool, profile, context),
        manual=any(_needs_approval(name, policy, profile=profile, context=context) for name in profile.tools),
        covered=_covers(policy, tool),
    )


def _floors(table: Vote, tool: Tool, *, profile: Profile, context: PolicyContext) -> tuple[Vote, ...]:
    """What is stricter than the table whatever it says: strict mode, and the host's ceiling on the default policy."""
    floors: list[Vote] = []
    if is_strict(profile, context) and not tool.confined_read and table.rule != REPLIES.rule:
        floors.append(
            Vote(
                verdict=Verdict.ASK,
                rank=0,
                rule="strict",
                word="strict",
                says="the run is strict, so only confined reads run unasked",
            )
        )
    if table.rule != "saved_allow" and _above_ceiling(profile, context):
        floors.append(
            Vote(
                verdict=Verdict.ASK,
                rank=0,
                rule="ceiling",
                word="ceiling",
                says="the profile's policy is above this host's ceiling, so every call asks",
            )
        )
    return tuple(floors)


def _wanted_policy(profile: Profile, context: PolicyContext) -> Policy:
    wanted = context.owner_policy if profile.policy is None else profile.policy
    return wanted if wanted in _LOOSENESS else Policy.ASK


def _above_ceiling(profile: Profile, context: PolicyContext) -> bool:
    ceiling = context.max_policy if context.max_policy in _LOOSENESS else Policy.ASK
    return _LOOSENESS.index(_wanted_policy(profile, context)) > _LOOSENESS.index(ceiling)


def _covers(policy: Policy, tool: Tool) -> bool:
    return tool.covered_from is not None and _LOOSENESS.index(policy) >= _LOOSENESS.index(tool.covered_from)


def _needs_approval(name: str, policy: Policy, *, profile: Profile, context: PolicyContext) -> bool:
    """Whether an offered tool puts the run in manual mode (R88, R99)."""
    match context.saved.get(name):
        case SavedVerdict.BLOCK:
            return False  # a blocked tool is not offered (C10)
        case SavedVerdict.ALLOW if not is_strict(profile, context):
            return is_connector(name)
        case SavedVerdict.ASK:
            return True
        case _:
            return is_connector(name) or not _covers(policy, find_tool(name, context))


def _escalated(tool: Tool, profile: Profile, context: PolicyContext) -> bool:
    sensitive = context.sensitive is not False or any(is_connector(name) for name in profile.tools)
    return context.tainted is not False and sensitive and tool.egress


def _unattended(profile: Profile, context: PolicyContext) -> bool:
    return profile.unattended is not False or context.reachable_person is not True
