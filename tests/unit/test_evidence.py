"""The commands whose output stands in the docs, and the layer table's own arithmetic (issue 7, done when)."""

from __future__ import annotations

import ast
import sys

import pytest

from campaigns import layers
from campaigns.evidence import COMMANDS, PAGE, put, run
from campaigns.layers import ATTACKS, CONTROL, LAYERS, table
from tests.architecture.tree import ROOT

TESTS = {test for tests in ATTACKS.values() for test in tests.values()} | {CONTROL[2]}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_its_place_on_the_page_and_takes_only_that(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    once = put(page, name, output="a | b", code=3)
    assert "exit code 3:\n\n```\na | b\n```\n" in once
    assert put(once, name, output="a | b", code=3) == once
    begin, end = f"<!-- {name}: made by make evidence -->", f"<!-- end of {name} -->"
    assert once.partition(begin)[0] == page.partition(begin)[0]
    assert once.partition(end)[2] == page.partition(end)[2]
    assert f"`{COMMANDS[name][0]}`" in once


def test_a_page_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no place"):
        put("# Evidence", "wall", output="", code=0)


def test_what_a_command_says_is_shown_and_kept_with_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run((sys.executable, "-c", "print('one'); print('two  '); raise SystemExit(4)")) == (4, "one\ntwo")
    assert capsys.readouterr().out == "one\ntwo  \n"


def test_every_layer_stands_alone_in_the_table_against_something() -> None:
    assert {layer for tests in ATTACKS.values() for layer in tests} == set(LAYERS)


def test_every_test_of_the_layer_table_exists() -> None:
    """One that was renamed would count as an attack that got through."""
    for test in TESTS:
        file, _, name = test.partition("::")
        names = {node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)}
        assert name.partition("[")[0] in names, test


def test_an_attack_whose_test_fails_or_is_missing_got_through() -> None:
    assert table(dict.fromkeys(TESTS, True))[1] == 0
    for test in TESTS - {CONTROL[2]}:
        cells = sum(test in tests.values() and [*tests.values()].count(test) for tests in ATTACKS.values())
        for passed in (dict.fromkeys(TESTS, True) | {test: False}, dict.fromkeys(TESTS - {test}, True)):
            shown, through = table(passed)
            assert (through, layers.THROUGH in shown) == (cells, True)


def test_a_layer_that_stops_everything_shows_nothing() -> None:
    shown, through = table(dict.fromkeys(TESTS, True) | {CONTROL[2]: False})
    assert (through, shown.splitlines()[-1].split()[-4:]) == (1, ["STOPPED", "-", "-", "-"])
