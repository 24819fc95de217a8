"""Draws the pictures of docs/reviewing.md: the real inbox, over records of an example, exported by the program that draws it.

Writes docs/pictures/*.svg, and between its marks in docs/reviewing.md the card as a plain terminal shows it.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from runner.api.client import Client
from runner.cli.inbox.app import InboxApp
from runner.cli.inbox.entries import Approvals
from runner.cli.inbox.office import Followed, Office
from runner.model import Json, JsonObject
from runner.render import Sheet, show_card

_DOCS = Path(__file__).resolve().parent.parent / "docs"
PICTURES = _DOCS / "pictures"
PAGE = _DOCS / "reviewing.md"
SIZE = (92, 34)
NOW = 1_800_000_000.0
_MARKS = re.compile(r"(<!-- card: begin -->\n```\n).*?(```\n<!-- card: end -->)", re.DOTALL)
_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
Scene = Callable[[InboxApp, Pilot[None]], Awaitable[None]]


def records() -> list[JsonObject]:
    """What waits in the example: a summary, a folder, a program, an effect that nobody knows about."""
    turn: list[Json] = [
        {"id": None, "tool": "Read", "state": "ran", "does": "Read notes.md"},
        {"id": _ref("2v8xk1"), "tool": "Write", "state": "pending", "does": "Write a new file summary.md, 3 lines, 107 bytes"},
        {"id": _ref("7c3m9q"), "tool": "CreateFolder", "state": "pending", "does": "Make the folder out"},
    ]
    text = "# Summary\n\nRelease: Thursday. Importer: Mina, reviewed by Jo. The shared folder stays as it is until then.\n"
    write = _call(
        "2v8xk1",
        tool="Write",
        does="Write a new file summary.md, 3 lines, 107 bytes",
        input={"file_path": "/workspace/summary.md", "content": text},
        preview="--- /dev/null\n+++ /workspace/summary.md\n@@ -0,0 +1,3 @@\n"
        + "".join(f"+{line}\n" for line in text.splitlines()),
        paths=[{"asked": "/workspace/summary.md", "resolved": "/workspace/summary.md"}],
        target="summary.md",
        turn=turn,
    )
    folder = _call("7c3m9q", tool="CreateFolder", does="Make the folder out", input={"path": "out"}, target="out", turn=turn)
    program = _call(
        "9k4w2t",
        tool="RunCode",
        does="Run a program of 2 lines in python in a container of its own",
        input={"code": "import csv\nprint(len(list(csv.reader(open('a.csv')))))", "language": "python"},
        preview="Runs in a container of its own, without a network, on a copy of the directory.",
        sender="alice \N{MATHEMATICAL LEFT ANGLE BRACKET}k3fm-92xa-p0d7-tq51\N{MATHEMATICAL RIGHT ANGLE BRACKET}",
        warnings=["the path mixes scripts in one word (Latin, Cyrillic: w\u043erk)"],
        denied_before={"id": _ref("1d0h5n"), "at": NOW - 40, "reason": "not on this data"},
        target="RunCode",
        **{"class": "execute"},
    )
    return [
        write,
        folder,
        program,
        _call("5g6r8v", tool="Edit", does="Change a.md in one place: 1 line out, 1 line in", state="unknown"),
    ]


def _ref(short: str) -> str:
    return f"a_{short}w9h4n7p3xd"


def _call(short: str, **changes: Json) -> JsonObject:
    plain: JsonObject = {
        "id": _ref(short),
        "run": "r_s47xzh8a4mesz0x2",
        "agent": "scribe",
        "state": "pending",
        "sender": "owner",
        "reason": "Waits for a person's approval: The default policy does not run this tool unasked.",
        "digest": "sha256:" + "04cc1fdfa9b790511240e58327393e1a0ff89266968774a19b931a634ed92738",
        "call_digest": "sha256:" + "604e2ddfc16a6353db722f88318b435515a93fe5a0a8e4d5074ebc8b7a77c998",
        "created": NOW - 20,
        "expires": NOW + 7 * 86400,
        "class": "write",
        "egress": False,
        "read": {"files": ["notes.md"], "searches": 1},
        "alike": {"count": 40, "approved": True, "differs": ["name", "content"]},
        "preview": "+directory /workspace/out\n",
        "warnings": [],
        "version": 1,
    }
    return plain | changes


class _Example(Approvals):
    """The example's records instead of a supervisor's."""

    def list(self, client: Client) -> list[JsonObject]:
        """All of them."""
        del client
        return records()

    def look(self, client: Client, id: str) -> JsonObject:
        """One of them."""
        del client
        return next(record for record in records() if record["id"] == id)


class _Quiet(Office):
    """An office that hears of nothing and reports nothing."""

    def mark(self) -> None:
        """There is no log."""

    def follow(self, heard: Callable[[Followed], None]) -> None:
        """Nothing happens."""

    def shown(self, record: JsonObject, parts: list[list[str]]) -> None:
        """Nobody is told."""


async def _whole(app: InboxApp, pilot: Pilot[None]) -> None:
    del app, pilot


async def _target(app: InboxApp, pilot: Pilot[None]) -> None:
    await pilot.press("down", "down")
    await _armed(app, pilot)
    while app.inbox.card is not None and not app.inbox.card.reading.whole:
        await pilot.press("space")
    await pilot.press("a", "R", "u", "n")


async def _help(app: InboxApp, pilot: Pilot[None]) -> None:
    del app
    await pilot.press("question_mark")


async def _armed(app: InboxApp, pilot: Pilot[None]) -> None:
    while app.inbox.card is None or app.inbox.card.reading.too_early(app.clock()):
        await pilot.pause(0.05)


SCENES: dict[str, Scene] = {"inbox": _whole, "inbox-target": _target, "inbox-help": _help}


async def picture(scene: Scene) -> str:
    """The inbox in a scene, as SVG."""
    client = Client(Path("/nowhere"))
    app = InboxApp(_Quiet(client, lambda: client, sources=(_Example(),)), today=lambda: datetime.fromtimestamp(NOW, UTC))
    async with app.run_test(size=SIZE) as pilot:
        await _armed(app, pilot)
        await scene(app, pilot)
        await pilot.pause()
        drawn = app.export_screenshot(title="runner inbox")
        app.exit()
    # Fonts of other hosts are not loaded by our pages, and an id that changes each time would make each picture a new one.
    return re.sub(r"terminal-\d+", "terminal", _FONT.sub("", drawn))


def plain_card() -> str:
    """The first card as a terminal of 110 columns shows it."""
    sheet = Sheet(110)
    show_card(sheet, records()[0], now=datetime.fromtimestamp(NOW, UTC))
    return "".join(f"{line.plain}\n" for line in sheet.drawn)


def page() -> str:
    """docs/reviewing.md with the card between its marks."""
    return _MARKS.sub(lambda found: found[1] + plain_card() + found[2], PAGE.read_text(encoding="utf-8"))


def main() -> int:
    """Write them all."""
    PICTURES.mkdir(exist_ok=True)
    for name, scene in SCENES.items():
        (PICTURES / f"{name}.svg").write_text(asyncio.run(picture(scene)), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
