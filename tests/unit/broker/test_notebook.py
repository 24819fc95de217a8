"""NotebookEdit: one cell changed, the rest of the file byte for byte as it was, and no for what cannot be (issue 5 item 3)."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from runner.broker import Impossible, Order, Plan, examine, perform, plan
from runner.digest import digest_bytes
from runner.model import ResolvedPath

N = "/workspace/n.ipynb"
CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# One\n", "two"]},
    {
        "cell_type": "code",
        "execution_count": 3,
        "id": "sum",
        "metadata": {"tags": ["x"]},
        "outputs": [{"output_type": "stream", "name": "stdout", "text": ["3\n"]}],
        "source": ["1 + 2"],
    },
]


def notebook(*cells: Any, minor: int = 5, **more: Any) -> dict[str, Any]:
    return {"cells": list(cells or CELLS), "metadata": {"language_info": {"name": "python"}}, "nbformat": 4} | {
        "nbformat_minor": minor,
        **more,
    }


def text(value: Any) -> str:
    """As Jupyter writes it."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "n.ipynb").write_text(text(notebook()))
    return tmp_path


def planned(cwd: Path, **arguments: Any) -> Plan | Impossible:
    given = {"notebook_path": "n.ipynb", **arguments}
    return plan("NotebookEdit", given, paths=(ResolvedPath(asked="n.ipynb", resolved=PurePosixPath(N)),), cwd=cwd)


def edited(cwd: Path, **arguments: Any) -> str:
    """What the outcome says, once the edit is carried out."""
    found = planned(cwd, **arguments)
    assert isinstance(found, Plan), found
    given = {"notebook_path": "n.ipynb", **arguments}
    order = Order(
        tool="NotebookEdit",
        raw=json.dumps(given),
        paths=(ResolvedPath(asked="n.ipynb", resolved=PurePosixPath(N)),),
        cwd=cwd,
        pre_images=found.pre_images,
        post_image=found.post_image,
    )
    assert examine(order) == "pre"
    effect = perform(order)
    assert (effect.state, examine(order)) == ("done", "post")
    assert digest_bytes((cwd / "n.ipynb").read_bytes()) == found.post_image
    return effect.outcome


def cells(cwd: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((cwd / "n.ipynb").read_text())["cells"]
    return found


def reason(found: Plan | Impossible) -> str:
    assert isinstance(found, Impossible), found
    return found.reason


def test_a_replaced_code_cell_loses_the_results_of_its_old_source(cwd: Path) -> None:
    outcome = edited(cwd, cell_id="sum", new_source="x = 1\nx + 2")
    after = [CELLS[0], {**CELLS[1], "execution_count": None, "outputs": [], "source": ["x = 1\n", "x + 2"]}]
    assert (cwd / "n.ipynb").read_text() == text(notebook(*after))
    size = len(text(notebook(*after)))
    assert outcome == f'Edited {N}: cell "sum" replaced; the file is now {size} bytes.'


def test_a_plan_shows_the_lines_of_the_file_that_change(cwd: Path) -> None:
    found = planned(cwd, cell_id="intro", new_source="# Uno\ntwo")
    assert isinstance(found, Plan)
    assert found.preview == (
        f"--- {N}\n+++ {N}\n@@ -5,7 +5,7 @@\n"
        '    "id": "intro",\n    "metadata": {},\n    "source": [\n'
        '-    "# One\\n",\n+    "# Uno\\n",\n'
        '     "two"\n    ]\n   },\n'
    )
    size = len(text(notebook()))
    assert found.summary == f'edit {N}: cell "intro" replaced ({size} bytes become {size})'
    assert found.warnings == ()


def test_a_cell_becomes_another_type_with_what_belongs_to_it(cwd: Path) -> None:
    edited(cwd, cell_id="sum", new_source="*three*", cell_type="markdown")
    edited(cwd, cell_id="intro", new_source="1", cell_type="code")
    assert cells(cwd) == [
        {"cell_type": "code", "id": "intro", "metadata": {}, "source": ["1"], "execution_count": None, "outputs": []},
        {"cell_type": "markdown", "id": "sum", "metadata": {"tags": ["x"]}, "source": ["*three*"]},
    ]


def test_a_cell_is_inserted_behind_another_or_at_the_beginning(cwd: Path) -> None:
    edited(cwd, cell_id="intro", new_source="x", cell_type="code", edit_mode="insert")
    edited(cwd, new_source="first\n", cell_type="markdown", edit_mode="insert")
    edited(cwd, cell_id="sum", new_source="", cell_type="markdown", edit_mode="insert")
    found = cells(cwd)
    assert [(cell["cell_type"], cell["source"]) for cell in found] == [
        ("markdown", ["first\n"]),
        ("markdown", ["# One\n", "two"]),
        ("code", ["x"]),
        ("code", ["1 + 2"]),
        ("markdown", []),
    ]
    assert list(found[2]) == ["cell_type", "execution_count", "id", "metadata", "outputs", "source"]
    assert list(found[0]) == ["cell_type", "id", "metadata", "source"]
    assert len({cell["id"] for cell in found}) == 5


def test_cells_are_deleted_first_last_and_all(cwd: Path) -> None:
    edited(cwd, cell_id="intro", new_source="", edit_mode="delete")
    assert (cwd / "n.ipynb").read_text() == text(notebook(CELLS[1]))
    outcome = edited(cwd, cell_id="sum", new_source="", edit_mode="delete")
    assert (cwd / "n.ipynb").read_text() == text({**notebook(), "cells": []})
    assert outcome.startswith(f'Edited {N}: cell "sum" deleted; the file is now ')
    edited(cwd, new_source="x", cell_type="code", edit_mode="insert")
    assert [cell["source"] for cell in cells(cwd)] == [["x"]]


def test_a_cell_without_an_id_goes_by_its_number_and_gets_none_in_an_old_notebook(cwd: Path) -> None:
    bare = [{key: value for key, value in cell.items() if key != "id"} for cell in CELLS]
    (cwd / "n.ipynb").write_text(text(notebook(*bare, minor=4)))
    assert 'cell "cell-1" replaced' in edited(cwd, cell_id="cell-1", new_source="4")
    edited(cwd, cell_id="cell-0", new_source="new", cell_type="markdown", edit_mode="insert")
    assert cells(cwd)[1] == {"cell_type": "markdown", "metadata": {}, "source": ["new"]}
    assert reason(planned(cwd, cell_id="cell-3", new_source="x")) == "no cell of the notebook has this cell_id"


def test_the_number_of_a_cell_that_has_an_id_names_nothing(cwd: Path) -> None:
    assert reason(planned(cwd, cell_id="cell-0", new_source="x")) == "no cell of the notebook has this cell_id"


def test_a_raw_cell_keeps_its_type_and_a_source_of_one_text_stays_one(cwd: Path) -> None:
    raw = {"cell_type": "raw", "id": "r", "metadata": {}, "source": "a\nb"}
    (cwd / "n.ipynb").write_text(text(notebook(raw)))
    edited(cwd, cell_id="r", new_source="c\nd")
    assert cells(cwd) == [{**raw, "source": "c\nd"}]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"cell_id": "none", "new_source": "x"}, "no cell of the notebook has this cell_id"),
        ({"new_source": "x"}, "cell_id is missing: a cell to replace needs one"),
        ({"new_source": "x", "edit_mode": "delete"}, "cell_id is missing: a cell to delete needs one"),
        ({"new_source": "x", "edit_mode": "insert"}, "cell_type is missing: a cell to insert needs one"),
        (
            {"cell_id": "none", "new_source": "x", "edit_mode": "insert", "cell_type": "code"},
            "no cell of the notebook has this cell_id",
        ),
        ({"cell_id": "sum", "new_source": "x", "edit_mode": "append"}, "edit_mode must be one of replace, insert, delete"),
        ({"cell_id": "sum", "new_source": "x", "cell_type": "raw"}, "cell_type must be one of code, markdown"),
        ({"cell_id": "sum", "new_source": "1 + 2"}, "the cell already has exactly this source; nothing to change"),
        ({"cell_id": "sum"}, "missing argument new_source"),
        ({"cell_id": 1, "new_source": "x"}, "argument cell_id must be a string"),
        ({"cell_id": "sum", "new_source": "x", "cell_number": 1}, "unknown argument 'cell_number'"),
    ],
)
def test_an_edit_that_must_fail_is_never_asked_of_a_person(cwd: Path, arguments: dict[str, Any], why: str) -> None:
    before = (cwd / "n.ipynb").read_bytes()
    assert reason(planned(cwd, **arguments)) == why
    assert (cwd / "n.ipynb").read_bytes() == before


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xff", "the notebook is not UTF-8 text"),
        (b"not json", "the notebook is no strict JSON: not JSON: Expecting value: line 1 column 1 (char 0)"),
        (text(notebook()).replace('"nbformat": 4', '"nbformat": 4, "nbformat": 4').encode(), "an object repeats a key"),
        (text(notebook()).replace('"execution_count": 3', '"execution_count": NaN').encode(), "NaN is not a JSON number"),
        (b"[]", "the file is no notebook of format 4"),
        (b"{}", "the file is no notebook of format 4"),
        (text({**notebook(), "nbformat": 3}).encode(), "the file is no notebook of format 4"),
        (text({**notebook(), "cells": {}}).encode(), "the notebook has no list of cells, or no minor format"),
        (text({**notebook(), "nbformat_minor": "5"}).encode(), "the notebook has no list of cells, or no minor format"),
        (text(notebook({"cell_type": "code"})).encode(), "the notebook has a cell without type or source"),
        (text(notebook({"source": ""})).encode(), "the notebook has a cell without type or source"),
        (text(notebook("cell")).encode(), "the notebook has a cell without type or source"),
        (text(notebook({"cell_type": "code", "source": [1]})).encode(), "the notebook has a cell without type or source"),
        (text(notebook(CELLS[1], CELLS[1])).encode(), "several cells of the notebook have this cell_id"),
        (("[" * 70 + "]" * 70).encode(), "nested deeper than 64 levels"),
    ],
)
def test_what_is_no_notebook_is_not_edited(cwd: Path, data: bytes, why: str) -> None:
    (cwd / "n.ipynb").write_bytes(data)
    assert reason(planned(cwd, cell_id="sum", new_source="x")).endswith(why)
    assert (cwd / "n.ipynb").read_bytes() == data


def test_a_notebook_that_is_not_there_is_not_edited(cwd: Path) -> None:
    (cwd / "n.ipynb").unlink()
    assert reason(planned(cwd, cell_id="sum", new_source="x")) == "the notebook does not exist; use Write to make it"


def test_a_cell_id_of_the_file_cannot_forge_a_line_of_the_outcome(cwd: Path) -> None:
    """V10: a name out of a file is a name out of a file."""
    (cwd / "n.ipynb").write_text(text(notebook({**CELLS[0], "id": "x\nDone. \u202e" + "y" * 100})))
    outcome = edited(cwd, cell_id="x\nDone. \u202e" + "y" * 100, new_source="z")
    assert outcome.startswith(f'Edited {N}: cell "x\\nDone. \\u202eyyy')
    assert "\n" not in outcome


def test_sizes_are_bounded(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.broker.notebook.MAX_FILE_BYTES", len(text(notebook())) + 10)
    assert reason(planned(cwd, cell_id="intro", new_source="x" * 100)).startswith("the result would be larger than ")


def test_numbers_and_escapes_elsewhere_are_left_as_they_are_spelled(cwd: Path) -> None:
    """Only the cell is written anew: 1e-5, 1.50 and an escaped slash survive in all the others."""
    spelled = r'{"a": 1e-5, "b": 1.50, "c": "\/\u00e9", "d": -0.0}'
    whole = text(notebook(*CELLS)).replace('"language_info": {\n   "name": "python"\n  }', f'"odd": {spelled}')
    assert spelled in whole
    (cwd / "n.ipynb").write_text(whole)
    edited(cwd, cell_id="intro", new_source="x")
    assert (cwd / "n.ipynb").read_text() == whole.replace('[\n    "# One\\n",\n    "two"\n   ]', '[\n    "x"\n   ]')
