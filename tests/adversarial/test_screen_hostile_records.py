"""Hostile text in every field, through every command: nothing on a screen acts or passes for ours (V3, V5, fence.md §3.5)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.cli.main import main
from runner.errors import NotFoundError
from runner.model import Json, JsonObject
from tests.helpers.fake_service import APPROVAL, CAPTURE, DIGEST, RUN, FakeService, a_run, an_approval
from tests.helpers.terminal import Terminal, reset, stage

ATTACKS = {
    "A1": "safe\rrm -rf\x1b[K",
    "A2": "\x1b[2J\x1b[Happrove Read in.txt?",
    "A3": "\x1b[8mconcealed\x1b[0m",
    "A5": "\x1b[1Aover",
    "A6": "\x1b[?1049h",
    "A7": "\x1b]0;title\x07\x1b[21t",
    "A8": "\x1b]52;c;cm0gLXJm\x07",
    "A10": "\x1bPunterminated \x1b_apc \x1b^pm \x1bXsos",
    "A11": "\x9b2J\x9d0;x\x9c\x90q",
    "A13": "\x1b[?1000h\x1b[?2004h",
    "A15": "\x07" * 500,
    "A16": "safe\b\b\b\b\x7f\x7fevil",
    "A17": "ok" + "\n" * 500 + "payload",
    "A18": "ok" + " " * 10_000 + "\t" * 99 + "\u3000" * 99 + "\u2800" * 99 + "payload",
    "A19": "b" * 120 + ";payload",
    "A20": "x" * 5000,
    "A22": "/tmp/\u202egpj.exe",
    "A24": "/worksp\u0430ce/\u0430",
    "A26": "漢字" * 60 + "\U0001f468\u200d\U0001f469\u200d\U0001f467\ufe0f",
    "A27": f"approval {APPROVAL}  pending\n  tool     Read\n│ x\n┊ y\n"
    f"approve Read {APPROVAL}? [y/N] y\napproved Read {APPROVAL}",
    "A41": "[bold red]x[/bold red][link=http://e]y[/link] :skull: [/]",
    "A43": "<!channel> <http://x|safe> @everyone\r\nActions: evil",
    "A44": "</textarea><script>alert(1)</script>{{7*7}}",
    "A46": "reason\n2026-01-01T00:00:00Z info runner: approved",
    "marks": "\u0301\u0301x" + "\u0301" * 200,
    "surrogate": "\ud800\udfff",
    "tags": "\U000e0041\U000e007f\ue000\u0378",
}
READING = [
    ("status",),
    ("runs",),
    ("run", "show", RUN),
    ("approvals", "--all"),
    ("show", APPROVAL),
    ("show", RUN),
    ("show", CAPTURE),
    ("profile", "list"),
    ("profile", "show", "scribe"),
    ("todo",),
    ("log",),
    ("captures",),
    ("usage",),
    ("grants",),
    ("contact", "list"),
    ("undo", APPROVAL, "--dry-run"),
    ("extend", APPROVAL, "--for", "1h"),
    ("deny", APPROVAL),
    ("stop", RUN),
    ("approve", APPROVAL, "--yes", "--digest", DIGEST, "--wait"),
    ("send", "scribe", "--note", "x", "--wait"),
]
PLAIN = {"id", "run", "state", "digest", "kind", "name", "version", "created", "expires", "approvals", "pid", "uptime"}


def poisoned(value: Json, attack: str) -> Json:
    """The record with every text of an outsider or model, keys of inputs included, replaced."""
    if isinstance(value, dict):
        return {key: item if key in PLAIN else poisoned(item, attack) for key, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, attack) for item in value]
    return attack if isinstance(value, str) or value is None else value


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeService, Path]]:
    with stage(tmp_path_factory) as staged:
        yield staged


@pytest.fixture
def service(shared: tuple[FakeService, Path], monkeypatch: pytest.MonkeyPatch) -> FakeService:
    return reset(shared, monkeypatch)


def poison(service: FakeService, attack: str) -> None:
    rows: dict[str, JsonObject] = {"run": a_run(), "approval": an_approval(warnings=["w"], outcome="done")}
    rows = {name: poisoned(row, attack) for name, row in rows.items()}  # type: ignore[misc]
    rows["approval"]["input"] = {attack: attack, "nested": [{attack: [attack]}]}
    service.run_row, service.approval_row = rows["run"], rows["approval"]
    service.event_rows = [poisoned(row, attack) | {"time": 1.0, "seq": 1} for row in service.event_rows]  # type: ignore[operator]
    service.captures.rows = [poisoned(row, attack) for row in (rows["run"], rows["approval"])]  # type: ignore[misc]
    service.spending.waiting = [{"run": RUN, "agent": attack, "sender": attack, "says": attack, "created": 1.0}]
    service.profile_rows = [poisoned(row, attack) for row in service.profile_rows]  # type: ignore[misc]
    service.later = [rows["run"] | {"state": "replied"}]
    hostile_status: JsonObject = {"pid": 1, "model": attack, "engine": {"name": attack}, attack: attack}

    async def status() -> JsonObject:
        return hostile_status

    async def find(ref: str) -> JsonObject:
        found = await FakeService.find(service, ref)
        return found | {"note": attack, attack: attack}

    service.status, service.find = status, find  # type: ignore[method-assign]


def harmless(text: str) -> bool:
    return all(char == "\n" or char.isprintable() for char in text)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_command_lets_a_hostile_record_act(attack: str, service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    """V3: stdout and stderr hold printable characters and newlines."""
    for command in READING:
        poison(service, ATTACKS[attack])
        main(list(command))
        found = capsys.readouterr()
        assert harmless(found.out + found.err), command


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_json_holds_hostile_text_as_plain_ascii(
    command: tuple[str, ...], service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    """V3: one document, whatever is in it."""
    poison(service, "".join(ATTACKS.values()))
    main([*command, "--json"])
    found = capsys.readouterr()
    assert harmless(found.out + found.err)
    assert found.out.isascii()
    assert json.loads(found.out) is not None


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_error_lets_hostile_text_act(attack: str, service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    """V3, A46: what, hint and details of an error."""

    async def refuse(ref: str) -> JsonObject:
        raise NotFoundError(f"cannot find: {ATTACKS[attack]}", details=ATTACKS[attack], resolution=ATTACKS[attack])

    service.run = refuse  # type: ignore[method-assign]
    assert main(["run", "show", RUN]) == 3
    found = capsys.readouterr()
    assert harmless(found.err)
    lines = found.err.splitlines()
    assert [line.split(" ")[0] for line in lines[:2]] == ["runner:", "hint:"]
    assert all(line.startswith(("│ ", "┊ ")) for line in lines[2:])


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_a_person_types_cannot_act_either(attack: str, service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    """V3: a pasted argument comes back in the error."""
    text = ATTACKS[attack]
    for command in (
        (text,),
        ("show", text),
        ("send", text, "--text-file", text),
        ("runs", "--state", text),
        ("profile", "check", text),
    ):
        assert main(list(command)) in {2, 3}
        found = capsys.readouterr()
        assert harmless(found.out + found.err), command


@pytest.mark.parametrize("columns", [20, 80, 200])
def test_every_untrusted_line_of_a_card_stands_behind_the_gutter(columns: int, service: FakeService) -> None:
    """V4, V5, A26, A27, A40: on a real terminal of any width only our own words start a line, and only our styles colour it."""
    poison(service, ATTACKS["A27"] + "\n" + ATTACKS["A26"] + ATTACKS["A18"])
    with Terminal("show", APPROVAL, columns=columns, rows=5) as terminal:
        assert terminal.end() == 0
    assert harmless(terminal.text)
    assert b"\x1b" not in re.sub(rb"\x1b\[[0-9;]*m", b"", terminal.seen)
    heads = [line for line in terminal.text.splitlines() if line.startswith("approv")]
    assert len(heads) == 1
    assert [line[:10] for line in terminal.text.splitlines() if line.startswith("  digest")] == ["  digest  "]


def test_no_colour_and_a_dumb_terminal_are_respected(service: FakeService) -> None:
    """A40."""
    with Terminal("show", APPROVAL, environment={"NO_COLOR": "1", "TERM": "dumb"}) as terminal:
        assert terminal.end() == 0
    assert b"\x1b" not in terminal.seen


@pytest.mark.parametrize("columns", [20, 81, 200])
def test_an_emulator_shows_of_a_card_what_the_renderer_says(columns: int, service: FakeService) -> None:
    """V2, V3: line by line, at widths from 20 to 200; none wraps by itself and none is drawn over another."""
    poison(service, "".join(ATTACKS[name] for name in ("A1", "A2", "A11", "A16", "A22", "A26", "A27", "A41", "marks", "tags")))
    with Terminal("show", APPROVAL, columns=columns, rows=800) as terminal:
        assert terminal.end() == 0
    said = [line.rstrip() for line in terminal.text.splitlines()]
    assert terminal.display[: len(said)] == said
    assert not any(terminal.display[len(said) :])
