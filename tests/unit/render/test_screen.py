"""What a screen lets out: one document in JSON, errors as the contract has them, no colour off a terminal."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest

from runner.errors import NotFoundError
from runner.render import LineFormatter, Screen, Styled


def a_screen(*, as_json: bool = False) -> tuple[Screen, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Screen(json=as_json, stdout=out, stderr=err), out, err


def test_a_line_is_escaped_whatever_its_style() -> None:
    """V3, A41: neither escape codes nor markup nor emoji names act."""
    screen, out, _ = a_screen()
    screen.say("from ", Styled("[bold]\x1b[2J[/bold] :smile:", "red"), " end ")
    assert out.getvalue() == "from [bold]\\u{1b}[2J[/bold] :smile: end␣\n"


def test_a_table_shows_bounded_escaped_cells() -> None:
    """V3, V10."""
    screen, out, _ = a_screen()
    screen.table(["id", "name"], [["a_1", "[link=x]\n" + "y" * 100]])
    assert out.getvalue().splitlines()[1].rstrip() == "a_1  [link=x]\\u{a}" + "y" * 51 + "⟪+49⟫"


def test_an_error_is_one_line_and_a_hint() -> None:
    """cli.md Output; A46."""
    screen, out, err = a_screen()
    screen.error(NotFoundError("cannot find approval x\ny: no such id", resolution="runner approvals lists them"))
    assert (out.getvalue(), err.getvalue()) == (
        "",
        "runner: cannot find approval x\\u{a}y: no such id\nhint: runner approvals lists them\n",
    )


def test_an_error_is_json_when_asked_for() -> None:
    """cli.md Output."""
    screen, out, err = a_screen(as_json=True)
    screen.error(NotFoundError("cannot find \x1b: no such id", resolution="look"))
    assert out.getvalue() == ""
    assert json.loads(err.getvalue()) == {
        "error": {"code": "not_found", "message": "cannot find \x1b: no such id", "hint": "look"}
    }
    assert err.getvalue().isascii()


def test_every_error_has_a_hint() -> None:
    """cli.md Output: a hint line always stands beneath."""
    screen, _, err = a_screen()
    screen.error(NotFoundError("cannot find x: no such id"))
    assert err.getvalue().splitlines()[1] == "hint: runner runs and runner approvals list what there is"


def test_a_document_is_plain_ascii_json() -> None:
    """V3: not even `--json` lets a control character through."""
    screen, out, _ = a_screen(as_json=True)
    screen.document({"name": "\x7f\x9b\u202e\ud800"})
    assert json.loads(out.getvalue()) == {"name": "\x7f\x9b\u202e\ud800"}
    assert all(char == "\n" or 32 <= ord(char) < 127 for char in out.getvalue())
    with pytest.raises(ValueError, match="JSON"):
        screen.document({"x": float("nan")})


def test_a_stream_that_knows_ascii_only_shows_codes_instead_of_failing() -> None:
    """A40."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Screen(stdout=stream).say("café")
    stream.flush()
    assert raw.getvalue() == b"caf\\xe9\n"


def test_a_log_record_is_one_line_and_its_traceback_stands_in_the_gutter() -> None:
    """V3, A46: a forged line in a reason or an exception's text stays in its place."""
    try:
        raise ValueError("x\n2026-01-01T00:00:00Z info runner: approved")  # noqa: TRY301 - a traceback is the subject
    except ValueError:
        record = logging.LogRecord("runner", logging.ERROR, "f", 1, "denied: %s", ("no\nyes\x1b[A",), sys.exc_info())
    first, *rest = LineFormatter().format(record).split("\n")
    assert first.split(" ", 1)[1] == "error runner: denied: no\\u{a}yes\\u{1b}[A"
    assert rest
    assert all(line.startswith("│ ") for line in rest)


def test_an_id_stands_in_one_line_of_a_table_however_narrow_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id in two pieces can be copied by nobody; where it has no room at all it is cut in pieces, and nothing is lost."""
    row = ["r_0123456789abcdef", "some words that can be in several lines", "", "s_0123456789abcdef"]
    for columns in (60, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        screen, out, _ = a_screen()
        screen.table(["run", "about", "from", "share"], [row, ["", "", "", ""]])
        assert all(one in out.getvalue() for one in (row[0], row[3]))
    monkeypatch.setenv("COLUMNS", "24")
    screen, out, _ = a_screen()
    screen.table(["run", "about", "from", "share"], [row])
    columns_ = [line.split() for line in out.getvalue().splitlines()]
    assert "r_0123456789abcdef" not in out.getvalue()
    assert set("".join("".join(line) for line in columns_)) >= set("0123456789abcdef")
