"""What a hostile input costs the loop before it is known to be nobody's call (issue 7, case 54)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from runner.errors import AgentProtocolError
from runner.model import Json
from runner.policy import call_key
from runner.store import transcript
from runner.supervisor import keys, ledger
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


@pytest.mark.parametrize(("padding", "where"), [(10, "loop"), (100_000, "beside")])
def test_a_long_transcript_line_is_searched_for_a_turns_calls_beside_the_loop(
    padding: int, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """256 calls in a line of 12 MiB: three and a half seconds in which no other run would get its turn."""
    threads: list[str] = []

    def named(lines: Sequence[str], wire_ids: frozenset[str]) -> frozenset[str]:
        threads.append("loop" if threading.current_thread() is threading.main_thread() else "beside")
        return searched(lines, wire_ids)

    searched = keys._named_in
    monkeypatch.setattr(keys, "_named_in", named)
    lines = ['{"id": "toolu_1"}', f'{{"text": "{"x" * padding}"}}']
    found = asyncio.run(keys.named_in(lines, frozenset({"toolu_1", "toolu_2"})))
    assert (found, threads) == (frozenset({"toolu_1"}), [where])


def test_a_transcript_has_an_end_whichever_of_its_runs_containers_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A3, L7: what a container mirrors fills the database, and is in memory when its run is resumed."""
    monkeypatch.setattr(ledger, "MAX_TRANSCRIPT", 100)

    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).mirror(["x" * 40])
        later = world.desk(row)
        await later.mirror(["x" * 40, "y" * 20])
        with pytest.raises(AgentProtocolError, match="transcript"):
            await later.mirror(["z"])
        with world.store.reading() as conn:
            assert [len(line.entry) for line in transcript.read(conn, row.id)] == [40, 40, 20]

    play(tmp_path, scene)
