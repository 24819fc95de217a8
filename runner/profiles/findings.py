"""What a person should know before a profile is published (R51-R53, R62-R64). An error refuses publishing; the rest is said."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from runner.model import Policy, Profile
from runner.policy.catalogue import TOOLS, unknown_tool
from runner.policy.tool import Tool
from runner.profiles.survey import Survey, survey
from runner.profiles.wire import HIDE_DEFAULTS

_DEDICATED = "make a directory that belongs to this agent alone, and name it in cwd"


class Level(Enum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing about one key."""

    level: Level
    key: str
    message: str
    fix: str = ""  #: what to do about it


def check(
    profile: Profile, *, surveyed: Survey | None = None, others: Iterable[Profile] = (), keys: int | None = None
) -> tuple[Finding, ...]:
    """Everything there is to say about a profile that loads, errors first.

    Args:
        profile: The profile.
        surveyed: What stands in its directory; looked at when not given.
        others: Published profiles; their directories should be other ones.
        keys: How many approvers' keys the operator has set up; None: it is not known here.
    """
    seen = surveyed if surveyed is not None else survey(profile)
    findings = (
        *_tools(profile),
        *_settings(profile),
        *_approvers(profile, keys),
        *_directory(profile, seen, others),
        *_readers(profile, seen),
    )
    return tuple(sorted(findings, key=lambda finding: list(Level).index(finding.level)))


def _tools(profile: Profile) -> Iterator[Finding]:
    for name in profile.tools:
        tool: Tool = TOOLS.get(name) or unknown_tool(name)
        if tool.unconfined and profile.allow_unconfined_tools:
            yield _warning(
                "tools",
                f"{name} is unconfined: what it does is not bound by cwd; every call waits in strict mode",
                fix=f"take {name} off the list unless the agent is of no use without it",
            )
        elif tool.unconfined:
            yield _error(
                "tools",
                f"{name} is unconfined; a published profile needs allow_unconfined_tools = true for it",
                fix=f"take {name} off the list, or set allow_unconfined_tools = true",
            )
        if name in TOOLS and not tool.available:
            yield _warning("tools", f"{name} is not available yet: every call is refused", fix=f"take {name} off the list")
    narrowed = [scope.tool for scope in profile.scopes if scope.only]
    for name in sorted({name for name in narrowed if narrowed.count(name) > 1}):
        yield _warning(
            "tools",
            f"{name} has several entries with patterns; a path must fit all of them: list alternatives in one",
            fix=f'write one entry, such as "{name}(a/**, b/**)"',
        )


def _settings(profile: Profile) -> Iterator[Finding]:
    if not profile.strict:
        yield _warning(
            "strict", "strict is off: tools that the policy covers run without anyone being asked", fix="set strict = true"
        )
    if profile.allow_replies:
        yield _warning("allow_replies", "replies go out without review", fix="set allow_replies = false")
    if profile.policy is Policy.SKIP:
        yield _warning(
            "policy",
            "skip approves by itself what it covers; with strict off, a contact's captures wait for runner accept",
            fix='set policy = "read_only"',
        )
    if profile.allow_hard_links:
        yield _warning(
            "allow_hard_links",
            "a hard link can bring a file from outside cwd into the snapshot",
            fix="set allow_hard_links = false, and copy files instead of linking them",
        )
    if profile.unprotect:
        yield _warning(
            "unprotect", f"writes to {', '.join(profile.unprotect)} can give power later", fix="take out what is not needed"
        )
    dropped = [pattern for pattern in HIDE_DEFAULTS if pattern not in profile.hide]
    if dropped:
        yield _warning("hide", f"the default set is not hidden: {', '.join(dropped)}", fix="set hide_defaults = true")


def _approvers(profile: Profile, keys: int | None) -> Iterator[Finding]:
    """Dual control is refused where there are not that many keys: nobody could ever give the last yes (D5)."""
    required = profile.approvals.required
    if keys is not None and required > max(keys, 1):
        yield _error(
            "approvals.required",
            f"{required} approvers are required, and {keys} keys are set up: no call could be approved",
            fix="runner approver keygen makes a key; the operator adds it under [approvers] keys",
        )


def _directory(profile: Profile, seen: Survey, others: Iterable[Profile]) -> Iterator[Finding]:
    if not seen.found:
        yield _error("cwd", "the directory does not exist", fix=f"mkdir {profile.cwd}")
        return
    if seen.unfit is not None:
        yield _error("cwd", seen.unfit, fix=_DEDICATED)
    if seen.linked:
        yield _error(
            "cwd", f"it is a link, which can be led elsewhere later: it leads to {seen.real} now", fix=f'cwd = "{seen.real}"'
        )
    for home in seen.homes:
        yield _error("cwd", f"it is or contains the home directory {home}: use a dedicated directory", fix=_DEDICATED)
    yield from _sharing(profile, others)
    if seen.worktree:
        yield _warning(
            "cwd",
            "it is a git worktree: history and configuration may hold secrets",
            fix='hide = [".git/"], or a copy without .git',
        )
    if seen.files > profile.snapshot.max_files or seen.size > profile.snapshot.max_bytes:
        yield _error(
            "snapshot",
            f"{_amount(seen)} are more than the snapshot may hold: narrow `read` or raise the caps",
            fix='read = ["docs/**"], or snapshot.max_bytes and snapshot.max_files',
        )
    if seen.likely_secrets:
        yield _warning(
            "hide",
            f"look like secrets and are not hidden: {', '.join(seen.likely_secrets)}",
            fix="move them away, or add them to hide",
        )


def _sharing(profile: Profile, others: Iterable[Profile]) -> Iterator[Finding]:
    for reason in shared(profile, others):
        yield _error("cwd", f"{reason}: use a dedicated directory", fix=_DEDICATED)


def shared(profile: Profile, others: Iterable[Profile]) -> Iterator[str]:
    """How a profile's directory is, contains or lies in another agent's: one's writes would be the other's reads."""
    here = _real(profile)
    for other in others:
        if other.name == profile.name:
            continue
        there = _real(other)
        if there == here or there in here.parents:
            yield f"it is shared with the agent {other.name}"
        elif here in there.parents:
            yield f"it contains the directory of the agent {other.name}"


def _real(profile: Profile) -> Path:
    """Two names may lead to one directory."""
    return Path(os.path.realpath(profile.cwd))


def _readers(profile: Profile, seen: Survey) -> Iterator[Finding]:
    """Who can read how much (design.md §2): what is mounted is readable, whatever the policy says of reads."""
    if not seen.found:
        return
    yield _note("read", f"the owner's runs can read {_amount(seen)}")
    for contact in (*profile.contacts, *(f"agent {entry.label}" for entry in profile.from_agents)):
        yield _note("contacts", f"captures of {contact} can make the agent read {_amount(seen)}")
    if seen.hidden:
        yield _note("hide", f"{seen.hidden} files are left out by `read` and `hide`{_some(seen.left_out, seen.hidden)}")
    if seen.special or seen.hard_links:
        yield _note("cwd", f"{seen.special} links or special files and {seen.hard_links} hard links are treated apart")


def _amount(seen: Survey) -> str:
    more = "" if seen.complete else "more than "
    return f"{more}{seen.files} files ({seen.size / 1024**2:.1f} MiB)"


def _some(names: tuple[str, ...], count: int) -> str:
    if not names:
        return ""
    return f": {', '.join(names)}{' …' if count > len(names) else ''}"


def _error(key: str, message: str, *, fix: str) -> Finding:
    return Finding(level=Level.ERROR, key=key, message=message, fix=fix)


def _warning(key: str, message: str, *, fix: str) -> Finding:
    return Finding(level=Level.WARNING, key=key, message=message, fix=fix)


def _note(key: str, message: str) -> Finding:
    return Finding(level=Level.NOTE, key=key, message=message)
