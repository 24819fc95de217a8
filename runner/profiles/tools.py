"""The entries of a profile's tool list: a name, or a name and the patterns that narrow it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from runner.model import SERVER, ToolScope
from runner.paths.selection import spec
from runner.policy.catalogue import NEVER, TOOLS, is_connector
from runner.policy.scopes import NARROWABLE

_ENTRY = re.compile(r"([A-Za-z0-9_-]+)(?:\((.*)\))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolList:
    """Bare names in the author's order, and what patterns leave of some."""

    names: tuple[str, ...]
    scopes: tuple[ToolScope, ...]


def parse_tools(entries: Sequence[str]) -> ToolList:
    """Read a tool list.

    Raises:
        ValueError: An entry names no tool that may be listed, repeats another, or has patterns that mean nothing.
    """
    names: list[str] = []
    scopes: list[ToolScope] = []
    for position, entry in enumerate(entries):
        match = _ENTRY.fullmatch(entry.strip())
        if match is None:
            raise ValueError(f"entry {position + 1} is neither a tool's name nor name(pattern)")
        if entry in entries[:position]:
            raise ValueError(f"{match.group(1)} is listed twice")
        name, patterns = match.group(1), match.group(2)
        _check_name(name)
        names.append(name)
        if patterns is not None:
            scopes.append(_scope(name, patterns))
    return ToolList(names=tuple(dict.fromkeys(names)), scopes=tuple(scopes))


def _check_name(name: str) -> None:
    if name in TOOLS or is_connector(name):
        return
    if name in NEVER:
        raise ValueError(f"{name} is never offered to a hosted agent")
    if name.startswith(f"mcp__{SERVER}__"):
        raise ValueError("built-in tools are listed by their plain names, such as Write")
    close = get_close_matches(name, TOOLS, n=1) or [known for known in TOOLS if known.lower() == name.lower()]
    hint = f"; did you mean {close[0]}?" if close else ""
    raise ValueError(f"there is no tool {name[:64]}{hint}")


def _scope(name: str, text: str) -> ToolScope:
    if name not in NARROWABLE:
        raise ValueError(f"{name} cannot be narrowed by patterns, only {', '.join(sorted(NARROWABLE))}; use read and hide")
    patterns = [pattern.strip() for pattern in text.split(",")]
    if not all(pattern.removeprefix("!") for pattern in patterns):
        raise ValueError(f"{name} has an empty pattern")
    only = tuple(pattern for pattern in patterns if not pattern.startswith("!"))
    never = tuple(pattern[1:] for pattern in patterns if pattern.startswith("!"))
    check_patterns((*only, *never))
    return ToolScope(tool=name, only=only, never=never)


def check_patterns(patterns: Sequence[str]) -> None:
    """Refuse what is no gitignore pattern, or one that matches nothing.

    Raises:
        ValueError: Names the pattern.
    """
    for pattern in patterns:
        if not pattern.strip() or pattern.lstrip().startswith("#"):
            raise ValueError(f"{pattern!r} is a comment or blank, and matches nothing")
        try:
            spec((pattern,))
        except ValueError:
            raise ValueError(f"{pattern!r} is not a gitignore pattern") from None
