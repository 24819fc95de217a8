"""What an attempt's gateway noticed goes on record, bounded, and `run show` says it (issue 7 point 3)."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path

from runner.gateway import SOCKET_NAME
from runner.lifecycle import RunState
from runner.model import Attempt, JsonObject
from runner.render.door import what_was_noticed
from runner.store import audit
from runner.supervisor.doorkeeper import Doorkeeper, noticed
from runner.supervisor.queries import run_facts
from runner.supervisor.views import run_view
from tests.unit.supervisor.conducting import Stage
from tests.unit.supervisor.world import World, play


def rows(world: World, run: str) -> list[tuple[str, JsonObject]]:
    with world.store.reading() as conn:
        found = [(row.event, json.loads(row.data)) for row in audit.of_subject(conn, run)]
    return [(event, data) for event, data in found if event.startswith("gateway.")]


def door_of(folder: Path) -> Path:
    """The one gateway's socket beneath a folder."""
    (door,) = folder.rglob(SOCKET_NAME)
    return door


def knock(path: Path) -> None:
    """Connect as whoever runs this test; who is refused is hung up on."""
    with socket.socket(socket.AF_UNIX) as knocking:
        folder = os.open(path.parent, os.O_PATH)  # the whole path is too long for an address
        try:
            knocking.connect(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)
        knocking.settimeout(20)
        try:
            assert knocking.recv(1) == b""
        except ConnectionError:
            return


def test_the_first_stranger_is_on_record_at_once_and_their_number_at_the_end(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        stage = Stage(world)
        row = world.a_run()
        stage.conduct(row)
        await stage.reaches(row, RunState.RUNNING)
        door = door_of(tmp_path)
        for _ in range(3):
            await asyncio.to_thread(knock, door)
        which = {"segment": row.segment, "attempt": row.attempt}
        first = ("gateway.stranger", {**which, "pid": os.getpid(), "uid": os.getuid()})
        while not rows(world, row.id):  # noqa: ASYNC110 - nobody is told when it is written
            await asyncio.sleep(0.01)
        assert rows(world, row.id) == [first]
        await stage.drain.finish()
        assert rows(world, row.id) == [first, ("gateway.strangers", {**which, "count": 3})]
        with world.store.reading() as conn:
            shown = run_view(run_facts(conn, row.id), None)
        assert list(what_was_noticed(shown)) == [
            f"a process outside its container knocked at its gateway 3 times and was not heard "
            f"(first: pid {os.getpid()}, uid {os.getuid()})"
        ]

    play(tmp_path, scene)


def test_where_nothing_was_noticed_nothing_is_said(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_run()
        keeper = Doorkeeper(store=world.store, attempt=Attempt(row.id, 0, 0), clock=world.clock)
        await keeper.close()
        with world.store.reading() as conn:
            shown = run_view(run_facts(conn, row.id), None)
        assert (rows(world, row.id), list(what_was_noticed(shown)), list(what_was_noticed({}))) == ([], [], [])

    play(tmp_path, scene)


def test_a_lie_is_on_record_with_what_was_told(tmp_path: Path) -> None:
    """Of several attempts the strangers are added up."""

    async def scene(world: World) -> None:
        row = world.a_run()
        for number in range(2):
            keeper = Doorkeeper(store=world.store, attempt=Attempt(row.id, 0, number), clock=world.clock)
            keeper.stranger(7, 1000)
            if number == 0:
                keeper.lie("it tells an earlier turn otherwise than it was")
            await keeper.close(doubt="it reports an outcome" if number else None)
        with world.store.reading() as conn:
            found = noticed(audit.of_subject(conn, row.id))
        lie = "it tells an earlier turn otherwise than it was"
        assert found == {"strangers": 2, "first": {"pid": 7, "uid": 1000}, "found": [lie, "it reports an outcome"]}
        assert [event for event, _ in rows(world, row.id)] == ["gateway.stranger", "gateway.mismatch"] * 2
        assert f"its container told the model what is not so: {lie}" in list(what_was_noticed({"gateway": found}))

    play(tmp_path, scene)
