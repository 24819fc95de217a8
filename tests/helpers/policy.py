"""One world for the tests of the decision: a small tree, an owner's clean run over it, short answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runner.model import Decision
from runner.policy import PolicyContext
from runner.policy.catalogue import Tool
from runner.policy.guard import MAX_READ_BYTES
from tests.helpers.views import File, Link, TreeView

VIEW = TreeView(
    {
        "in.txt": File(),
        "sub/a.txt": File(),
        "ok": Link("sub"),
        "out": Link("../x"),
        "big.bin": File(size=MAX_READ_BYTES + 1),
        "fits.bin": File(size=MAX_READ_BYTES),
        "report.docx": File(),
        "alias": Link("report.docx"),
        "hard": File(links=2),
    }
)
NEW = "mcp__github__post_comment"


def a_context(**changes: Any) -> PolicyContext:
    """An owner's clean run over VIEW."""
    return replace(PolicyContext(view=VIEW, tainted=False), **changes)


def short(decision: Decision) -> tuple[str, int, str]:
    """Verdict, rank and rule."""
    return decision.verdict.value, decision.rank, decision.rule


def sample(tool: Tool) -> dict[str, Any]:
    """A valid input."""
    values: dict[str, Any] = {"string": "x", "integer": 1, "boolean": True}
    return {
        argument.name: argument.choices[0] if argument.choices else values[argument.kind.value]
        for argument in tool.arguments or ()
        if argument.required
    }
