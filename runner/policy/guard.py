"""The rules outside the table that refuse a call for what it is: its size, its arguments, its paths (rank 0)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from runner.model import WORKSPACE, Json, Profile, ResolvedPath, ToolClass
from runner.paths import (
    DirectoryView,
    EntryKind,
    Omission,
    PathRefusal,
    Want,
    check_pattern,
    normalise,
    omission,
    pattern_base,
    resolve,
)
from runner.policy.loose_paths import loose_paths
from runner.policy.protected import protected_name
from runner.policy.scopes import out_of_scope
from runner.policy.tool import Argument, Tool

#: An input a person cannot be expected to review (L8).
MAX_INPUT_BYTES = 256 * 1024
#: The Read of a larger file becomes a frame the transport would kill the container for (sdk.md §5).
MAX_READ_BYTES = 4 * 1024 * 1024

_UNREADABLE = (".docx", ".xlsx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What the rules of this file make of a call: where its paths lead, and a refusal when one spoke."""

    paths: tuple[ResolvedPath, ...] = ()
    refusal: PathRefusal | None = field(default=None)


def guard(tool: Tool, arguments: Mapping[str, Json], *, profile: Profile, view: DirectoryView) -> Guarded:
    """Prove every path and pattern of a call, in argument order; the first doubt refuses it."""
    fault = tool.fault(arguments)
    if fault is not None:
        return Guarded(refusal=PathRefusal(rule="malformed", reason=fault))
    paths: list[ResolvedPath] = []
    for outcome in _outcomes(tool, arguments, profile=profile, view=view):
        if isinstance(outcome, PathRefusal):
            return Guarded(paths=tuple(paths), refusal=outcome)
        paths.append(outcome)
    return Guarded(paths=tuple(paths))


def _outcomes(
    tool: Tool, arguments: Mapping[str, Json], *, profile: Profile, view: DirectoryView
) -> Iterator[ResolvedPath | PathRefusal]:
    if tool.arguments is None:
        for text in loose_paths(arguments):
            yield _prove(text, tool=tool, profile=profile, view=view, want=Want.FILE_OR_DIRECTORY)
        return
    for argument in tool.arguments:
        value = arguments.get(argument.name)
        if not isinstance(value, str):
            continue
        if argument.path is not None:
            yield _prove(value, tool=tool, profile=profile, view=view, want=argument.path)
        elif argument.pattern:
            refusal = _pattern_refusal(value, argument, arguments, view=view)
            if refusal is not None:
                yield refusal


def _prove(text: str, *, tool: Tool, profile: Profile, view: DirectoryView, want: Want) -> ResolvedPath | PathRefusal:
    proven = resolve(text, view, want=want, allow_hard_links=profile.allow_hard_links is True)
    if isinstance(proven, PathRefusal):
        return proven
    parts = proven.resolved.relative_to(WORKSPACE).parts
    # A name is judged as it is written too: a link called `.git` is no way round what `.git` means.
    written = PurePosixPath(normalise(text)).relative_to(WORKSPACE).parts
    try:
        refusals = (_ruled_out(names, tool=tool, profile=profile, want=want) for names in dict.fromkeys((parts, written)))
        refusal = next(filter(None, refusals), None)
        if refusal is None and tool.name == "Read":
            refusal = _too_much_to_read(text, parts, view)
    except (OSError, ValueError):  # ValueError: a profile built by hand with a pattern that is none
        refusal = PathRefusal(rule="unproven", reason="Whether the path may be used could not be found out.")
    return refusal or proven


def _ruled_out(parts: tuple[str, ...], *, tool: Tool, profile: Profile, want: Want) -> PathRefusal | None:
    """What the profile says of a path that is provably inside."""
    refusal = _left_out(parts, tool=tool, profile=profile, want=want) or out_of_scope(tool.name, parts, profile.scopes)
    if refusal is None and tool.tool_class is not ToolClass.READ:
        refusal = _protected(parts, profile)
    return refusal


def _left_out(parts: tuple[str, ...], *, tool: Tool, profile: Profile, want: Want) -> PathRefusal | None:
    directory = want in (Want.DIRECTORY, Want.FILE_OR_DIRECTORY)
    match omission(parts, read=profile.read, hide=profile.hide, directory=directory):
        case Omission.HIDDEN:
            return PathRefusal(rule="hidden", reason="The path is left out of the workspace: the profile hides it.")
        case Omission.NOT_SELECTED if tool.tool_class is ToolClass.READ:
            return PathRefusal(rule="hidden", reason="The path is left out of the workspace: the profile does not include it.")
        case _:
            return None


def _protected(parts: tuple[str, ...], profile: Profile) -> PathRefusal | None:
    name = protected_name(parts, unprotect=profile.unprotect)
    if name is None:
        return None
    return PathRefusal(
        rule="protected", reason=f"{name} can give power later, so it is protected and this agent may not change it."
    )


def _too_much_to_read(text: str, parts: tuple[str, ...], view: DirectoryView) -> PathRefusal | None:
    if text.rstrip("/").lower().endswith(_UNREADABLE) or parts[-1].lower().endswith(_UNREADABLE):
        return PathRefusal(rule="unreadable_format", reason="Read cannot open .docx and .xlsx files.")
    if view.kind(parts) is EntryKind.FILE and view.size(parts) > MAX_READ_BYTES:
        return PathRefusal(rule="too_large_to_read", reason="The file is larger than 4 MiB; search it with Grep instead.")
    return None


def _pattern_refusal(
    value: str, argument: Argument, arguments: Mapping[str, Json], *, view: DirectoryView
) -> PathRefusal | None:
    refusal = check_pattern(value)
    base = pattern_base(value) if argument.required else ""
    if refusal is not None or not base:
        return refusal
    # A search that starts at the pattern's fixed part follows a link there (case 42); its start is a path like any other.
    root = arguments.get("path")
    start = base if base.startswith("/") or not isinstance(root, str) else f"{root}/{base}"
    proven = resolve(start, view, want=Want.FILE_OR_DIRECTORY)
    return proven if isinstance(proven, PathRefusal) else None
