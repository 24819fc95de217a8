"""Nothing but a clear yes, typed after the question, approves (V7, A39); the card is read to its end first (V4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.fake_service import APPROVAL, DIGEST, FakeService
from tests.helpers.terminal import Terminal, reset, stage

QUESTION = f"approve Write {APPROVAL}? [y/N]"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeService, Path]]:
    with stage(tmp_path_factory) as staged:
        yield staged


@pytest.fixture
def service(shared: tuple[FakeService, Path], monkeypatch: pytest.MonkeyPatch) -> FakeService:
    return reset(shared, monkeypatch)


@pytest.mark.parametrize("keys", [b"y\n", b"y\ny\ny\n", b"yes\n" * 50])
def test_what_was_typed_before_the_question_does_not_count(keys: bytes, service: FakeService) -> None:
    """A39: the reader of the mail pasted three lines too many."""
    with Terminal("approve", APPROVAL, before=keys) as terminal:
        terminal.wait_for(QUESTION)
        assert terminal.answer(b"\n") == 1
        assert "nothing was decided" in terminal.text
    assert service.decisions == []


def test_keys_pressed_as_the_question_appears_do_not_count(service: FakeService) -> None:
    """V7: the arm delay."""
    with Terminal("approve", APPROVAL) as terminal:
        terminal.wait_for(QUESTION)
        terminal.type(b"y\n")
        assert terminal.answer(b"\n") == 1
    assert service.decisions == []


def test_a_clear_yes_approves_what_was_shown(service: FakeService) -> None:
    with Terminal("approve", APPROVAL) as terminal:
        terminal.wait_for(QUESTION)
        assert terminal.answer(b"y\n") == 0
        assert f"digest   {DIGEST}" in terminal.text
        assert f"approved Write {APPROVAL} on /workspace/summary.md" in terminal.text
    assert [(name, found[0]) for name, found in service.asked if name == "approve"] == [("approve", DIGEST)]  # type: ignore[index]


@pytest.mark.parametrize("keys", [b"\n", b"n\n", b"yy\n", b"yep\n", b" \n", b"\x04", b"\xd1\x83\n"])
def test_anything_else_leaves_it_waiting(keys: bytes, service: FakeService) -> None:
    """V7: Enter, no, a double key, end of input, a letter that looks like y."""
    with Terminal("approve", APPROVAL) as terminal:
        terminal.wait_for(QUESTION)
        assert terminal.answer(keys) == 1
    assert service.decisions == []


def test_an_interrupt_leaves_it_waiting(service: FakeService) -> None:
    """V7."""
    with Terminal("approve", APPROVAL) as terminal:
        terminal.wait_for(QUESTION)
        terminal.type(b"\x03")
        assert terminal.end() == 130
    assert service.decisions == []


def test_a_closed_window_leaves_it_waiting(service: FakeService) -> None:
    """V7."""
    with Terminal("approve", APPROVAL) as terminal:
        terminal.wait_for(QUESTION)
        assert terminal.hang_up() != 0
    assert service.decisions == []


def test_a_long_card_is_shown_to_its_end_before_the_question(service: FakeService) -> None:
    """V4: yes to a part is no yes to the whole, and ends it."""
    service.approval_row["input"] = {"file_path": "x", "content": "\n".join(f"line {n}" for n in range(60))}
    with Terminal("approve", APPROVAL, rows=24) as terminal:
        terminal.wait_for("part 1/")
        assert QUESTION not in terminal.text
        assert terminal.answer(b"y\n") == 1
        assert "line 59" not in terminal.text
    assert service.decisions == []


def test_a_long_card_can_be_read_and_approved(service: FakeService) -> None:
    """V4."""
    service.approval_row["input"] = {"file_path": "x", "content": "\n".join(f"line {n}" for n in range(25))}
    with Terminal("approve", APPROVAL, rows=40) as terminal:
        terminal.wait_for("part 1/2")
        while QUESTION not in terminal.text:
            terminal.type(b"\n")
            terminal._read(seconds=0.4)
        assert "line 24" in terminal.text
        assert terminal.answer(b"y\n") == 0
    assert service.decisions == ["approve"]


def test_a_call_that_changed_after_it_was_shown_is_refused(service: FakeService) -> None:
    """B4: swap between show and approve."""
    with Terminal("approve", APPROVAL) as terminal:
        terminal.wait_for(QUESTION)
        service.approval_row["digest"] = "sha256:" + "9" * 64
        assert terminal.answer(b"y\n") == 6
    assert service.decisions == []


@pytest.mark.parametrize("redirect", ["stdout", "stdin"])
def test_a_person_who_cannot_see_or_type_is_not_asked(redirect: str, service: FakeService) -> None:
    """W2: off a terminal, and with the card going elsewhere, only --yes with the digest decides."""
    sign = {"stdout": ">/dev/null", "stdin": "</dev/null"}[redirect]
    with Terminal("approve", APPROVAL, shell=sign) as terminal:
        assert terminal.end() == 2
        assert "needs --yes and the full --digest" in terminal.text
    assert service.decisions == []
