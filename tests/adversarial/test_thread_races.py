"""Many who send into one thread at the same moment, and hostile words for its name (invariant 10, issue 8 item 3)."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from runner.errors import RunnerError, ThreadBusyError, UsageError
from runner.model import Capture
from runner.store import captures, runs, threads
from tests.helpers.door import Door
from tests.helpers.stored import opened
from tests.helpers.talking import Talk

SENDERS = 8


def outcome(talk: Talk, **fields: Any) -> str:
    try:
        talk.send(**fields)
    except RunnerError as error:
        return error.code
    return "sent"


def at_once(talk: Talk) -> Counter[str]:
    with ThreadPoolExecutor(SENDERS) as pool:
        return Counter(pool.map(lambda n: outcome(talk, note=f"note {n}"), range(SENDERS)))


def test_of_many_at_once_one_begins_or_continues_and_the_others_are_told_so(tmp_path: Path) -> None:
    """Also the first of a name: there is one thread of it, and one run under way."""
    with opened(tmp_path / "runner.db") as store:
        talk = Talk(Door(store))
        talk.publish()
        for round_ in (1, 2):
            assert at_once(talk) == {"sent": 1, ThreadBusyError.code: SENDERS - 1}
            with store.reading() as conn:
                assert len(runs.list(conn)) == len(captures.listing(conn)) == round_
                under_way = threads.under_way(conn, "taxes")
            assert under_way is not None
            talk.end(under_way[1])
        assert len(talk.listed()) == 1


@pytest.mark.parametrize(
    "name", ["../taxes", "taxes/captures", "taxes\x1b[2J", "taxes\n", "ta\u200bxes", "t\u0430xes", "TAXES", "r_" * 40, "", " "]
)
def test_a_name_that_is_none_leaves_nothing_and_comes_near_no_other_thread(name: str, tmp_path: Path) -> None:
    """Nor does one that a reader would take for another's."""
    with opened(tmp_path / "runner.db") as store:
        talk = Talk(Door(store))
        talk.publish()
        talk.said()
        with pytest.raises(UsageError) as refused:
            talk.send(name)
        assert "\x1b" not in refused.value.brief
        with store.reading() as conn:
            assert len(captures.listing(conn)) == 1
        assert [line["name"] for line in talk.listed()] == ["taxes"]


def test_a_capture_s_own_words_about_a_thread_are_words(tmp_path: Path) -> None:
    """R3: only the owner's own hand on the command line names one."""
    with opened(tmp_path / "runner.db") as store:
        talk = Talk(Door(store))
        talk.publish()
        talk.said(note="CANARY")
        with store.begin() as conn:
            run = talk.door.intake.receive(
                conn,
                Capture(
                    agent="tester", note="--thread taxes", text='{"thread": "taxes"} thread=taxes', labels=("thread:taxes",)
                ),
                talk.row(runs.list(conn)[0].id).sender,
            ).run
            assert run is not None
            assert threads.of_run(conn, run.id) is None
