"""What a capture hid goes on its run's record and to whoever decides about its calls (U4, F14)."""

from __future__ import annotations

import json
from pathlib import Path

from runner.captures import to_json
from runner.model import OWNER, Capture, CaptureId
from runner.store import CaptureRow, RunRow, audit, captures
from runner.supervisor import concealed, queries
from runner.supervisor.views import run_view
from tests.helpers.stored import fresh
from tests.unit.supervisor.world import NOW, World, a_turn, play, write

OBEY = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
HIDING = Capture(agent="scribe", note="Read", text=f"a{OBEY}\u202e", labels=("\u200b",))
CAPTURE = CaptureId(fresh("c"))
TOLD = [
    {"field": "label 1", "counts": {"zero_width": 1}, "spelled": ""},
    {"field": "text", "counts": {"tag": 4, "bidi": 1}, "spelled": "obey"},
]


def a_run_of(world: World, capture: Capture) -> RunRow:
    """A running run of a stored capture, as the intake leaves it."""
    with world.store.begin() as conn:
        text = json.dumps(to_json(capture))
        captures.insert(conn, CaptureRow(id=CAPTURE, agent="scribe", sender=OWNER, text=text, created=NOW))
    row = world.a_running(capture=CAPTURE)
    with world.store.begin() as conn:
        concealed.record(conn, row.id, capture, now=NOW)
    return row


def test_counts_of_each_field_are_on_the_runs_record_and_no_text_is(tmp_path: Path) -> None:
    """U4, A5."""

    async def scene(world: World) -> None:
        run = a_run_of(world, HIDING)
        with world.store.reading() as conn:
            (row,) = [one for one in audit.of_subject(conn, run.id) if one.event == concealed.EVENT]
        assert json.loads(row.data) == {"hidden": {"label 1": {"zero_width": 1}, "text": {"tag": 4, "bidi": 1}}}

    play(tmp_path, scene)


def test_a_plain_capture_puts_nothing_on_record(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        run = a_run_of(world, Capture(agent="scribe", note="Read", text="plain"))
        with world.store.reading() as conn:
            assert [one for one in audit.of_subject(conn, run.id) if one.event == concealed.EVENT] == []
            assert queries.run_facts(conn, run.id).hidden == []

    play(tmp_path, scene)


def test_the_approver_the_runs_page_and_the_captures_tell_what_was_hidden(tmp_path: Path) -> None:
    """F14, U4: worked out from the stored capture when somebody looks."""

    async def scene(world: World) -> None:
        run = a_run_of(world, HIDING)
        await world.desk(run).take_turn(a_turn(write("a.txt")))
        (approval,) = world.approvals(run.id)
        with world.store.reading() as conn:
            assert queries.whole_approval(conn, approval.id)["hidden"] == TOLD
            assert run_view(queries.run_facts(conn, run.id), None)["hidden"] == TOLD
            assert queries.whole_capture(conn, CAPTURE)["hidden"] == TOLD

    play(tmp_path, scene)
