"""Hostile text in every field of what the inbox shows: a terminal draws what the frame says, and nothing acts (V2-V5)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.cli.inbox.frame import frame
from runner.model import JsonObject
from tests.adversarial.test_screen_hostile_records import ATTACKS, harmless, poisoned
from tests.helpers.fake_service import FakeService, an_approval
from tests.helpers.inbox import Driven, a_call, ref
from tests.helpers.terminal import Terminal, reset, stage
from tests.helpers.tmux import Tmux

MORE = {
    "A4": "\x1b[38;5;0;48;5;0msame\x1b[0m",
    "A12": "\x1b]0;a\x1bb\x07",
    "A14": "\x1b[?2026h\x1b[?1006hx\x1b[<0;1;1M",
    "A28": "harmless",
    "A29": "k" * 3000,
    "A30": "1e400 -0 9007199254740993",
    "A39": "y\ny\na\ny\n",
    "box": "\u2500\u2502\u2588\u258f> waits    Make the folder out\n-- a_1  part 1/1",
    "keys": "a approve  d deny  ? help  q quit",
}
EVERY = ATTACKS | MORE
WIDTHS = (20, 40, 41, 60, 80, 133, 200)


def hostile(attack: str) -> JsonObject:
    """An approval with every word of an outsider, a model and a person replaced, names of arguments included."""
    beside: dict[str, Any] = {
        "does": attack,
        "target": attack,
        "turn": [
            {"id": None, "state": "ran", "does": attack, "tool": attack},
            {"id": ref(1), "state": "pending", "does": attack},
        ],
        "read": {"files": [attack, attack], "searches": 2},
        "alike": {"count": 3, "approved": True, "differs": [attack]},
        "taint": [{"kind": attack, "source": attack, "sender": attack}],
        "denied_before": {"id": ref(2), "at": 1.0, "reason": attack},
        "decision_reason": attack,
        "decided_by": attack,
    }
    row: Any = poisoned(an_approval(warnings=["w"], outcome="x"), attack)
    return row | beside | {"id": ref(1), "input": {attack: attack, "nested": [{attack: [attack]}]}, "claims": []}


def drawn(inbox: Driven) -> list[str]:
    return [line.plain for line in frame(inbox.inbox)]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("attack", EVERY)
def test_every_part_of_a_hostile_card_is_harmless_and_fits(attack: str, width: int) -> None:
    """Attacks 1-46: printable, no wider than the screen, each line in its place, and every line of theirs behind the gutter."""
    inbox = Driven(hostile(EVERY[attack]), a_call(2), size=(width, 24))
    for _ in range(3):
        lines = drawn(inbox)
        assert len(lines) == 24
        assert all(harmless(line) and len(line) <= width for line in lines)
        inbox.press("space")
    inbox.press("question_mark")
    assert all(harmless(line) and len(line) <= width for line in drawn(inbox))


@pytest.mark.parametrize("attack", EVERY)
def test_the_parts_together_are_the_whole_card(attack: str) -> None:
    """V4, attacks 17-21: no line of a card is left out between two parts."""
    inbox = Driven(hostile(EVERY[attack]), size=(60, 24))
    card = inbox.inbox.card
    assert card is not None
    seen: dict[int, str] = {}
    while True:
        offset = card.reading.offset
        seen |= {offset + n: line.plain for n, line in enumerate(card.visible())}
        if card.reading.whole:
            break
        card.reading.turn(1)
    assert [seen[n] for n in range(len(card.lines))] == [line.plain for line in card.lines]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeService, Path]]:
    with stage(tmp_path_factory) as staged:
        yield staged


@pytest.fixture
def service(shared: tuple[FakeService, Path], monkeypatch: pytest.MonkeyPatch) -> FakeService:
    return reset(shared, monkeypatch)


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_what_a_terminal_draws_is_what_the_frame_says(columns: int, service: FakeService) -> None:
    """V2, V3: every attack at once, through the real command, as an emulator of any width draws it."""
    attack = "".join(EVERY[name] for name in EVERY if name not in {"A15", "A18", "A20", "A29", "A26"}) + "end"
    service.approval_row = hostile(attack) | {"id": "a_0123456789abcdef"}
    expected = Driven(json.loads(json.dumps(service.approval_row)), size=(columns, 24))
    with Terminal("inbox", columns=columns, rows=24) as terminal:
        terminal.shows("too small" if columns < 40 else "? help")
        terminal.settle()
        for _ in range(4):
            # Ages are told by each one's own clock.
            theirs = [re.sub(r"\d+ (s|min|h|d) ago|in \d+ d", "", line) for line in terminal.display]
            ours = [re.sub(r"\d+ (s|min|h|d) ago|in \d+ d", "", line.rstrip()) for line in drawn(expected)]
            assert theirs == ours
            if expected.inbox.card is None or expected.inbox.card.reading.whole:
                break
            terminal.type(b" ")
            expected.press("space")
            terminal.settle()
        terminal.type(b"q")
        assert terminal.end() == 0
    assert service.decisions == []


def test_wide_characters_and_tmux_draw_what_the_frame_says(service: FakeService, shared: Any, tmp_path: Path) -> None:
    """A26: on an emulator of another make; wide characters move nothing."""
    wide = "\u6f22\u5b57" * 30 + "\U0001f468\u200d\U0001f469\u200d\U0001f467\ufe0f e\u0301 \u00e4"
    service.approval_row = an_approval(does=f"Write a new file {wide}", input={"content": wide}, created=1.0)
    expected = Driven(service.approval_row)
    expected.inbox.resize((80, 24), now=0.0)
    environment = {"RUNNER_STATE_DIR": str(shared[1]), "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    with Tmux("inbox", environment=environment, home=tmp_path) as window:
        window.shows("? help")
        ours = [line.rstrip() for line in drawn(expected)]
        for line in ours[:15]:
            window.shows(line)
        assert [len(line) for line in window.lines[:15]] == [len(line) for line in ours[:15]]
        window.press("q")
        window.shows("ended with 0")
