"""Who may import whom, and what the pure rooms must not touch (design.md §4)."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, calls, files, imports_of, name, syntax, words

#: Rooms that decide, parse or word things: no I/O, no clock, no chance.
PURE = ("policy", "fence", "paths", "digest", "lifecycle", "transcript", "model", "errors")
WORLD = words(
    "os io sys socket ssl subprocess asyncio anyio threading multiprocessing concurrent selectors signal fcntl pwd resource "
    "time random secrets uuid tempfile shutil glob logging urllib http httpx2 psutil docker sqlite3 sqlalchemy dbos "
    "claude_agent_sdk starlette uvicorn"
)
#: A screen's words depend on nothing but what is to be shown; its terminal is handed in.
WORLD_OF_RENDER = words(
    "socket ssl subprocess asyncio anyio threading multiprocessing random secrets uuid tempfile urllib http httpx2 psutil "
    "docker sqlite3 sqlalchemy dbos claude_agent_sdk"
)
TOUCHES = words(
    "open read_text read_bytes write_text write_bytes exists is_file is_dir is_symlink stat lstat iterdir rglob resolve "
    "mkdir unlink rename touch cwd home now today utcnow monotonic"
)


def room(path: Path) -> str:
    return path.relative_to(ROOT / "runner").parts[0].removesuffix(".py")


def touches(tree: ast.Module) -> list[str]:
    """Calls that reach a disk or a clock: `open`, and the methods of paths and clocks."""
    found = ((line, what, what.rpartition(".")) for line, what in calls(tree))
    return [f"{line}: {what}" for line, what, (_, dot, last) in found if what == "open" or (dot and last in TOUCHES)]


def contracts(folder: Path) -> dict[str, str]:
    """What import-linter says of each contract in a clone."""
    tool = Path(sys.executable).with_name("lint-imports")
    ended = subprocess.run([tool, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False)
    found = re.findall(r"^(.+?) (KEPT|BROKEN)\b", ended.stdout, re.MULTILINE)
    assert found, ended.stdout + ended.stderr
    return dict(found)


def test_every_import_contract_is_kept() -> None:
    """Layers, and `docker`, `claude_agent_sdk`, `dbos`, `apprise`, keys, signatures and SQL each in their one room."""
    found = contracts(ROOT)
    assert len(found) == 8
    assert found == dict.fromkeys(found, "KEPT")


def test_pure_rooms_import_nothing_that_touches_the_world() -> None:
    found = {name(path): bad for path in files("runner") if room(path) in PURE and (bad := imports_of(syntax(path), WORLD))}
    assert found == {}


def test_pure_rooms_call_nothing_that_reads_a_disk_or_a_clock() -> None:
    found = {name(path): bad for path in files("runner") if room(path) in PURE and (bad := touches(syntax(path)))}
    assert found == {}


def test_render_opens_no_door_and_reads_no_clock() -> None:
    clocks = {"time.time", "time.monotonic", "datetime.now", "datetime.datetime.now"}
    found = {
        name(path): bad
        for path in files("runner")
        if room(path) == "render"
        and (bad := imports_of(syntax(path), WORLD_OF_RENDER) + [what for _, what in calls(syntax(path)) if what in clocks])
    }
    assert found == {}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os.path", ["1: os.path"]),
        ("from os import environ", ["1: os", "1: os.environ"]),
        ("def f():\n    import time as t", ["2: time"]),
        ("from runner.model import Path", []),
    ],
)
def test_an_import_of_the_world_is_caught_wherever_it_stands(source: str, expected: list[str]) -> None:
    assert imports_of(ast.parse(source), WORLD) == expected


@pytest.mark.parametrize("source", ["open('x')", "Path('x').read_text()", "datetime.now(tz=UTC)", "p.resolve()"])
def test_a_call_that_reads_the_world_is_caught(source: str) -> None:
    assert len(touches(ast.parse(source))) == 1


def test_a_planted_breach_of_each_contract_is_caught(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "runner", tmp_path / "runner", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "runner/errors.py").open("a") as file:
        file.write(
            "\nimport docker\nimport claude_agent_sdk\nimport dbos\nimport apprise\nimport sqlalchemy\nimport runner.digest\n"
        )
        file.write("import cryptography\n")
    with (tmp_path / "runner/agent/outcomes.py").open("a") as file:
        file.write("\nimport runner.broker\n")
    assert contracts(tmp_path) == dict.fromkeys(contracts(ROOT), "BROKEN")


def test_every_folder_of_the_package_is_seen_by_the_contracts() -> None:
    """A folder without `__init__.py` imports fine, and import-linter looks past it."""
    folders = {path.parent for path in files("runner")}
    assert {name(folder) for folder in folders if not (folder / "__init__.py").exists()} == set()


def test_no_door_within_the_containers_reach_leads_to_an_effect() -> None:
    """Invariant 13: the agent's handlers and the gateway cannot call the broker, not even through a third room."""
    assert contracts(ROOT)["What the container can reach cannot reach the broker"] == "KEPT"


def test_a_room_that_nobody_placed_is_caught(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "runner", tmp_path / "runner", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "runner/helpers.py").touch()
    expected = {contract: "BROKEN" if contract.startswith("Rooms") else "KEPT" for contract in contracts(ROOT)}
    assert contracts(tmp_path) == expected
