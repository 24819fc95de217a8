"""Rules for the tests themselves: names are sentences, a known limit names its issue, nothing is skipped."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.tree import calls, files, name, names_of_tests, syntax

ISSUE = re.compile(r"issue \d+")


def sentences(tree: ast.Module) -> list[str]:
    """Test names that are too short to say what must hold."""
    return [test for test in names_of_tests(tree) if len(test.split("_")) < 4]


def xfails_without_issue(tree: ast.Module) -> list[int]:
    """Lines of `xfail` whose reason names no issue."""
    found: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "xfail":
            found.append(node.lineno)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "xfail":
            reason = next((word.value for word in node.keywords if word.arg == "reason"), None)
            if isinstance(reason, ast.Constant) and isinstance(reason.value, str) and ISSUE.search(reason.value):
                found.remove(node.func.lineno)
    return found


def skips(tree: ast.Module) -> list[str]:
    """Ways to leave a test out: a suite that skips proves nothing about what it skipped."""
    words = {"skip", "skipif", "importorskip", "skipTest"}
    return [f"{line}: {what}" for line, what in calls(tree) if what.rsplit(".", 1)[-1] in words and "pytest" in what]


def test_every_test_name_is_a_sentence() -> None:
    found = {name(path): bad for path in files("tests") if (bad := sentences(syntax(path)))}
    assert found == {}


def test_every_known_limit_names_its_issue() -> None:
    found = {name(path): bad for path in files("tests") if (bad := xfails_without_issue(syntax(path)))}
    assert found == {}


def test_no_test_is_ever_skipped() -> None:
    found = {name(path): bad for path in files("tests") if (bad := skips(syntax(path)))}
    assert found == {}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@pytest.mark.xfail\ndef f(): ...", [1]),
        ("@pytest.mark.xfail(reason='later')\ndef f(): ...", [1]),
        ("@pytest.mark.xfail(strict=True, reason='see issue 7: mounts')\ndef f(): ...", []),
        ("pytest.xfail('known')", [1]),
    ],
)
def test_a_known_limit_without_an_issue_is_caught(source: str, expected: list[int]) -> None:
    assert xfails_without_issue(ast.parse(source)) == expected


def test_a_skip_or_a_short_name_is_caught() -> None:
    assert skips(ast.parse("pytest.importorskip('x')\n@pytest.mark.skipif(a)\ndef f(): ...")) == [
        "1: pytest.importorskip",
        "2: pytest.mark.skipif",
    ]
    assert sentences(ast.parse("def test_write(): ...\ndef test_a_write_waits(): ...")) == ["test_write"]


def test_every_folder_of_tests_is_a_package() -> None:
    """Two files of one name in two tiers would shadow each other otherwise."""
    bare = {name(path.parent) for path in files("tests") if not (path.parent / "__init__.py").exists()}
    assert bare == set()
