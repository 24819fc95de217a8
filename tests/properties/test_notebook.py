"""For every notebook, layout and edit: what comes out is what the file's own writer would have written (issue 5 item 3)."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.broker.notebook import cell_edited
from runner.broker.values import Impossible, Result

#: Not on one line of ASCII: whether a writer escapes what is beyond it shows only where there is something.
MARK = {"mark": "é"}

words = st.text(alphabet='ab1 \n\r"\\/{}[],:é\u2028\U0001f600\t', max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | words, lambda inner: st.lists(inner, max_size=2), max_leaves=4
)
sources = words | words.map(lambda text: [*text.splitlines(keepends=True)])


@st.composite
def cells(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["code", "markdown", "raw"]))
    cell: dict[str, Any] = {"cell_type": kind}
    if kind == "code":
        cell |= {"execution_count": draw(st.none() | st.integers(0, 99)), "outputs": draw(st.lists(values, max_size=2))}
    return cell | {"metadata": draw(st.dictionaries(words, values, max_size=2)), "source": draw(sources)}


@st.composite
def notebooks(draw: st.DrawFn) -> dict[str, Any]:
    found = draw(st.lists(cells(), max_size=4))
    for number, cell in enumerate(found):
        cell["id"] = f"c{number}"
    rest = {"metadata": draw(st.dictionaries(words, values, max_size=2)) | MARK, "nbformat": 4, "nbformat_minor": 5}
    return {"cells": found, **rest} if draw(st.booleans()) else {**rest, "cells": found}


@st.composite
def writers(draw: st.DrawFn) -> Any:
    """Ways to write a notebook: Jupyter's own, other indentations, one line, escaped, with CRLF, with a byte order mark."""
    indent = draw(st.sampled_from([1, 2, 4, "\t", None]))
    separators = draw(st.sampled_from([(",", ": "), (",", ":")] if indent else [(", ", ": "), (",", ":")]))
    escaped, end = draw(st.booleans()), draw(st.sampled_from(["", "\n", "\r\n"]))
    mark = draw(st.sampled_from(["", "\ufeff"]))

    def write(value: Any) -> bytes:
        text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=escaped) + "\n"
        text = text.removesuffix("\n") + end
        return (mark + (text.replace("\n", "\r\n") if end == "\r\n" else text).replace("\r\r", "\r")).encode()

    return write


def source_like(like: Any, text: str) -> Any:
    """A list of lines where the old one is a list."""
    if isinstance(like, str):
        return text
    lines = text.split("\n")
    return [*[line + "\n" for line in lines[:-1]], *([lines[-1]] if lines[-1] else [])]


def replaced(notebook: dict[str, Any], at: int, source: str) -> dict[str, Any]:
    """What a plain program makes of it."""
    found = json.loads(json.dumps(notebook))
    cell = found["cells"][at]
    cell["source"] = source_like(cell["source"], source)
    if cell["cell_type"] == "code":
        cell["execution_count"], cell["outputs"] = None, []
    return dict(found)


@given(notebooks(), writers(), words, st.data())
@settings(max_examples=300, deadline=None)
def test_a_replaced_cell_is_the_only_thing_that_changes(notebook, write, source, data):
    if not notebook["cells"]:
        return
    at = data.draw(st.integers(0, len(notebook["cells"]) - 1))
    old = notebook["cells"][at]["source"]
    result = cell_edited({"cell_id": f"c{at}", "new_source": source}, write(notebook))
    if (old if isinstance(old, str) else "".join(old)) == source:
        assert isinstance(result, Impossible)
    else:
        assert result == Result(data=write(replaced(notebook, at, source)), did=f'cell "c{at}" replaced')


@given(notebooks(), writers(), st.data())
@settings(max_examples=300, deadline=None)
def test_a_deleted_cell_is_the_only_thing_that_goes(notebook, write, data):
    if not notebook["cells"]:
        return
    at = data.draw(st.integers(0, len(notebook["cells"]) - 1))
    after = {**notebook, "cells": [cell for n, cell in enumerate(notebook["cells"]) if n != at]}
    result = cell_edited({"cell_id": f"c{at}", "new_source": "", "edit_mode": "delete"}, write(notebook))
    assert result == Result(data=write(after), did=f'cell "c{at}" deleted')


@given(notebooks(), writers(), words, st.sampled_from(["code", "markdown"]), st.data())
@settings(max_examples=300, deadline=None)
def test_an_inserted_cell_is_the_only_thing_that_comes(notebook, write, source, kind, data):
    at = data.draw(st.integers(-1, len(notebook["cells"]) - 1))
    asked = {"new_source": source, "cell_type": kind, "edit_mode": "insert"} | ({"cell_id": f"c{at}"} if at >= 0 else {})
    result = cell_edited(asked, write(notebook))
    assert isinstance(result, Result)
    made = json.loads(result.data.decode().removeprefix("\ufeff"))["cells"][at + 1]
    like = notebook["cells"][max(at, 0)]["source"] if notebook["cells"] else []
    fresh: dict[str, Any] = {"cell_type": kind, "id": made["id"], "metadata": {}, "source": source_like(like, source)}
    if kind == "code":
        fresh |= {"execution_count": None, "outputs": []}
    after = {**notebook, "cells": [*notebook["cells"]]}
    after["cells"].insert(at + 1, dict(sorted(fresh.items())))
    assert result.data == write(after)
    assert result == cell_edited(asked, write(notebook))
    assert made["id"] not in {cell["id"] for cell in notebook["cells"]}


@given(
    st.binary(max_size=40) | words.map(str.encode),
    st.dictionaries(st.sampled_from(["cell_id", "cell_type", "edit_mode"]), words),
)
@settings(max_examples=300)
def test_anything_else_is_refused_and_never_an_error(data, more):
    assert isinstance(cell_edited({"new_source": "x", **more}, data), Impossible)
