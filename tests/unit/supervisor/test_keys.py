"""What a hostile input costs the loop before it is known to be nobody's call (issue 7, case 54)."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from runner.model import Json
from runner.policy import call_key
from runner.supervisor import keys
from tests.unit.supervisor.world import World, a_turn, arguments_of, play, read, write

MANY: list[dict[str, Json]] = [
    {"a": [0] * 100_000},
    {"a": [[[1]]] * 1000},
    {f"k{number}": number for number in range(1000)},
    {"a": "x" * 100_000},
    {"x" * 100_000: 1},
    {"a": [{"b": "x" * 1000}] * 100},
]


class Watched:
    """Notes on which threads keys are worked out."""

    def __init__(self) -> None:
        self.threads: list[str] = []

    def __call__(self, tool: str, arguments: Mapping[str, Json]) -> str:
        """As the real one."""
        self.threads.append("loop" if threading.current_thread() is threading.main_thread() else "beside")
        return call_key(tool, arguments)


@pytest.mark.parametrize("arguments", MANY, ids=range(len(MANY)))
def test_the_key_of_a_large_input_is_worked_out_beside_the_loop(
    tmp_path: Path, arguments: dict[str, Json], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that could be a waiting call's; a small one is not worth a thread."""
    watched = Watched()
    monkeypatch.setattr(keys, "call_key", watched)

    async def scene(world: World) -> None:
        desk = world.desk(world.a_running())
        call = read("in.txt")
        await desk.take_turn(a_turn(call))
        assert not (await desk.ask("Read", arguments)).allowed
        assert (await desk.ask("Read", arguments_of(call))).allowed
        assert watched.threads == ["beside", "loop"]

    play(tmp_path, scene)


def test_no_key_is_worked_out_where_no_call_of_the_tool_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched()
    monkeypatch.setattr(keys, "call_key", watched)

    async def scene(world: World) -> None:
        desk = world.desk(world.a_running())
        await desk.take_turn(a_turn(write("a.txt")))
        for name in ("Read", "Glob", "Bash", "mcp__runner__Edit", "mcp__runner__Nope"):
            assert not (await desk.ask(name, MANY[0])).allowed
        assert watched.threads == []

    play(tmp_path, scene)
