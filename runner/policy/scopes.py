"""Tool patterns of a profile, `Write(out/**)` and `Edit(!**/migrations/**)`: they only ever narrow.

Within one pair of brackets the patterns are alternatives and `!` takes away; several entries for a tool must all let a path
through.
"""

from __future__ import annotations

from collections.abc import Iterable

from runner.model import ToolScope
from runner.paths import PathRefusal
from runner.paths.selection import spec

#: Tools with one path that names one file; a search reaches everything beneath its start and cannot be narrowed like this.
NARROWABLE = frozenset({"Read", "Write", "Edit", "NotebookEdit", "CreateFolder", "CreateDocument"})


def out_of_scope(tool: str, parts: tuple[str, ...], scopes: Iterable[ToolScope]) -> PathRefusal | None:
    """Why a proven path is outside what the profile's patterns leave of a tool.

    Raises:
        ValueError: A pattern is no gitignore pattern; loading a profile refuses such.
    """
    text = "/".join(parts)
    for scope in scopes:
        if scope.tool == tool and not (tool in NARROWABLE and _lets_through(scope, text)):
            return PathRefusal(rule="scope", reason=f"The profile narrows {tool} to other paths than this one.")
    return None


def _lets_through(scope: ToolScope, text: str) -> bool:
    wanted = not scope.only or spec(scope.only).match_file(text)
    return wanted and not spec(scope.never).match_file(text)
