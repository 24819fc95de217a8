"""V8: what a person is shown of a change, over the real files a call would change, as the card draws it."""

# ruff: noqa: RUF001 - the multiplication sign is the mark of a count

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pytest

from runner.broker import Impossible, Plan, plan
from runner.broker.cautions import cautions
from runner.broker.saying import Spoken, does
from runner.digest import digest_bytes
from runner.model import ResolvedPath
from runner.render import Sheet, show_card

NOW = datetime(2027, 1, 15, tzinfo=UTC)
MINIFIED = "var a=1;" * 400


class File(NamedTuple):
    """A file as it is, a call on it, and what its card must say."""

    before: bytes | None
    tool: str
    arguments: dict[str, Any]
    says: tuple[str, ...]
    mode: int = 0o644


FILES = {
    "a new file": File(
        None, "Write", {"content": "a\nb\n"}, ("Write a new file a.txt, 2 lines, 4 bytes", "│ --- /dev/null", "│ +a")
    ),
    "an overwrite": File(
        b"old\n", "Write", {"content": "new\n"}, ("Replace the whole file a.txt, 1 line, 4 bytes", "│ -old", "│ +new")
    ),
    "an executable": File(b"#!/bin/sh\n", "Write", {"content": "id\n"}, ("warning  the file is executable",), 0o755),
    "CRLF to LF": File(
        b"a\r\nb\r\n",
        "Write",
        {"content": "a\nb\n"},
        ("line ends change from CRLF to LF", "│ -a\\u{d}", "only white space changes"),
    ),
    "a BOM that goes": File(
        b"\xef\xbb\xbfa\n",
        "Write",
        {"content": "a\n"},
        ("a byte order mark is removed", "│ -\\u{feff}a", "nothing that can be seen changes"),
    ),
    "no line end at the end": File(
        b"a\n",
        "Write",
        {"content": "a"},
        ("the line end at the end of the file is removed", "│ \\\\ No newline at end of file"),
    ),
    "blanks only": File(b"a b\n", "Write", {"content": "a     b  \n"}, ("only white space changes", "│ +a␣×5␣b␣×2␣")),
    "tabs for blanks": File(b"a b\n", "Write", {"content": "a\tb\n"}, ("only white space changes", "│ +a\\u{9}b")),
    "from binary": File(
        b"\0\1",
        "Write",
        {"content": "text"},
        ("replaces a binary file with text", f"│ -2 bytes, {digest_bytes(bytes([0, 1]))[:40]}"),
    ),
    "to binary": File(
        None, "Write", {"content": "a\0b"}, ("the new content is not text: 3 bytes", "│ binary content, not shown")
    ),
    "hidden characters come in": File(
        b"a\n",
        "Write",
        {"content": "a\u202e\u200b\U000e0041\n"},
        ("adds hidden characters (1 bidi, 1 tag, 1 zero_width)", "\\u{202e}"),
    ),
    "A33: an edit of nothing that is seen": File(
        b"ab\n",
        "Edit",
        {"old_string": "ab", "new_string": "a\u200bb"},
        ("nothing that can be seen changes: only hidden characters do", "│ +a\\u{200b}b"),
    ),
    "a minified line": File(None, "Write", {"content": MINIFIED}, ("has a line longer than 2000 bytes", "┊ ")),
    "A17: newlines before the payload": File(
        None, "Write", {"content": "ok" + "\n" * 500 + "payload\n"}, ("│ ok⏎×500⏎", "│ payload")
    ),
    "A18: blanks before the payload": File(
        None, "Write", {"content": "ok" + " " * 10_000 + "payload\n"}, ("│ ok␣×10000␣payload",)
    ),
    "an emptied file": File(b"a\n", "Write", {"content": ""}, ("leaves the file empty", "│ -a")),
    "a large file": File(None, "Write", {"content": "line\n" * 9000}, ("content is large: 45000 characters",)),
    "every place of many": File(
        b"x\ny\nx\n",
        "Edit",
        {"old_string": "x", "new_string": "z", "replace_all": True},
        ("Change a.txt everywhere it occurs", "│ +z"),
    ),
}


@pytest.fixture
def card(tmp_path: Path) -> Callable[..., str]:
    """The card of a call on a file, drawn 80 columns wide."""

    def drawn(file: File) -> str:
        target = tmp_path / "a.txt"
        if file.before is not None:
            target.write_bytes(file.before)
            target.chmod(file.mode)
        found = planned(tmp_path, file.tool, **file.arguments)
        assert isinstance(found, Plan), found
        return on_a_card(file.tool, found, {"file_path": "a.txt", **file.arguments})

    return drawn


def planned(cwd: Path, tool: str, path: str = "a.txt", **arguments: Any) -> Plan | Impossible:
    resolved = ResolvedPath(asked=path, resolved=PurePosixPath("/workspace") / path)
    return plan(tool, {"file_path": path, **arguments}, paths=(resolved,), cwd=cwd)


def on_a_card(tool: str, found: Plan, arguments: dict[str, Any]) -> str:
    path = found.targets[0]
    spoken = Spoken(
        tool=tool, arguments=arguments, paths=(ResolvedPath(asked="a.txt", resolved=path),), pre_images=found.pre_images
    )
    sheet = Sheet(80)
    record = {
        "does": does(spoken),
        "input": arguments,
        "preview": found.preview,
        "warnings": [*found.warnings, *cautions(spoken)],
    }
    show_card(sheet, record, now=NOW)
    assert all(line.cell_len <= 80 for line in sheet.drawn)
    return "\n".join(line.plain for line in sheet.drawn)


@pytest.mark.parametrize("name", FILES)
def test_a_change_is_shown_whole_with_what_is_odd_about_it(name: str, card: Callable[..., str]) -> None:
    """V8, V6, A17, A18, A33, A34."""
    shown = card(FILES[name])
    plain = "".join(line[2:] if line.startswith("┊ ") else "\n" + line for line in shown.split("\n"))
    unfolded = plain.replace("\n  ", " ")
    for part in FILES[name].says:
        assert part in shown or part in plain or part in unfolded.replace("  ", " "), (part, shown)


def test_what_is_shown_of_a_minified_file_is_all_of_it(card: Callable[..., str]) -> None:
    """V4, A19, A20: a long line goes on behind its mark, and nothing of it is left out."""
    lines = card(FILES["a minified line"]).split("\n")
    start = lines.index("what it would change")
    body = "".join(line[2:] for line in lines[start:] if line.startswith(("│ +var", "┊ ")))
    assert MINIFIED in body


@pytest.mark.parametrize("kind", ["link", "dangling", "folder link"])
def test_a_target_that_is_a_link_is_never_asked_about(kind: str, tmp_path: Path) -> None:
    """V8, A35: what a link leads to is not what would be written, so there is nothing to show."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_text("x")
    (tmp_path / "a").symlink_to({"link": "real/f", "dangling": "nowhere", "folder link": "real"}[kind])
    found = planned(tmp_path, "Write", "a/new" if kind == "folder link" else "a", content="y")
    assert isinstance(found, Impossible)
    assert "symbolic link" in found.reason


def test_a_change_that_cannot_be_worked_out_says_so_and_is_called_high_risk() -> None:
    """V8."""
    sheet = Sheet(80)
    show_card(sheet, {"input": {"a": 1}, "preview": ""}, now=NOW)
    shown = "\n".join(line.plain for line in sheet.drawn)
    assert "warning  high risk: what it would change could not be worked out" in shown
    assert "no preview could be made of this call" in shown
