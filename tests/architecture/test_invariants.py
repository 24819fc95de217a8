"""Invariants of design.md §5 that can be read off the code itself."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.tree import calls, files, name, syntax

#: What would change the agent's permissions or its input, in the SDK's spelling and on the wire.
LOOSENS = frozenset({"updated_permissions", "updated_input", "updatedPermissions", "updatedInput"})


def makes_a_decision(tree: ast.Module) -> list[int]:
    """Lines that build a `Decision`."""
    return [line for line, what in calls(tree) if what.rsplit(".", 1)[-1] == "Decision"]


def loosens(tree: ast.Module) -> list[str]:
    """Names and texts by which an answer would change permissions or input."""
    found: list[str] = []
    for node in ast.walk(tree):
        word = getattr(node, "arg", None) or getattr(node, "attr", None) or getattr(node, "value", None)
        if isinstance(word, str) and word in LOOSENS:
            found.append(word)
    return found


def test_only_policy_makes_a_decision() -> None:
    """Invariant 1. The store builds one back from its row, which `policy` had made."""
    makers = {name(path).split("/")[1] for path in files("runner") if makes_a_decision(syntax(path))}
    assert makers <= {"policy", "store"}


def test_no_answer_changes_the_agents_permissions_or_its_input() -> None:
    """Invariant 5."""
    assert {name(path): bad for path in files("runner") if (bad := loosens(syntax(path)))} == {}


@pytest.mark.parametrize(
    "source", ["Allow(updated_input={})", "answer.updated_permissions = []", '{"updatedInput": 1}', "x['updatedPermissions']"]
)
def test_an_answer_that_loosens_is_caught_however_it_is_written(source: str) -> None:
    assert len(loosens(ast.parse(source))) == 1


def test_a_decision_made_elsewhere_is_caught() -> None:
    assert makes_a_decision(ast.parse("model.Decision(verdict=1)\nDecision()")) == [1, 2]
