"""replies, reply and forward on the command line (R19-R21, O1, S4)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.helpers.fake_replies import REPLY, REPLY_DIGEST, a_reply
from tests.helpers.fake_service import FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


@pytest.fixture
def waiting(service: FakeService) -> FakeService:
    link = {"form": "image", "host": "xn--pple-43d.com", "target": "https://\u0430pple.com/?d=1", "fetched_when_shown": True}
    service.replies.rows = [
        a_reply(text="See \x1b[2J![](https://\u0430pple.com/?d=1)", reveals={"links": [link]}, warnings=["it holds a secret"])
    ]
    return service


def test_a_reply_is_listed_with_the_command_that_goes_on(run: Run, waiting: FakeService) -> None:
    """R19."""
    out = run("replies").out
    assert REPLY in out
    assert "runner reply approve ID" in out
    assert run("replies", "--json").json["replies"][0]["digest"] == REPLY_DIGEST
    assert waiting.asked[-1] == ("replies", None)


def test_a_review_shows_the_whole_text_inert_and_where_it_leads(run: Run, waiting: FakeService) -> None:
    """R21, O1: the host in ASCII, what would be fetched, and no byte that acts."""
    out = run("reply", "show", REPLY[:9]).out
    assert "maria" in out
    assert "leads to xn--pple-43d.com (image, fetched by whatever shows it)" in out
    assert "warning: it holds a secret" in out
    assert "│ See \\u{1b}[2J" in out
    assert "\x1b" not in out
    assert "leads to more places" not in out
    waiting.replies.rows[0]["reveals"] = {"links": [], "more": True}
    assert "leads to more places than are named here" in run("reply", "show", REPLY).out


def test_off_a_terminal_nothing_is_released_without_a_yes_and_the_digest(run: Run, waiting: FakeService) -> None:
    """R27, B4."""
    codes = [
        run("reply", "approve", REPLY, *words).code
        for words in ((), ("--yes",), ("--digest", REPLY_DIGEST), ("--yes", "--digest", "sha256:" + "0" * 64))
    ]
    assert codes == [2, 2, 2, 6]
    assert waiting.replies.rows[0]["state"] == "held"
    assert run("reply", "approve", REPLY, "--yes", "--digest", REPLY_DIGEST).code == 0
    assert waiting.replies.rows[0]["state"] == "released"


def test_a_denied_reply_is_kept_back_with_the_reason(run: Run, waiting: FakeService) -> None:
    assert run("reply", "deny", REPLY, "--reason", "a name in it").code == 0
    assert waiting.asked[-1] == ("reply deny", (REPLY, "a name in it"))
    assert run("reply", "show", "p_zzzzzz").code == 3


def test_todo_names_what_waits_for_review(run: Run, waiting: FakeService) -> None:
    items = run("todo", "--json").json["items"]
    assert [item["command"] for item in items if item["kind"] == "reply"] == [f"runner reply approve {REPLY}"]


def test_forward_says_what_became_of_it_and_by_whose_hands(run: Run, service: FakeService) -> None:
    """S4."""
    out = run("forward", "c_0123456789", "--to", "scribe", "--note", "sum it up").out
    assert "run r_0123456789abcdef" in out
    assert "you" in out
    assert service.asked[-1] == ("forward", ("c_0123456789", "scribe", "sum it up"))
    assert run("forward", "c_0123456789").code == 2
