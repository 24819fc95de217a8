"""The precedence table, nine ranks, first match wins (R94-R102). docs/policy.md is generated from it.

Two rules of this file: everything that orders the ranks stands in TABLE; nothing here knows a tool, a path or a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from runner.model import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the table looks at."""

    blocked: bool  #: the owner saved "block" for this tool
    device_step: bool  #: a step the owner's own device performs; nothing here is one (C20)
    saved_allow: bool
    saved_ask: bool
    escalated: bool  #: untrusted content, a private source in reach, and the call can move data out (P3)
    manual: bool  #: some offered tool needs approval (R88, R99)
    covered: bool  #: the default policy runs this tool unasked


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One rank: the facts it needs, what it answers, and how it says so."""

    rank: int
    rule: str
    when: Mapping[str, bool]
    verdict: Verdict
    unattended: Verdict  #: the same where nobody will answer; an `ask` that stays one is settled by rule no_channel
    word: str  #: for the matrix of `explain`
    says: str

    def matches(self, facts: Facts) -> bool:
        """Whether every fact the row names is as the row wants it."""
        return all(getattr(facts, name) is wanted for name, wanted in self.when.items())


def _row(rank: int, rule: str, verdict: Verdict, /, *, word: str, says: str, **when: bool) -> Row:
    escalation = rule == "escalation"
    return Row(
        rank=rank,
        rule=rule,
        when=MappingProxyType(when),
        verdict=verdict,
        unattended=Verdict.DENY if escalation else verdict,
        word=word,
        says=says,
    )


_ESCALATION = (
    "untrusted content is in this conversation, something private can be reached, and this tool could carry it out of here"
)

TABLE: tuple[Row, ...] = (
    _row(1, "blocked", Verdict.DENY, word="blocked", says="the owner blocked this tool", blocked=True),
    _row(2, "device_step", Verdict.ALLOW, word="device", says="the owner's own device performs this step", device_step=True),
    _row(3, "escalation", Verdict.ASK, word="escalation", says=_ESCALATION, saved_allow=True, escalated=True),
    _row(4, "saved_allow", Verdict.ALLOW, word="saved", says="the owner saved `always allow` for this tool", saved_allow=True),
    _row(5, "saved_ask", Verdict.ASK, word="saved", says="the owner saved `ask` for this tool", saved_ask=True),
    _row(
        6,
        "covered_in_manual",
        Verdict.ALLOW,
        word="default",
        says="the default policy runs this tool, though others of this agent need approval",
        manual=True,
        covered=True,
        escalated=False,
    ),
    _row(
        7,
        "not_covered",
        Verdict.ASK,
        word="default",
        says="the default policy does not run this tool unasked",
        manual=True,
        covered=False,
    ),
    _row(8, "escalation", Verdict.ASK, word="escalation", says=_ESCALATION, escalated=True),
    _row(
        9,
        "all_covered",
        Verdict.ALLOW,
        word="default",
        says="the default policy runs every tool of this agent",
        manual=False,
        covered=True,
    ),
)

#: Stands in place of the row it lifts, where a grant covers the very call; it lifts no other, and no floor (D3).
GRANT = _row(0, "grant", Verdict.ALLOW, word="grant", says="a grant of the owner covers this call", covered=False)
LIFTED = "not_covered"
#: The same for a run's last word on its way to whoever is not the owner, strict mode's floor included (R20, design.md §3.9).
REPLIES = _row(
    0,
    "allow_replies",
    Verdict.ALLOW,
    word="replies",
    says="the profile lets replies go out, and nothing private was in reach",
    covered=False,
)


def first_match(facts: Facts, table: tuple[Row, ...] = TABLE) -> Row | None:
    """The first row that fits; None where the table is silent, which is a refusal."""
    return next((row for row in table if row.matches(facts)), None)
