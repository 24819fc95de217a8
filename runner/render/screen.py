"""The one exit of text to a terminal (V3): every string that is not a style goes through the escape, ours and theirs alike.

Owns stdout and stderr of a command. Data never carries markup, colour or emoji codes; colour is ours and only on a terminal.
"""

from __future__ import annotations

import json as _json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from typing import Protocol, TextIO, TypeAlias

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runner.errors import RunnerError
from runner.model import Json, JsonObject
from runner.render.block import CONTINUED, show_block
from runner.render.text import show_inline, show_text

#: Columns of output that is no terminal: wide enough that tables of ids and names don't wrap.
WIDE = 200
#: Characters of a table cell.
CELL = 60
_ID_TEXT = re.compile(r"[a-z]_[0-9a-z]{16}")
#: Columns that an id takes, and that anything else needs at least, both with the room between columns.
_ID, _NARROW = 20, 8

#: What to do when an error does not say.
_HINTS: Mapping[str, str] = {
    "usage": "see runner --help",
    "not_found": "runner runs and runner approvals list what there is",
    "already_decided": "runner show ID tells who decided and when",
    "expired": "nothing was carried out; the agent may ask again",
    "digest_mismatch": "look again with runner show ID: what you saw is not what is queued",
    "not_allowed": "ask the operator of this host",
    "paused": "runner resume goes on",
    "unavailable": "start the supervisor: runner up",
    "sandbox_unavailable": "check that the Docker Engine runs: docker info",
}


@dataclass(frozen=True, slots=True)
class Styled:
    """A part of a line in one of our styles, bounded by `limit` and padded to `columns`; its text is escaped like any other."""

    text: str
    style: str
    columns: int = 0
    limit: int | None = None


Part: TypeAlias = "str | Styled"


class Page(Protocol):
    """Where a card is drawn: a terminal's stdout, or a sheet of a full screen."""

    @property
    def width(self) -> int:
        """Columns."""
        ...

    def say(self, *parts: Part) -> None:
        """One line of ours."""
        ...

    def lines(self, lines: Sequence[str], *, style: str = "") -> None:
        """Lines that `runner.render` has already made."""
        ...


class Screen:
    """What one command shows.

    Args:
        json: Only JSON goes to stdout, and errors are JSON.
        stdout: Where results go; None: the process's.
        stderr: Where progress and errors go; None: the process's.
    """

    def __init__(self, *, json: bool = False, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.json = json
        self._out = _console(stdout or sys.stdout)
        self._err = _console(stderr or sys.stderr)
        self._beating = False

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked: they can type, see what is shown and see the question."""
        return sys.stdin is not None and all(stream.isatty() for stream in (sys.stdin, self._out.file, self._err.file))

    @property
    def watched(self) -> bool:
        """Whether a person may be looking at stderr while the command runs."""
        return self._err.is_terminal

    @property
    def terminal(self) -> bool:
        """Whether results go to a terminal."""
        return self._out.is_terminal

    @property
    def width(self) -> int:
        """Columns of stdout."""
        return self._out.width

    @property
    def height(self) -> int:
        """Lines of the terminal."""
        return self._err.height

    def say(self, *parts: Part) -> None:
        """One line of ours on stdout; a line too wide goes on behind `CONTINUED`, so no data can start a line of ours (V5)."""
        self.calm()
        _write(self._out, assemble(parts))

    def progress(self, *parts: Part) -> None:
        """One line on stderr, at once."""
        self.calm()
        _write(self._err, assemble(parts))

    def beat(self, *parts: Part) -> None:
        """A line on stderr that whatever is shown next takes the place of; where nobody watches, a line like any other."""
        if not self.watched:
            self.progress(*parts)
            return
        text = assemble(parts)
        text.truncate(max(self._err.width - 1, 8), overflow="ellipsis")
        self.calm()
        self._err.print(text, end="", soft_wrap=True)
        self._err.file.flush()
        self._beating = True

    def calm(self) -> None:
        """Take the last beat away; for whoever stops beating."""
        if self._beating:
            self._err.file.write("\r\x1b[2K")
            self._err.file.flush()
            self._beating = False

    def ask(self, *parts: Part) -> None:
        """A question on stderr, the cursor left behind it."""
        self.calm()
        self._err.print(assemble(parts), end=" ", soft_wrap=True, highlight=False)
        self._err.file.flush()

    def lines(self, lines: Sequence[str], *, style: str = "", error: bool = False) -> None:
        """Lines that `runner.render` has already made: escaped, folded, with their gutter."""
        self.calm()
        console = self._err if error else self._out
        for line in lines:
            console.print(Text(line, style=style, no_wrap=True), soft_wrap=True)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[Part]], *, limit: int = CELL) -> None:
        """A table on stdout; cells are bounded and escaped."""
        table = Table(box=box.SIMPLE_HEAD if self._out.is_terminal else None, pad_edge=False, header_style="bold", expand=False)
        ids = [_all_ids([row[at] for row in rows]) for at in range(len(headers))]
        whole = sum(_ID if one else _NARROW for one in ids) <= self.width  # an id in two lines can be copied by nobody
        for header, one in zip(headers, ids, strict=True):
            table.add_column(show_text(header), overflow="fold", no_wrap=one and whole)
        for row in rows:
            table.add_row(*(_cell(part, limit) for part in row))
        with self._out.capture() as captured:
            self._out.print(table)
        self.part([line.rstrip() for line in captured.get().splitlines()])

    def parts(self, draw: Callable[[], None]) -> list[list[str]]:
        """What `draw` would show, cut into parts that fit the terminal, for `lines` that are read one part at a time (V4)."""
        with self._out.capture() as captured:
            draw()
        lines = captured.get().splitlines()
        room = max(self.height - 3, 3)
        return [lines[start : start + room] for start in range(0, max(len(lines), 1), room)]

    def part(self, lines: Sequence[str]) -> None:
        """One of `parts`."""
        self.calm()
        self._out.file.write("\n".join(lines) + "\n")
        self._out.file.flush()

    def document(self, value: Json, *, compact: bool = False) -> None:
        """The one JSON document of `--json`, ASCII only, and nothing else; `compact`: one of many, a line each."""
        self.calm()
        self._out.file.write(json_document(value, compact=compact))
        self._out.file.flush()

    def error(self, error: RunnerError) -> None:
        """An error as the contract has it: "what: cause" and a hint, or one JSON object, on stderr."""
        hint = error.resolution or _HINTS.get(error.code, "the supervisor's log may say more")
        if self.json:
            body: JsonObject = {"code": error.code, "message": error.brief, "hint": hint}
            if error.details:
                body["details"] = error.details
            self._err.file.write(json_document({"error": body}))
            self._err.file.flush()
            return
        self.progress(Styled("runner: ", "bold red"), error.brief)
        self.progress(Styled("hint: ", "cyan"), hint)
        if error.details:
            self.lines(show_block(error.details, width=self._err.width), style="dim", error=True)


def json_document(value: Json, *, compact: bool = False) -> str:
    """JSON text of printable ASCII and newlines: nothing in it can act on a terminal.

    Raises:
        ValueError: NaN or an infinity, which are not JSON.
    """
    text = _json.dumps(value, ensure_ascii=True, allow_nan=False, indent=None if compact else 2)
    return text.replace("\x7f", "\\u007f") + "\n"


def _console(stream: TextIO) -> Console:
    """A console that draws data as it is. A stream that cannot say a character says its code instead of failing (A40)."""
    if isinstance(stream, TextIOWrapper):
        with suppress(OSError, ValueError):
            stream.reconfigure(errors="backslashreplace")
    width = None if stream.isatty() or os.environ.get("COLUMNS") else WIDE
    return Console(file=stream, markup=False, highlight=False, emoji=False, width=width, legacy_windows=False)


def assemble(parts: Sequence[Part]) -> Text:
    """Parts as one line, each escaped; blanks at the end of a part stay blanks between two, and are shown at the end."""
    text = Text()
    for number, part in enumerate(parts, start=1):
        styled = part if isinstance(part, Styled) else Styled(part, "")
        last = number == len(parts) or styled.limit is not None
        shown = show_inline(styled.text, limit=styled.limit) if last else show_text(f"{styled.text}|")[:-1]
        text.append(shown.ljust(styled.columns), style=styled.style)
    return text


def _all_ids(cells: Sequence[Part]) -> bool:
    texts = [cell.text if isinstance(cell, Styled) else cell for cell in cells]
    return any(texts) and all(not text or _ID_TEXT.fullmatch(text) for text in texts)


def _cell(part: Part, limit: int) -> Text:
    if isinstance(part, Styled):
        return Text(show_inline(part.text, limit=limit), style=part.style)
    return Text(show_inline(part, limit=limit))


def _write(console: Console, text: Text) -> None:
    if not console.is_terminal:
        console.print(text, soft_wrap=True)
        return
    room = max(console.width - len(CONTINUED), 8)
    first, *rest = text.wrap(console, room, overflow="fold", tab_size=1) or [Text()]
    console.print(first, soft_wrap=True)
    for line in rest:
        console.print(Text(CONTINUED, style="dim") + line, soft_wrap=True)
