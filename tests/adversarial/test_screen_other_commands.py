"""Hostile text through the other commands that show it, as an emulator draws it (V2, V3, V5, fence.md §3.5)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from runner.model import JsonObject
from tests.adversarial.test_screen_hostile_records import ATTACKS, harmless, poison, poisoned
from tests.helpers.fake_service import RUN, FakeService
from tests.helpers.fake_shares import SHARE, FakeShares, a_share
from tests.helpers.terminal import Terminal, reset, stage

SHOWING = [
    ("log",),
    ("run", "show", RUN),
    ("captures",),
    ("todo",),
    ("grants",),
    ("approvals", "stats"),
    ("approvals", "--all"),
    ("shares", "--all"),
    ("show", SHARE),
]
MORE = {
    "A4": "\x1b[38;5;0;48;5;0msame\x1b[0m",
    "A12": "\x1b]0;a\x1bb\x07",
    "A28": "harmless: only reads",
    "A29": '{"a": 1, "a": 2}' + "[" * 200,
    "A30": "1e400 -0 9007199254740993",
    "A39": "y\ny\n",
}
#: Every kind of attack, each once: hundreds of one control character say no more on a terminal than one does.
EVERY = "".join(text for name, text in (ATTACKS | MORE).items() if name not in {"A15", "A20", "surrogate"}) + "\x07\ud800end"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeService, Path]]:
    with stage(tmp_path_factory) as staged:
        yield staged


@pytest.fixture
def service(shared: tuple[FakeService, Path], monkeypatch: pytest.MonkeyPatch) -> FakeService:
    return reset(shared, monkeypatch)


@pytest.mark.parametrize("columns", [20, 81, 200])
def test_an_emulator_shows_of_every_command_what_the_renderer_says(
    columns: int, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V2, V3, at three widths: no line wraps by itself, is drawn over another, is hidden or coloured by what it holds.

    A1, A2, A3, A4, A5, A6, A7, A8, A10, A11, A12, A13, A16, A17, A18, A19, A22, A24, A26, A27, A28, A29, A30, A39, A40, A41,
    A43, A44, A46.
    """
    poison(service, EVERY)
    service.grants.row = poisoned(service.grants.row, EVERY)  # type: ignore[assignment]
    handed = FakeShares(service.asked)
    handed.rows = [poisoned(a_share(warnings=["w"]), EVERY)]  # type: ignore[list-item]
    service.shares = handed
    rows: list[JsonObject] = [{"person": EVERY, "tool": EVERY, "decided": 1, "approved": 1, "denied": 0, "undone": 0}]
    rows[0] |= {"expired": 0, "timed": 1, "median_seconds": 1.5, "under_two_seconds": 0.5}

    async def decisions(*, since: float) -> JsonObject:
        return {"since": since, "rows": [*rows]}

    monkeypatch.setattr(service.statistics, "decisions", decisions)
    with ExitStack() as stack:
        ran = {words: stack.enter_context(Terminal(*words, columns=columns, rows=1500)) for words in SHOWING}
        for words, terminal in ran.items():
            assert terminal.end() == 0, (words, terminal.text)
            said = [line.rstrip() for line in terminal.text.splitlines()]
            assert harmless(terminal.text), words
            assert terminal.display[: len(said)] == said, words
            assert not any(terminal.display[len(said) :]), words
            assert b"\x1b" not in terminal.seen.replace(b"\x1b[", b"", len(terminal.styles)), words
