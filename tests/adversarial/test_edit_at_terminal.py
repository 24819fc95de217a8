"""An edit and a grant at a terminal: what is asked about is what was shown, and nothing but a clear yes is one (D2, D3, V7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.fake_queue import EDITED_DIGEST
from tests.helpers.fake_service import APPROVAL, FakeService
from tests.helpers.terminal import Terminal, reset, stage

QUESTION = f"approve Write {APPROVAL}? [y/N]"
GRANTED = "skip asking for these calls of scribe? [y/N]"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeService, Path]]:
    with stage(tmp_path_factory) as staged:
        yield staged


@pytest.fixture
def service(shared: tuple[FakeService, Path], monkeypatch: pytest.MonkeyPatch) -> FakeService:
    return reset(shared, monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "edited.json"
    path.write_text('{"file_path": "x", "content": "\\u001b[2J\\u202eforged │ approve? y"}')
    return str(path)


def test_the_edit_is_drawn_with_the_difference_and_a_clear_yes_carries_the_edited_digest(
    file: str, service: FakeService
) -> None:
    with Terminal("approve", APPROVAL, "--edit", file) as terminal:
        terminal.wait_for(QUESTION)
        assert terminal.answer(b"y\n") == 0
        assert "from what was proposed to what would be carried out" in terminal.text
        assert f"digest   {EDITED_DIGEST}" in terminal.text
        assert "\\u{1b}[2J\\u{202e}forged" in terminal.text
    asked = [(name, found[1]) for name, found in service.asked if name == "approve edited"]  # type: ignore[index]
    assert asked == [("approve edited", EDITED_DIGEST)]


def test_nothing_typed_before_the_edit_was_shown_counts(file: str, service: FakeService) -> None:
    with Terminal("approve", APPROVAL, "--edit", file, before=b"y\ny\n") as terminal:
        terminal.wait_for(QUESTION)
        assert terminal.answer(b"\n") == 1
    assert [name for name, _ in service.asked if name == "approve edited"] == []


@pytest.mark.parametrize(("keys", "code"), [(b"\n", 1), (b"y\n", 0)])
def test_a_grant_is_shown_before_it_is_asked_about(keys: bytes, code: int, service: FakeService) -> None:
    with Terminal("grant", "scribe", "Write", "--for", "1h", before=b"y\n") as terminal:
        terminal.wait_for(GRANTED)
        assert terminal.answer(keys) == code
        assert "this will skip asking for: Write of scribe" in terminal.text
    assert ("grant" in [name for name, _ in service.asked]) is (code == 0)
