"""Whoever is not the owner is treated as a contact: nothing asks whether somebody is one kind of other (invariant 10)."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.tree import files, name, syntax

#: Places that tell people from programs on purpose: who is listed where, under which label, and how a row is named.
APART = {
    "runner/supervisor/intake.py",
    "runner/supervisor/contacts.py",
    "runner/fence/names.py",
    "runner/fence/compose.py",
}


def compared(tree: ast.Module) -> list[int]:
    """Lines that compare with, or match, a kind of sender other than the owner."""
    found: list[int] = []
    for node in ast.walk(tree):
        asked: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            asked = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            asked = [node.value]
        found += [
            part.lineno
            for part in asked
            if isinstance(part, ast.Attribute)
            and isinstance(part.value, ast.Name)
            and part.value.id == "SenderKind"
            and part.attr != "OWNER"
        ]
    return found


def test_a_rule_for_contacts_is_a_rule_for_everybody_but_the_owner() -> None:
    found = {name(path): lines for path in files("runner") if (lines := compared(syntax(path))) and name(path) not in APART}
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "if a.kind is SenderKind.CONTACT: pass",
        "x = SenderKind.AGENT == y",
        "match k:\n    case SenderKind.CONTACT:\n        pass",
    ],
)
def test_a_rule_for_one_kind_of_other_is_caught(source: str) -> None:
    assert len(compared(ast.parse(source))) == 1


def test_a_rule_about_the_owner_is_none() -> None:
    assert compared(ast.parse("a is not SenderKind.OWNER")) == []
