"""Every small way to break a function: flipped comparisons, lost checks, other constants, other returns.

Owns the list of ways. A mutant changes one place of one function body; constants and tables are held by tests of their own.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
}
_SWAPPED = {"any": "all", "all": "any", "min": "max", "max": "min", "startswith": "endswith", "endswith": "startswith"}
_DROPPABLE = frozenset(
    ("casefold", "lower", "upper", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "sub", "replace", "reversed")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One break: where, what was there, what is there now, and the code of the broken function."""

    module: str
    function: str  #: qualified name
    line: int
    before: str
    after: str
    code: CodeType
    whole: CodeType  #: the module with the broken function in it

    @property
    def key(self) -> str:
        """Its name in docs/mutants.md, which no line number makes stale."""
        return f"{self.module}:{self.function}: {self.before} -> {self.after}"


def mutants(module: str, path: Path) -> Iterator[Mutant]:
    """Every mutant of every function body of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name, function in _functions(tree):
        for slot in _slots(function):
            node = slot.get()
            for other in _ways(node):
                slot.put(other)
                broken = ast.fix_missing_locations(copy.deepcopy(tree))
                slot.put(node)
                before, after = _change(node, other)
                whole = compile(broken, str(path), "exec")
                yield Mutant(
                    module=module,
                    function=name,
                    line=getattr(node, "lineno", 0),
                    before=before,
                    after=after,
                    code=_code_of(whole, name),
                    whole=whole,
                )


@dataclass(frozen=True, slots=True)
class _Slot:
    """A place in a tree that holds a node."""

    get: Callable[[], ast.AST]
    put: Callable[[ast.AST], None]


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{item.name}", item) for item in node.body if isinstance(item, ast.FunctionDef))


def _slots(function: ast.FunctionDef) -> Iterator[_Slot]:
    """Every node of a body but its docstring and annotations, outermost first."""
    for position, statement in enumerate(function.body):
        if not _says_nothing(statement):
            yield _slot_in(function.body, position)
            yield from _slots_beneath(statement)


def _slots_beneath(parent: ast.AST) -> Iterator[_Slot]:
    for field, value in ast.iter_fields(parent):
        if field in ("annotation", "returns", "ctx"):
            continue
        nested = isinstance(value, list)
        for position, item in enumerate(value if nested else (value,)):
            if isinstance(item, ast.AST):
                yield _slot_in(value, position) if nested else _slot_of(parent, field)
                yield from _slots_beneath(item)


def _slot_in(items: list[Any], position: int) -> _Slot:
    def put(node: ast.AST) -> None:
        items[position] = node

    return _Slot(lambda: items[position], put)


def _slot_of(parent: ast.AST, field: str) -> _Slot:
    return _Slot(lambda: getattr(parent, field), lambda node: setattr(parent, field, node))


def _says_nothing(node: ast.stmt) -> bool:
    """A docstring, or the `...` of a protocol."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _ways(node: ast.AST) -> Iterator[ast.AST]:
    for ways in (_of_statements, _of_conditions, _of_operators, _of_constants, _of_calls):
        yield from ways(node)


def _of_statements(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Return) and node.value is not None:
        if not (isinstance(node.value, ast.Constant) and node.value.value in (None, False)):  # as good as None
            yield ast.Return(ast.Constant(None))
        if isinstance(node.value, ast.Compare | ast.BoolOp | ast.UnaryOp):
            yield ast.Return(ast.Constant(True))  # noqa: FBT003 - the node holds it
    elif isinstance(node, ast.Expr | ast.AugAssign | ast.Raise | ast.Delete):
        yield ast.Pass()
    elif isinstance(node, ast.Continue):
        yield ast.Break()
    elif isinstance(node, ast.Break):
        yield ast.Continue()


def _of_conditions(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.If | ast.IfExp):
        for test in (ast.Constant(True), ast.Constant(False)):  # noqa: FBT003 - the node holds it
            yield _with(node, test=test)
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield _with(node, ifs=[])
    elif isinstance(node, ast.match_case):
        if node.guard is not None:
            yield _with(node, guard=None)
        if not (isinstance(node.pattern, ast.MatchAs) and node.pattern.pattern is None):  # `case _` ends every match
            yield _with(node, guard=ast.Constant(False))  # noqa: FBT003 - the node holds it


def _of_operators(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for position, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                yield _with(node, ops=[*node.ops[:position], other(), *node.ops[position + 1 :]])
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for position in range(len(node.values)):
            rest = [*node.values[:position], *node.values[position + 1 :]]
            yield rest[0] if len(rest) == 1 else _with(node, values=rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        yield _with(node, op=_ARITHMETIC[type(node.op)]())


def _of_constants(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant):
        match node.value:
            case bool():
                yield ast.Constant(not node.value)
            case int():
                yield ast.Constant(node.value + 1)
            case str():
                yield ast.Constant(f"{node.value}X")
                if node.value:
                    yield ast.Constant("")
            case _:
                pass
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
        for position in range(len(node.elts)):
            yield _with(node, elts=[*node.elts[:position], *node.elts[position + 1 :]])


def _of_calls(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Call):
        return
    for position in range(len(node.keywords)):
        yield _with(node, keywords=[*node.keywords[:position], *node.keywords[position + 1 :]])
    if isinstance(node.func, ast.Name):
        called, rest = node.func.id, node.args[0] if node.args else node
    elif isinstance(node.func, ast.Attribute):
        called, rest = node.func.attr, node.args[-1] if node.func.attr == "sub" else node.func.value
    else:
        return
    if called in _SWAPPED:
        yield _with(node, func=_with(node.func, **{"id" if isinstance(node.func, ast.Name) else "attr": _SWAPPED[called]}))
    if called in _DROPPABLE:
        yield rest


def _with(node: ast.AST, **changes: object) -> ast.AST:
    """A shallow copy with other fields."""
    other = copy.copy(node)
    for field, value in changes.items():
        setattr(other, field, value)
    return other


def _change(node: ast.AST, other: ast.AST) -> tuple[str, str]:
    """Both in words; of a call that lost an argument or an `if` that always goes one way, only that."""
    if isinstance(node, ast.Call) and isinstance(other, ast.Call) and len(node.keywords) > len(other.keywords):
        lost = next(word for word in node.keywords if word not in other.keywords)
        return f"{_shown(node.func)}(… {_shown(lost)} …)", "without it"
    if isinstance(node, ast.If) and isinstance(other, ast.If):
        return f"if {_shown(node.test)}", f"if {_shown(other.test)}"
    return _shown(node), _shown(other)


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else f"{text[:60]} … {text[-36:]}"


def _code_of(module: CodeType, qualified: str) -> CodeType:
    todo = [module]
    while todo:
        code = todo.pop()
        if code.co_qualname == qualified:
            return code
        todo.extend(constant for constant in code.co_consts if isinstance(constant, CodeType))
    raise LookupError(qualified)
