"""One cell of a Jupyter notebook replaced, inserted or deleted; every other byte of the file stays as it was found. Pure.

The file's text is cut at the cells' own places and only the cell is written anew, in the layout that is found there: numbers,
escapes and key order elsewhere are never normalised. What comes out is read again and must be what was meant.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from runner.broker.layout import Cell, lay_out
from runner.broker.values import MAX_FILE_BYTES, Content, Impossible, Result
from runner.digest import MalformedJsonError, parse_strict
from runner.model import Json, JsonObject

#: The only major format that is written today; in earlier ones cells stand elsewhere.
NBFORMAT = 4
#: From this minor format on every cell has an id.
_IDS_SINCE = 5
_TYPES = ("code", "markdown")
_MODES = ("replace", "insert", "delete")
#: How readers name a cell that has no id of its own.
_NUMBERED = re.compile(r"cell-(\d{1,6})")
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Notebook:
    """A notebook as it stands in its file."""

    data: bytes
    text: str  #: without a byte order mark
    value: JsonObject
    minor: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """What is to be done with the cell at a place: `cell` is what shall stand there, None after a deletion."""

    mode: str
    at: int
    cell: Cell | None
    name: str


def cell_edited(arguments: Mapping[str, Json], old: Content) -> Result | Impossible:
    """The notebook with one cell edited, or why that cannot be."""
    if not isinstance(old, bytes):
        return Impossible(reason="the notebook does not exist; use Write to make it")
    notebook = _read(old)
    if isinstance(notebook, Impossible):
        return notebook
    edit = _edit(arguments, notebook)
    return edit if isinstance(edit, Impossible) else _written(notebook, edit)


def _read(data: bytes) -> _Notebook | Impossible:
    try:
        text = data.decode().removeprefix(_BOM)
        value = parse_strict(text)
    except UnicodeDecodeError:
        return Impossible(reason="the notebook is not UTF-8 text")
    except MalformedJsonError as error:
        return Impossible(reason=f"the notebook is no strict JSON: {error}")
    if not isinstance(value, dict) or value.get("nbformat") != NBFORMAT:
        return Impossible(reason=f"the file is no notebook of format {NBFORMAT}")
    minor, cells = value.get("nbformat_minor"), value.get("cells")
    if not isinstance(minor, int) or not isinstance(cells, list):
        return Impossible(reason="the notebook has no list of cells, or no minor format")
    found = tuple(cell for cell in cells if isinstance(cell, dict) and _is_cell(cell))
    if len(found) != len(cells):
        return Impossible(reason="the notebook has a cell without type or source")
    return _Notebook(data=data, text=text, value=value, minor=minor, cells=found)


def _is_cell(cell: Cell) -> bool:
    source = cell.get("source")
    lines = source if isinstance(source, list) else [source]
    return isinstance(cell.get("cell_type"), str) and all(isinstance(line, str) for line in lines)


def _edit(arguments: Mapping[str, Json], notebook: _Notebook) -> _Edit | Impossible:
    mode = str(arguments.get("edit_mode", "replace"))
    fault = _fault(arguments, mode)
    if fault is not None:
        return Impossible(reason=fault)
    at = _place(arguments.get("cell_id"), notebook)
    if isinstance(at, Impossible):
        return at
    match mode, at:
        case "insert", _:
            return _inserted(arguments, notebook, at=0 if at is None else at + 1)
        case _, None:
            return Impossible(reason=f"cell_id is missing: a cell to {mode} needs one")
        case "delete", _:
            return _Edit(mode=mode, at=at, cell=None, name=_name(notebook.cells[at], at))
        case _:
            return _replaced(arguments, notebook.cells[at], at=at)


def _fault(arguments: Mapping[str, Json], mode: str) -> str | None:
    if mode not in _MODES:
        return f"edit_mode must be one of {', '.join(_MODES)}"
    kind = arguments.get("cell_type", None if mode == "insert" else _TYPES[0])
    if kind is None:
        return "cell_type is missing: a cell to insert needs one"
    return None if kind in _TYPES else f"cell_type must be one of {', '.join(_TYPES)}"


def _place(wanted: Json, notebook: _Notebook) -> int | Impossible | None:
    """Where the cell of this id stands; a cell without an id goes by its number, as readers show it."""
    if wanted is None:
        return None
    cells = notebook.cells
    found = [at for at, cell in enumerate(cells) if cell.get("id") == wanted]
    if len(found) > 1:
        return Impossible(reason="several cells of the notebook have this cell_id")
    numbered = _NUMBERED.fullmatch(str(wanted))
    if not found and numbered is not None and int(numbered[1]) < len(cells) and "id" not in cells[int(numbered[1])]:
        return int(numbered[1])
    return found[0] if found else Impossible(reason="no cell of the notebook has this cell_id")


def _replaced(arguments: Mapping[str, Json], cell: Cell, *, at: int) -> _Edit | Impossible:
    source, was = str(arguments["new_source"]), cell["source"]
    kind = arguments.get("cell_type", cell["cell_type"])
    same = "".join(map(str, was)) if isinstance(was, list) else was
    if (kind, source) == (cell["cell_type"], same):
        return Impossible(reason="the cell already has exactly this source; nothing to change")
    after: Cell = {**cell, "cell_type": kind, "source": _in_form_of(was, source)}
    if kind == "code":
        # What the former source gave is not what this one gives.
        after |= {"execution_count": None, "outputs": []}
    else:
        after = {key: value for key, value in after.items() if key not in {"execution_count", "outputs"}}
    return _Edit(mode="replace", at=at, cell=after, name=_name(cell, at))


def _inserted(arguments: Mapping[str, Json], notebook: _Notebook, *, at: int) -> _Edit:
    kind = arguments["cell_type"]
    like = notebook.cells[max(at - 1, 0)]["source"] if notebook.cells else []
    cell: Cell = {"cell_type": kind, "metadata": {}, "source": _in_form_of(like, str(arguments["new_source"]))}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    if notebook.minor >= _IDS_SINCE:
        cell["id"] = _new_id(arguments, notebook)
    return _Edit(mode="insert", at=at, cell=dict(sorted(cell.items())), name=_name(cell, at))


def _new_id(arguments: Mapping[str, Json], notebook: _Notebook) -> str:
    """An id for a new cell: the same each time it is worked out, or the plan would not be what is carried out."""
    taken = {str(cell.get("id")) for cell in notebook.cells}
    basis = hashlib.sha256(notebook.data).digest() + json.dumps(dict(arguments), sort_keys=True).encode()
    names = (hashlib.sha256(basis + bytes([n])).hexdigest()[at : at + 8] for n in range(256) for at in range(0, 64, 8))
    return next(name for name in names if name not in taken)


def _written(notebook: _Notebook, edit: _Edit) -> Result | Impossible:
    """What was cut and pasted must read as what was meant; a layout that is not understood is refused, never guessed at."""
    layout, cells = lay_out(notebook.text), [*notebook.cells]
    if edit.cell is None:
        made = layout.without_cell(edit.at)
        del cells[edit.at]
    elif edit.mode == "insert":
        made = layout.with_cell(edit.cell, before=edit.at)
        cells.insert(edit.at, edit.cell)
    else:
        made = layout.with_other_cell(edit.cell, at=edit.at)
        cells[edit.at] = edit.cell
    try:
        reads = parse_strict(made)
    except MalformedJsonError:
        reads = None
    if reads != {**notebook.value, "cells": cells}:
        return Impossible(reason="the notebook's layout is not understood; use Write to replace the whole file")
    mark = _BOM if notebook.data.startswith(_BOM.encode()) else ""
    data = (mark + made).encode()
    if len(data) > MAX_FILE_BYTES:
        return Impossible(reason=f"the result would be larger than {MAX_FILE_BYTES} bytes")
    return Result(data=data, did=f"cell {edit.name} {edit.mode.removesuffix('e')}ed")


def _in_form_of(like: Json, source: str) -> Json:
    """A source as its neighbours are written: one text, or a list of lines."""
    if isinstance(like, str):
        return source
    lines: list[Json] = [*re.findall(r"[^\n]*\n|[^\n]+", source)]
    return lines


def _name(cell: Cell, at: int) -> str:
    """A cell's id for one line of text."""
    return json.dumps(str(cell.get("id", f"cell-{at}"))[:64])
