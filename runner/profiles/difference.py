"""What an agent may do that it could not before, in words: `profile diff` and what `publish` is about (issue 4).

Pure. Compares authority, not text: a change that gives or takes none is said to be one of wording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from runner.model import Policy, Profile, ToolClass
from runner.policy.catalogue import TOOLS, unknown_tool
from runner.policy.tool import Tool

T = TypeVar("T")
_LOOSENESS = (Policy.ASK, Policy.READ_ONLY, Policy.SKIP)
_DOES = {
    ToolClass.READ: "reads",
    ToolClass.WRITE: "writes",
    ToolClass.DELETE: "deletes",
    ToolClass.EXECUTE: "runs code",
    ToolClass.EXTERNAL_SEND: "sends to the outside",
    ToolClass.UNKNOWN: "does what nobody declared",
}


class Direction(Enum):
    """What a change does to the agent's authority."""

    MORE = "more"
    LESS = "less"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference of one key, as a sentence without its agent."""

    direction: Direction
    key: str
    says: str


def changes(before: Profile, after: Profile) -> tuple[Change, ...]:
    """Everything that differs, what gives authority first."""
    found = [change for rule in _RULES for change in rule(before, after)]
    return tuple(sorted(found, key=lambda change: list(Direction).index(change.direction)))


def _tools(before: Profile, after: Profile) -> Iterator[Change]:
    for name in _only_in(after.tools, before.tools):
        yield _more("tools", f"now also {_what(name)}")
    for name in _only_in(before.tools, after.tools):
        yield _less("tools", f"no longer {_what(name)}")
    for name in after.tools:
        old = tuple(scope for scope in before.scopes if scope.tool == name)
        new = tuple(scope for scope in after.scopes if scope.tool == name)
        if name in before.tools and old != new:
            kind = _less if not old else _more if not new else _other
            yield kind("tools", f"{name} is {_narrowing(old, new)}")


def _what(name: str) -> str:
    tool: Tool = TOOLS.get(name) or unknown_tool(name)
    out = ", and can carry data out" if tool.egress else ""
    return f"{_DOES[tool.tool_class]}: {name}{out}"


def _narrowing(old: tuple[object, ...], new: tuple[object, ...]) -> str:
    if not old:
        return "narrowed to fewer paths"
    return "no longer narrowed: every path of the workspace" if not new else "narrowed to other paths than before"


def _policy(before: Profile, after: Profile) -> Iterator[Change]:
    if before.strict and not after.strict:
        yield _more("strict", "no longer strict: what the policy covers or you saved as allowed runs without asking")
    elif after.strict and not before.strict:
        yield _less("strict", "now strict: everything but a confined read asks")
    if before.policy is after.policy:
        return
    old, new = _called(before.policy), _called(after.policy)
    if before.policy is None or after.policy is None:
        yield _other("policy", f"its policy is {new} instead of {old}")
    elif _LOOSENESS.index(after.policy) > _LOOSENESS.index(before.policy):
        yield _more("policy", f"no longer asks for what {new} covers (before: {old})")
    else:
        yield _less("policy", f"now asks for what {old} covered and {new} does not")


def _called(policy: Policy | None) -> str:
    return "your own default" if policy is None else policy.value


def _reach(before: Profile, after: Profile) -> Iterator[Change]:
    if before.cwd != after.cwd:
        yield _more("cwd", f"works in another directory: {after.cwd} (before: {before.cwd})")
    for key, wide in (("read", True), ("hide", False)):
        old, new = getattr(before, key), getattr(after, key)
        for pattern in _only_in(new, old):
            yield _reading(key, f"{key} has {pattern} now", more=wide is not pattern.startswith("!"))
        for pattern in _only_in(old, new):
            yield _reading(key, f"{key} no longer has {pattern}", more=wide is pattern.startswith("!"))
        if old != new and sorted(old) == sorted(new):
            yield _other(key, f"the patterns of {key} stand in another order, and the last that fits counts")


def _only_in(these: Sequence[T], those: Sequence[T]) -> list[T]:
    return [item for item in these if item not in those]


def _reading(key: str, why: str, *, more: bool) -> Change:
    return (_more if more else _less)(key, f"may read {'more' if more else 'less'}: {why}")


def _people(before: Profile, after: Profile) -> Iterator[Change]:
    for name in _only_in(after.contacts, before.contacts):
        yield _more("contacts", f"{name} may send to it now, and have it read what it can read")
    for name in _only_in(before.contacts, after.contacts):
        yield _less("contacts", f"{name} may no longer send to it")
    for entry in _only_in(after.from_agents, before.from_agents):
        yield _more("from_agents", f"the agent {entry.label} may send to it now, with the instruction it has there")
    for entry in _only_in(before.from_agents, after.from_agents):
        yield _less("from_agents", f"the agent {entry.label} may no longer send to it as before")


#: Switches that give authority when they are on.
_SWITCHES = {
    "allow_replies": ("replies go out without review", "replies wait for review"),
    "allow_unconfined_tools": ("may have tools that its directory does not bind", "may no longer have unconfined tools"),
    "allow_hard_links": ("may read files with several names", "may no longer read files with several names"),
}


def _switches(before: Profile, after: Profile) -> Iterator[Change]:
    for key, (on, off) in _SWITCHES.items():
        if getattr(after, key) and not getattr(before, key):
            yield _more(key, f"now {on}")
        elif getattr(before, key) and not getattr(after, key):
            yield _less(key, f"now {off}")
    for name in _only_in(after.unprotect, before.unprotect):
        yield _more("unprotect", f"may write {name}, which can give power later")
    for name in _only_in(before.unprotect, after.unprotect):
        yield _less("unprotect", f"may no longer write {name}")
    if after.unattended and not before.unattended:
        yield _less("unattended", "nobody is asked any more: what would ask is denied")
    elif before.unattended and not after.unattended:
        yield _more("unattended", "people are asked: what was denied waits for them")


def _amounts(before: Profile, after: Profile) -> Iterator[Change]:
    for table in ("limits", "snapshot", "approvals"):
        old, new = getattr(before, table), getattr(after, table)
        for name in type(new).__dataclass_fields__:
            was, now = getattr(old, name), getattr(new, name)
            if was == now:
                continue
            if isinstance(now, str) or isinstance(was, str) or table == "approvals":
                kind = _approval_kind(name, was, now)
            else:
                kind = _more if now > was else _less
            yield kind(f"{table}.{name}", f"{table}.{name} is {_figure(now)} instead of {_figure(was)}")


def _approval_kind(name: str, was: object, now: object) -> Callable[[str, str], Change]:
    """More approvers are less authority; how long is waited is neither."""
    if name == "required" and isinstance(was, int) and isinstance(now, int):
        return _less if now > was else _more
    return _other


def _figure(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _words(before: Profile, after: Profile) -> Iterator[Change]:
    for key, says in (
        ("model", f"asks another model: {after.model} (before: {before.model})"),
        ("system_prompt", "has other standing instructions"),
        ("description", "is described in other words"),
        ("wake", "a capture starts a run now" if after.wake else "a capture waits until you start its run"),
        ("kind", f"is run by {after.kind} instead of {before.kind}"),
        ("examples", "has other examples"),
    ):
        if getattr(before, key) != getattr(after, key):
            yield _other(key, says)


_RULES = (_tools, _policy, _reach, _people, _switches, _amounts, _words)


def _more(key: str, says: str) -> Change:
    return Change(direction=Direction.MORE, key=key, says=says)


def _less(key: str, says: str) -> Change:
    return Change(direction=Direction.LESS, key=key, says=says)


def _other(key: str, says: str) -> Change:
    return Change(direction=Direction.OTHER, key=key, says=says)
