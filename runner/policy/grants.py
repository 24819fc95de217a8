"""Grants: a yes that the owner gave beforehand, to calls of one tool that look a certain way (D3). Pure.

Whether a grant still lives, by the clock, its uses and a revoke, is the store's business: what stands in a context, counts.
What it can lift is decided in `judge`: of the whole precedence nothing but the default policy's "ask".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from runner.model import WORKSPACE, Digest, GrantId, JsonObject, Profile, ResolvedPath, SenderKind, ToolCall, ToolClass
from runner.policy.catalogue import TOOLS
from runner.policy.context import PolicyContext
from runner.policy.scopes import NARROWABLE
from runner.policy.tool import Tool

#: Classes of tools for which a grant may be given at all; of a write there is a pre-image, so it can be taken back.
_CLASSES = frozenset({ToolClass.READ, ToolClass.WRITE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Which calls it lets run: of this tool, under this very profile, beneath `prefix`, each argument as its glob says.

    `prefix` are the names of a directory or file of the workspace; None: anywhere. A glob for a path is compared with where the
    path leads, name by name, so that its `*` stays within one name; for any other text its `*` is any text.
    """

    id: GrantId
    tool: str
    profile_digest: Digest
    prefix: tuple[str, ...] | None = None
    matches: tuple[tuple[str, str], ...] = ()

    def covers(self, call: ToolCall, paths: Sequence[ResolvedPath]) -> bool:
        """Whether a call looks as the grant says; the profile and the run are not looked at."""
        tool = TOOLS.get(self.tool)
        if call.tool != self.tool or tool is None or call.input is None:
            return False
        arguments = dict(call.input)
        return self._beneath(paths) and all(_fits(tool, key, glob, arguments, paths) for key, glob in self.matches)

    def _beneath(self, paths: Sequence[ResolvedPath]) -> bool:
        if self.prefix is None:
            return True
        # A tool with a pattern or an optional path may reach beyond the paths that were proven.
        if self.tool not in NARROWABLE or not paths:
            return False
        return all(_names(path)[: len(self.prefix)] == self.prefix for path in paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A grant as a person asks for it."""

    agent: str
    tool: str
    seconds: int
    uses: int
    path: str | None = None
    match: Mapping[str, str]


def grantable(tool: Tool) -> bool:
    """Whether a grant may be given for a tool: nothing unknown, nothing that sends, executes or deletes."""
    return tool.name in TOOLS and tool.available and tool.tool_class in _CLASSES and not tool.egress


def granted(call: ToolCall, paths: Sequence[ResolvedPath], *, profile: Profile, context: PolicyContext) -> GrantId | None:
    """The grant under which the owner said yes to such a call; None for a contact's run or thread, whatever is granted."""
    if context.sender is not SenderKind.OWNER or context.thread_tainted is not False or profile.approvals.required != 1:
        return None
    tool = TOOLS.get(call.tool)
    if tool is None or not grantable(tool):
        return None
    found = (one for one in context.grants if one.profile_digest == profile.digest and one.covers(call, paths))
    return next((one.id for one in found), None)


def _fits(tool: Tool, key: str, glob: str, arguments: JsonObject, paths: Sequence[ResolvedPath]) -> bool:  # noqa: PLR0917
    value = arguments.get(key)
    known = next((argument for argument in tool.arguments or () if argument.name == key), None)
    if known is None or not isinstance(value, str):
        return False
    if known.path is None:
        return fnmatchcase(value, glob)
    wanted = PurePosixPath(glob).parts
    leads = [_names(path) for path in paths if path.asked == value]
    return bool(leads) and all(
        len(names) == len(wanted) and all(fnmatchcase(name, part) for name, part in zip(names, wanted, strict=True))
        for names in leads
    )


def _names(path: ResolvedPath) -> tuple[str, ...]:
    return path.resolved.relative_to(WORKSPACE).parts
