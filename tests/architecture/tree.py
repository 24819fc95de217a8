"""The source tree as the architecture tests see it: files, syntax trees, and the rules they are held against.

Each rule takes a syntax tree and returns what breaks it, so that a test can also show the rule catching a planted breach.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def words(text: str) -> frozenset[str]:
    """The words of a list that is easier to read as a line of text."""
    return frozenset(text.split())


def files(*folders: str) -> list[Path]:
    """Every Python file beneath some folders of the clone, sorted."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name(path: Path) -> str:
    """A file's path from the root of the clone, with `/`."""
    return path.relative_to(ROOT).as_posix()


@cache
def syntax(path: Path) -> ast.Module:
    """The parsed file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every absolute module a file imports, with its line; `from a import b` gives `a` and `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def imports_of(tree: ast.Module, modules: frozenset[str]) -> list[str]:
    """Imports of `modules` or of anything in them."""
    return sorted({f"{line}: {found}" for line, found in imported(tree) if found.split(".")[0] in modules})


def called(node: ast.AST) -> str:
    """The dotted name a call's function is written as, or the empty text."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    elif parts:
        parts.append("")
    return ".".join(reversed(parts))


def calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every call in a file: its line and the dotted name it is written as."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.lineno, called(node.func)


def broad_handlers(tree: ast.Module) -> list[int]:
    """Lines of handlers that catch everything: `except:`, `Exception`, `BaseException`, also within a tuple."""
    found: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if any(kind is None or called(kind) in {"Exception", "BaseException"} for kind in kinds):
                found.append(node.lineno)
    return found


def reraises(tree: ast.Module, line: int) -> bool:
    """Whether the handler at `line` ends by raising again, so that it hides nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.lineno == line:
            return isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
    return False


def names_of_tests(tree: ast.Module) -> list[str]:
    """Names of the test functions in a file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node.name for node in ast.walk(tree) if isinstance(node, kinds) and node.name.startswith("test_")]


@cache
def every_test() -> frozenset[str]:
    """Every test as `tests/…/file.py::name`."""
    return frozenset(f"{name(path)}::{test}" for path in files("tests") for test in names_of_tests(syntax(path)))


def references_in(text: str) -> list[str]:
    """References such as `tests/unit/test_x.py::test_y` in a document."""
    return re.findall(r"tests/[\w/]+\.py::test_\w+", text)
