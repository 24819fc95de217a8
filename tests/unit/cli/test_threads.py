"""send --thread, threads, and what of a thread is shown with a run and on a card."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.api.routes import ROUTES
from runner.model import Capture
from tests.helpers.fake_service import CAPTURE, RUN, FakeService
from tests.helpers.fake_threads import TAINT, THREAD
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]
BEFORE = "r_0123456789abcdef"


def test_a_capture_goes_into_the_thread_and_what_comes_along_is_said(run: Run, service: FakeService) -> None:
    """Issue 8 item 3: taint comes along and is shown."""
    ran = run("send", "scribe", "--note", "go on", "--thread", "taxes")
    assert service.asked == [("thread", ("taxes", Capture(agent="scribe", note="go on")))]
    assert (ran.code, ran.err) == (0, "")
    assert f"continues {BEFORE}; from outside came along: text of capture c_0" in ran.out
    told = run("send", "scribe", "--note", "go on", "--thread", "taxes", "--json")
    assert told.json["thread"] == {"name": "taxes", "continues": BEFORE, "taint": [TAINT]}


def test_who_waits_is_told_of_the_thread_in_words_that_need_no_escape(run: Run, service: FakeService) -> None:
    service.run_row |= {"state": "replied", "reply": "done"}
    ran = run("send", "scribe", "--note", "go on", "--thread", "taxes", "--wait")
    assert f"\n         thread taxes, continues {BEFORE}; from outside" in ran.err


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--as", "maria"), "--as goes with no --thread"),
        (("--to", "https://example.org", "--key", "k"), "--to goes with none of --as, --thread"),
        (("--as", "maria", "--json"), "--as goes with no --thread"),
    ],
)
def test_a_thread_is_the_owner_s_and_this_supervisor_s(
    more: tuple[str, ...], says: str, run: Run, service: FakeService
) -> None:
    """Invariant 10."""
    ran = run("send", "scribe", "--note", "x", "--thread", "taxes", *more)
    assert (ran.code, service.asked) == (2, [])
    assert says in ran.err


def test_a_capture_names_no_thread_of_its_own(run: Run, service: FakeService, tmp_path: Path) -> None:
    """A capture file, and what a contact sends, has no such field: unknown ones are refused."""
    (tmp_path / "c.json").write_text(json.dumps({"agent": "scribe", "note": "x", "thread": "taxes"}))
    ran = run("send", "--capture", str(tmp_path / "c.json"))
    assert (ran.code, service.asked) == (2, [])


def test_threads_are_listed_with_what_is_in_them_and_which_are_over(run: Run, service: FakeService) -> None:
    service.threads.rows = [THREAD, {**THREAD, "name": "old", "taint": [], "over": "its profile changed"}]
    assert run("threads", "--json").json == {"threads": service.threads.rows}
    lines = run("threads").out.splitlines()
    assert "taxes" in lines[1]
    assert "tainted, so strict" in lines[1]
    assert "its profile changed" in lines[2]
    assert "tainted" not in lines[2]
    service.threads.rows = [{**THREAD, "runs": 0, "state": None, "last": None, "taint": []}]
    assert "no run yet" in run("threads").out
    service.threads.rows = []
    assert "begins one" in run("threads").out


def test_a_hostile_name_is_shown_as_what_it_is(run: Run, service: FakeService) -> None:
    """V2: a database that was tampered with does not speak to the terminal."""
    hostile = "x\x1b]0;owned\x07\u202eevil\n\x1b[2J"
    service.threads.rows = [{**THREAD, "name": hostile, "agent": hostile, "over": hostile}]
    service.run_row |= {"thread": {"name": hostile, "continues": hostile, "taint": [{"says": hostile}]}}
    for shown in (run("threads").out, run("run", "show", RUN).out):
        assert not set(shown) & {"\x1b", "\x07", "\u202e"}
        assert "evil" in shown


def test_a_run_and_a_card_name_the_thread_and_what_came_from_outside(run: Run, service: FakeService) -> None:
    thread = {"name": "taxes", "continues": BEFORE, "taint": [TAINT]}
    service.run_row |= {"thread": thread, "taint": [TAINT]}
    service.approval_row |= {"thread": thread, "taint": [TAINT]}
    shown = run("run", "show", RUN).out
    assert f"thread taxes, continues {BEFORE}; from outside came along: text of capture c_0" in shown
    assert "from outside: text of capture c_0" in shown
    card = run("show", str(service.approval_row["id"])).out
    assert f"taxes, continues {BEFORE}; from outside came along" in card
    service.run_row |= {"thread": {**thread, "continues": None, "taint": []}}
    assert "thread taxes, which begins here" in run("run", "show", RUN).out
    service.run_row |= {"thread": {**thread, "taint": []}}
    assert "nothing from outside came along" in run("run", "show", RUN).out


def test_only_the_operator_sends_into_a_thread() -> None:
    """W2: a route of its own, and none of the contacts' or the network's leads there."""
    (route,) = [one for one in ROUTES if one.path == "/v1/threads/{ref}/captures"]
    assert (route.method, route.access.name) == ("POST", "OPERATE")
    assert CAPTURE.startswith("c_")
