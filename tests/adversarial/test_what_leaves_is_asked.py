"""What leaves the supervisor is shown whole and asked about first, and off a terminal it needs an explicit yes (R26, R27)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.fake_replies import REPLY, REPLY_DIGEST, a_reply
from tests.helpers.fake_service import APPROVAL, FakeService
from tests.helpers.terminal import Terminal, reset, stage
from tests.unit.cli.conftest import spawn

QUESTION = "send this to maria ⟨abcd-efgh-2345-6723⟩? [y/N]"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeService, Path]]:
    with stage(tmp_path_factory) as staged:
        yield staged


@pytest.fixture
def service(shared: tuple[FakeService, Path], monkeypatch: pytest.MonkeyPatch) -> FakeService:
    fake = reset(shared, monkeypatch)
    fake.replies.rows = [a_reply(text="It is a bill.\n" * 30)]
    return fake


def said(service: FakeService, name: str) -> list[object]:
    return [found for what, found in service.asked if what == name]


@pytest.mark.parametrize("keys", [b"\n", b"n\n", b"yy\n", b"\x04"])
def test_a_reply_is_shown_whole_and_anything_but_a_clear_yes_keeps_it_here(keys: bytes, service: FakeService) -> None:
    """R26, V7: what was typed before the question does not count either."""
    with Terminal("reply", "approve", REPLY, before=b"y\ny\n", rows=60) as terminal:
        terminal.wait_for(QUESTION)
        assert terminal.text.count("It is a bill.") == 30
        assert terminal.answer(keys) == 1
        assert f"{REPLY} still waits" in terminal.text
    assert said(service, "reply approve") == []


def test_a_clear_yes_sends_what_was_shown_and_that_is_on_record_first(service: FakeService) -> None:
    """R26, A2: surface, parts and the digest that the yes carries."""
    with Terminal("reply", "approve", REPLY, rows=60) as terminal:
        terminal.wait_for(QUESTION)
        assert terminal.answer(b"y\n") == 0
        assert f"released {REPLY}" in terminal.text
    order = [what for what, _ in service.asked if what in {"reply shown", "reply approve"}]
    assert order == ["reply shown", "reply approve"]
    (shown,) = said(service, "reply shown")
    ref, card, _ = shown  # type: ignore[misc]
    assert (ref, card["surface"], card["digest"], card["parts"]) == (REPLY, "cli", REPLY_DIGEST, 1)


def test_a_reply_longer_than_the_screen_is_read_to_its_end_before_it_can_be_sent(service: FakeService) -> None:
    """R26, V4: leaving at a part decides nothing, and nothing says that it was shown."""
    with Terminal("reply", "approve", REPLY, rows=20) as terminal:
        terminal.wait_for("part 1/")
        assert terminal.answer(b"q\n") == 1
    assert (said(service, "reply shown"), said(service, "reply approve")) == ([], [])


@pytest.mark.parametrize("words", [("reply", "approve", REPLY), ("approve", APPROVAL)])
@pytest.mark.parametrize("more", [(), ("--yes",), ("--digest", REPLY_DIGEST)])
def test_in_a_shell_without_a_terminal_nothing_leaves_without_a_yes_and_a_digest(
    words: tuple[str, ...], more: tuple[str, ...], service: FakeService
) -> None:
    """R27: also where somebody pipes the yes in."""
    done = spawn(*words, *more, input="y\ny\n")
    assert (done.returncode, "--yes" in done.stderr) == (2, True), done.stderr
    assert (said(service, "reply approve"), service.decisions) == ([], [])
