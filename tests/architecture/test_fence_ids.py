"""Every rule of the fence and every hostile input of its list is named by a test that holds it (issue 8).

Docstrings of test functions count, and the numbers that `INPUTS` of the list's own test has as keys.
"""

from __future__ import annotations

import ast
import re
from functools import cache

from tests.adversarial.test_fence_inputs import INPUTS
from tests.architecture.test_requirement_ids import numbers
from tests.architecture.tree import files, syntax

RULES = {"F": "1-14", "U": "1-4", "S": "1-5", "I": "1"}
#: The list has these numbers; those it skips are not in it.
ITEMS = "1-3, 5-12, 14-17, 19-21, 23-26, 28-30, 32-39, 41-46, 48-57, 59-65, 67-74, 76-82, 84-86, 88-96, 98-100, 102-104, 106"
_LIST = r"\d+(?:-[A-Z]?\d+)?"
_RULE = re.compile(rf"\b([FUSI])({_LIST})\b")
_ROW = re.compile(r"(\d+)(?: [a-z]+)?")


@cache
def docstrings() -> tuple[str, ...]:
    """Of every test there is."""
    return tuple(
        ast.get_docstring(node) or ""
        for path in files("tests")
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )


@cache
def listed() -> frozenset[int]:
    """Numbers of the list that a test of the fence, of its senders or of pictures names."""
    found = {int(row[1]) for row in map(_ROW.fullmatch, INPUTS) if row}
    for text in docstrings():
        for match in re.findall(r"\b[Ii]tems? ((?:\d+(?:-\d+)?)(?:(?:, | and )\d+(?:-\d+)?)*)", text):
            found |= set(numbers(match))
    return frozenset(found)


def test_every_rule_of_the_fence_is_named_by_a_test() -> None:
    named = {f"{kind}{number}" for text in docstrings() for kind, rest in _RULE.findall(text) for number in numbers(rest)}
    wanted = {f"{kind}{number}" for kind, text in RULES.items() for number in numbers(text)}
    assert wanted - named == set()


def test_every_hostile_input_of_the_list_is_a_fixture() -> None:
    assert set(numbers(ITEMS)) - listed() == set()
