"""Invariants of design.md §5 that can be read off the code itself."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.tree import called, files, name, syntax

#: What would change the agent's permissions or its input, in the SDK's spelling and on the wire.
LOOSENS = frozenset({"updated_permissions", "updated_input", "updatedPermissions", "updatedInput"})


def makes_a_decision(tree: ast.Module) -> list[int]:
    """Lines that build a `Decision` with a verdict of their own, not the `verdict` of something on record."""
    found: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node.func).rsplit(".", 1)[-1] == "Decision":
            verdict = next((word.value for word in node.keywords if word.arg == "verdict"), None)
            if not (isinstance(verdict, ast.Attribute) and verdict.attr == "verdict"):
                found.append(node.lineno)
    return found


def loosens(tree: ast.Module) -> list[str]:
    """Names and texts by which an answer would change permissions or input."""
    found: list[str] = []
    for node in ast.walk(tree):
        word = getattr(node, "arg", None) or getattr(node, "attr", None) or getattr(node, "value", None)
        if isinstance(word, str) and word in LOOSENS:
            found.append(word)
    return found


def test_only_policy_makes_a_decision() -> None:
    """Invariant 1. Elsewhere one is only built back from its row, which `policy` had made."""
    makers = {name(path) for path in files("runner") if makes_a_decision(syntax(path))}
    assert {maker for maker in makers if not maker.startswith("runner/policy/")} == set()


def test_no_answer_changes_the_agents_permissions_or_its_input() -> None:
    """Invariant 5."""
    assert {name(path): bad for path in files("runner") if (bad := loosens(syntax(path)))} == {}


@pytest.mark.parametrize(
    "source", ["Allow(updated_input={})", "answer.updated_permissions = []", '{"updatedInput": 1}', "x['updatedPermissions']"]
)
def test_an_answer_that_loosens_is_caught_however_it_is_written(source: str) -> None:
    assert len(loosens(ast.parse(source))) == 1


def test_a_decision_made_elsewhere_is_caught() -> None:
    source = "model.Decision(verdict=Verdict.ALLOW)\nDecision()\nDecision(verdict=row.verdict)"
    assert makes_a_decision(ast.parse(source)) == [1, 2]
