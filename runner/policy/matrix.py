"""What each tool of a profile would be answered, per kind of run: the matrix of `runner explain` without a call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from runner.model import Profile, SenderKind, ToolClass, Verdict
from runner.policy.catalogue import TOOLS
from runner.policy.context import PolicyContext
from runner.policy.judge import find_tool, judge


class Column(Enum):
    """The kinds of run that are told apart."""

    OWNER = "owner"
    CONTACT = "contact"
    UNATTENDED = "unattended"
    TAINTED = "tainted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One answer and one word why. It supposes that every path of the call is proven."""

    tool: str
    column: Column
    verdict: Verdict
    word: str


def explain_matrix(profile: Profile, context: PolicyContext) -> tuple[Cell, ...]:
    """Every tool of the profile in every kind of run, row by row."""
    return tuple(_cell(name, column, profile=profile, context=context) for name in profile.tools for column in Column)


def acts_unasked(profile: Profile, context: PolicyContext) -> tuple[str, ...]:
    """Tools that do more than read and whose calls would run unasked in a run of the owner's that saw nothing of others."""
    clean = replace(context, sender=SenderKind.OWNER, tainted=False, thread_tainted=False, grants=())
    tools = {name: find_tool(name, clean) for name in profile.tools}
    return tuple(
        name
        for name, tool in tools.items()
        if tool.tool_class is not ToolClass.READ
        and (name not in TOOLS or tool.available)
        and judge(tool, profile, clean).verdict is Verdict.ALLOW
    )


def _cell(name: str, column: Column, *, profile: Profile, context: PolicyContext) -> Cell:
    tool = find_tool(name, context)
    if name in TOOLS and not tool.available:
        return Cell(tool=name, column=column, verdict=Verdict.DENY, word="unavailable")
    clean = replace(context, sender=SenderKind.OWNER, tainted=False)
    match column:
        case Column.OWNER:
            vote = judge(tool, profile, clean)
        case Column.CONTACT:
            vote = judge(tool, profile, replace(clean, sender=SenderKind.CONTACT, tainted=True))
        case Column.UNATTENDED:
            vote = judge(tool, replace(profile, unattended=True), clean)
        case Column.TAINTED:
            vote = judge(tool, profile, replace(clean, tainted=True))
    return Cell(tool=name, column=column, verdict=vote.verdict, word=vote.word)
