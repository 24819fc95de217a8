"""Every requirement of the decision, the queue, the wall and the fence is named by a test that holds it (issues 4, 5, 7, 8).

Only docstrings of test functions count. What no test names yet stands in LATER or is a documented limit, each with its reason;
an entry that a test names after all fails, so the lists only shrink.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.architecture.tree import files, syntax

#: The queue's families of issue 5. An A above 5 is a number of the list of attacks on a display, and counts for nothing here.
QUEUE = "BLDVWAK"
#: The wall's and the gateway's ids (issue 7), and the fence's families (issue 8).
WALL, FENCE = "MG", "FUSIO"
#: Requirements, resolutions and policy rules that issues 4, 5, 7 and 8 name; cases: groups A, B, C, E, F, G of the list.
WANTED = {
    "R": "1-112, 125, 126, 137-139, 143, 144",
    "C": "1-22",
    "P": "1-12",
    "B": "1-12",
    "L": "1-10",
    "D": "1-6",
    "V": "1-10",
    "W": "1-6",
    "A": "1-5",
    "K": "1-5",
    "M": "1-3, 6, 8, 11, 12",
    "G": "1-5",
    "F": "1-14",
    "U": "1-4",
    "S": "1-5",
    "I": "1",
    "O": "1-2",
    "case": "1-4, 6, 7, 9, 11, 13, 14, 16-19, 21-23, 25, 26, 28-30, 32-37, 39, 41, 42, 44, 46, 47, 66-73, 75-85, 87-91, "
    "93-102, 104, 106-110",
}
#: What is built by a later issue, or is measured instead of tested.
LATER = {
    "C16": "a later issue: connectors sign in",
    "K4": "benchmarks/approvals.py and benchmarks/listing.py measure it; no test asserts a time",
}
#: Musts of the wall that other issues hold count as well.
LAST_MUST = 15
_LIST = r"\d+(?:-[A-Z]?\d+)?"


def numbers(text: str) -> Iterator[int]:
    """The numbers of a list such as `1-4, 6`."""
    for first, last in re.findall(r"(\d+)(?:-[A-Z]?(\d+))?", text):
        yield from range(int(first), int(last or first) + 1)


def ids_in(docstring: str) -> set[str]:
    """Ids a docstring names: `R46`, `R47-R50`, `case 3`, `Cases 21-26, 32`."""
    found = {
        f"{letter}{number}"
        for letter, rest in re.findall(rf"\b([RCP{QUEUE}{WALL}{FENCE}])({_LIST})\b", docstring)
        for number in numbers(rest)
    }
    lists = re.findall(rf"\b[Cc]ases? ({_LIST}(?:(?:, | and ){_LIST})*)", docstring)
    return found | {f"case {number}" for text in lists for number in numbers(text)}


@cache
def named() -> frozenset[str]:
    """Every id that the docstring of some test names."""
    found: set[str] = set()
    for path in files("tests"):
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found |= ids_in(ast.get_docstring(node) or "")
    return frozenset(found)


def wanted() -> list[str]:
    """Every id there must be a test for."""
    return [
        f"case {number}" if kind == "case" else f"{kind}{number}" for kind, text in WANTED.items() for number in numbers(text)
    ]


def test_every_requirement_is_named_by_a_test() -> None:
    missing = [each for each in wanted() if each not in named() and each not in LATER]

    assert missing == []


def test_what_is_left_for_later_is_wanted_and_not_yet_named() -> None:
    assert [each for each in LATER if each in named() or each not in wanted()] == []


def test_no_test_names_an_id_that_is_none() -> None:
    known = QUEUE.replace("A", "") + WALL.replace("M", "") + FENCE
    assert sorted(each for each in named() if each[0] in known and each not in wanted()) == []
    assert sorted(each for each in named() if each[0] == "M" and int(each[1:]) > LAST_MUST) == []


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("R46, R48-R50; P8.", {"R46", "R48", "R49", "R50", "P8"}),
        ("R47-50.", {"R47", "R48", "R49", "R50"}),
        ("Cases 2, 4-6 and 9: a path.", {"case 2", "case 4", "case 5", "case 6", "case 9"}),
        ("case 107; C3", {"case 107", "C3"}),
        ("M1, M6; G1-G3, F14, U1, S5, I1, O2.", {"M1", "M6", "G1", "G2", "G3", "F14", "U1", "S5", "I1", "O2"}),
        ("B1, L2-L4; A5: attacks 1-46.", {"B1", "L2", "L3", "L4", "A5"}),
        ("CR46, R, P8x, 12 cases", set()),
    ],
)
def test_ids_are_read_out_of_a_docstring_as_a_reader_would(docstring: str, expected: set[str]) -> None:
    assert ids_in(docstring) == expected
