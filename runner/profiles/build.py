"""From the written form to a `Profile`: every default filled in, every meaning checked, the digest taken."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from runner.model import (
    ApprovalSettings,
    Digest,
    Example,
    FromAgent,
    Limits,
    Policy,
    Profile,
    SnapshotLimits,
    Verdict,
)
from runner.policy.protected import PROTECTED, folded
from runner.profiles import units
from runner.profiles.codec import profile_digest
from runner.profiles.examples import wrong_examples
from runner.profiles.tools import ToolList, check_patterns, parse_tools
from runner.profiles.wire import HIDE_DEFAULTS, MAX_PROMPT, ProfileTable

_KERNEL = ("proc", "dev", "sys")
#: Keys whose meaning can be checked whatever the others are.
_BY_THEMSELVES = frozenset({"cwd", "tools", "read", "hide", "unprotect", "contacts"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with one key."""

    key: str
    message: str


class ProblemsError(ValueError):
    """The written form means no profile; `problems` says every reason found."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def build(table: ProfileTable, *, base: Path, shipped: bool, prompt: str) -> Profile:
    """The profile a table means.

    Args:
        table: The written form.
        base: The folder of its file, absolute.
        shipped: Whether a `cwd` of `./…` is allowed.
        prompt: The system prompt, read from its file where the table names one.

    Raises:
        ProblemsError: With every problem found.
    """
    problems = tuple(_problems(table, base=base, shipped=shipped, prompt=prompt))
    if problems:
        raise ProblemsError(problems)
    profile = _assemble(table, parse_tools(table.tools), cwd=_cwd(table.cwd, base=base, shipped=shipped), prompt=prompt)
    wrong = wrong_examples(profile)
    if wrong:
        raise ProblemsError(tuple(Problem(key="examples", message=message) for message in wrong))
    return replace(profile, digest=profile_digest(profile))


def _problems(
    table: ProfileTable, *, base: Path, shipped: bool, prompt: str, only: Collection[str] | None = None
) -> Iterator[Problem]:
    checks: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("cwd", lambda: _cwd(table.cwd, base=base, shipped=shipped)),
        ("tools", lambda: parse_tools(table.tools)),
        ("read", lambda: check_patterns(table.read)),
        ("hide", lambda: check_patterns(table.hide)),
        ("unprotect", lambda: _check_unprotect(table.unprotect)),
        ("contacts", lambda: _check_unique(table.contacts)),
        ("from_agents", lambda: _check_unique([entry.label for entry in table.from_agents])),
        ("examples", lambda: _examples(table)),
        ("system_prompt", lambda: _check_prompt(prompt)),
    )
    for key, check in checks:
        if only is not None and key not in only:
            continue
        try:
            check()
        except ValueError as error:
            yield Problem(key=key, message=str(error))


def further_problems(document: Mapping[str, Any], failed: Collection[str], *, base: Path, shipped: bool) -> tuple[Problem, ...]:
    """What is wrong with the keys that have the right form, though others have not: a person wants to hear all at once.

    Args:
        document: The TOML as parsed.
        failed: Keys whose form is wrong already.
        base: As for `build`.
        shipped: As for `build`.
    """
    sound = {key: value for key, value in document.items() if key not in failed and key in _BY_THEMSELVES}
    table = ProfileTable.model_construct(**sound)
    found = _problems(table, base=base, shipped=shipped, prompt="-", only=sound)
    return tuple(found)


def _check_prompt(prompt: str) -> None:
    if not prompt.strip() or len(prompt.encode("utf-8", "surrogatepass")) > MAX_PROMPT:
        raise ValueError(f"must hold something and at most {MAX_PROMPT} bytes")


def _check_unprotect(names: list[str]) -> None:
    for name in names:
        if folded(name) not in PROTECTED:
            raise ValueError(f"{name!r} is no protected name")


def _check_unique(names: list[str]) -> None:
    if len(set(names)) != len(names):
        raise ValueError("a petname is listed twice")


def _cwd(text: str, *, base: Path, shipped: bool) -> Path:
    """The directory on the host, as text only: whether it exists is asked when the profile is checked or published."""
    if text.startswith("./"):
        if not shipped:
            raise ValueError("must be absolute; only shipped examples may say ./")
        path = PurePosixPath(base) / text
    else:
        path = PurePosixPath(text)
    if not path.is_absolute():
        raise ValueError("must be an absolute path; ~ and relative paths are refused")
    if ".." in path.parts:
        raise ValueError("must not contain ..")
    if len(path.parts) < 2:
        raise ValueError("must be a dedicated directory, not the root of the file system")
    if path.parts[1] in _KERNEL:
        raise ValueError("must not lie beneath /proc, /sys or /dev")
    return Path(path)


def _examples(table: ProfileTable) -> tuple[Example, ...]:
    examples: list[Example] = []
    for number, entry in enumerate(table.examples, start=1):
        try:
            raw = json.dumps(entry.input, allow_nan=False, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            raise ValueError(f"the input of example {number} has no JSON form") from None
        examples.append(Example(tool=entry.tool, raw=raw, expect=Verdict(entry.expect)))
    return tuple(examples)


def _assemble(table: ProfileTable, tools: ToolList, *, cwd: Path, prompt: str) -> Profile:
    defaults = HIDE_DEFAULTS if table.hide_defaults else ()
    return Profile(
        name=table.name,
        digest=Digest(""),
        description=table.description,
        kind=table.kind,
        model=table.model,
        system_prompt=prompt,
        cwd=cwd,
        tools=tools.names,
        scopes=tools.scopes,
        strict=table.strict,
        policy=None if table.policy is None else Policy(table.policy),
        unattended=table.unattended,
        contacts=tuple(table.contacts),
        from_agents=tuple(FromAgent(label=entry.label, instruction=entry.instruction) for entry in table.from_agents),
        wake=table.wake,
        allow_replies=table.allow_replies,
        allow_unconfined_tools=table.allow_unconfined_tools,
        allow_hard_links=table.allow_hard_links,
        read=tuple(table.read),
        # The author's own patterns come first, so that a negation among them cannot uncover what the defaults hide.
        hide=(*(pattern for pattern in table.hide if pattern not in defaults), *defaults),
        unprotect=tuple(table.unprotect),
        snapshot=SnapshotLimits(max_bytes=units.byte_count(table.snapshot.max_bytes), max_files=table.snapshot.max_files),
        limits=_limits(table),
        approvals=ApprovalSettings(
            hold=units.seconds(table.approvals.hold),
            expires=units.seconds(table.approvals.expires),
            on_expiry=table.approvals.on_expiry,
            on_denial=table.approvals.on_denial,
            required=table.approvals.required,
        ),
        examples=_examples(table),
    )


def _limits(table: ProfileTable) -> Limits:
    limits = table.limits
    return Limits(
        memory=units.byte_count(limits.memory),
        cpus=float(limits.cpus),
        pids=limits.pids,
        turns=limits.turns,
        wall=units.seconds(limits.wall),
        calls=limits.calls,
        budget_usd=float(limits.budget_usd),
        budget_tokens=limits.budget_tokens,
    )
