"""How the cells of a notebook stand in its text, and how a cell is put among them in the same style. Pure.

Takes text that has been read strictly as a notebook already; whoever uses what comes out reads it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from runner.model import JsonObject

Cell = JsonObject

_BLANK = re.compile(r"[ \t\r\n]*")
_BEYOND_ASCII = re.compile(r"\\u(?:00[89a-f]|0[1-9a-f]|[1-9a-f])", re.IGNORECASE)
_DECODER = json.JSONDecoder()


class Span(NamedTuple):
    """A value's place in the text."""

    start: int
    end: int


class _Member(NamedTuple):
    """A member of an object: where its key starts, where its value stands, and what separates the two."""

    key: str
    start: int
    value: Span
    colon: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How an object is written: `line` starts each line of it, `unit` is one step further in; both empty on one line."""

    line: str
    unit: str
    comma: str
    colon: str
    ascii: bool

    def written(self, cell: Cell) -> str:
        """A cell in this style."""
        separators = ("," if self.line else self.comma, self.colon)
        text = json.dumps(cell, indent=self.unit if self.line else None, separators=separators, ensure_ascii=self.ascii)
        return text.replace("\n", self.line) if self.line else text  # a line end inside a string is written as an escape


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A notebook's text, its list of cells, each cell in it; `lead` stands before each cell and `tail` behind the last."""

    text: str
    cells: Span
    each: tuple[Span, ...]
    lead: str
    tail: str
    style: Style

    def with_other_cell(self, cell: Cell, *, at: int) -> str:
        """The text with one cell written anew."""
        return self._with(self.each[at], self.style.written(cell))

    def with_cell(self, cell: Cell, *, before: int) -> str:
        """The text with a cell more; `before` may be the number of cells: behind the last."""
        written = self.style.written(cell)
        if not self.each:
            return self._with(self.cells, f"[{self.lead}{written}{self.tail}]")
        if before == 0:
            return self._with(Span(self.each[0].start, self.each[0].start), f"{written},{self._gap}")
        end = self.each[before - 1].end
        return self._with(Span(end, end), f",{self._gap}{written}")

    def without_cell(self, at: int) -> str:
        """The text with a cell less, and the comma that went with it."""
        if len(self.each) == 1:
            return self._with(self.cells, "[]")
        if at + 1 < len(self.each):
            return self._with(Span(self.each[at].start, self.each[at + 1].start), "")
        return self._with(Span(self.each[at - 1].end, self.each[at].end), "")

    @property
    def _gap(self) -> str:
        """What stands between the comma and the next cell."""
        if len(self.each) > 1:
            return self.text[self.each[0].end : self.each[1].start].partition(",")[2]
        return self.lead or self.style.comma[1:]

    def _with(self, span: Span, put: str) -> str:
        return self.text[: span.start] + put + self.text[span.end :]


def lay_out(text: str) -> Layout:
    """The layout of a notebook: strict JSON, an object whose `cells` is a list of objects."""
    top = _skip(text, 0)
    cells = next(member.value for member in _members(text, top) if member.key == "cells")
    each = tuple(_items(text, cells.start))
    if each:
        lead, tail = text[cells.start + 1 : each[0].start], text[each[-1].end : cells.end - 1]
        return Layout(text=text, cells=cells, each=each, lead=lead, tail=tail, style=_style(text, each[0].start))
    outer = _style(text, top)
    step, inner = outer.line + outer.unit, outer.line + outer.unit * 2
    if not outer.line:
        return Layout(text=text, cells=cells, each=(), lead="", tail="", style=outer)
    style = Style(line=inner, unit=outer.unit, comma=",", colon=outer.colon, ascii=outer.ascii)
    return Layout(text=text, cells=cells, each=(), lead=inner, tail=step, style=style)


def _style(text: str, start: int) -> Style:
    """The style of the object that starts there."""
    members = tuple(_members(text, start))
    escapes = text.isascii() and _BEYOND_ASCII.search(text) is not None
    if not members:
        return Style(line="", unit="", comma=", ", colon=": ", ascii=escapes)
    colon, last = members[0].colon, members[-1].value.end
    inner, outer = text[start + 1 : members[0].start], text[last : _skip(text, last)]
    if "\n" not in inner or "\n" not in outer:
        comma = text[members[0].value.end : members[1].start] if len(members) > 1 else ", "
        return Style(line="", unit="", comma=comma if "\n" not in comma else ", ", colon=colon, ascii=escapes)
    unit = inner.rpartition("\n")[2].removeprefix(outer.rpartition("\n")[2])
    return Style(line=outer, unit=unit, comma=",", colon=colon, ascii=escapes)


def _members(text: str, start: int) -> Iterator[_Member]:
    """The members of the object that starts there."""
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, end = _DECODER.raw_decode(text, at)
        value = _skip(text, _skip(text, end) + 1)
        yield _Member(key, at, found := Span(value, _DECODER.raw_decode(text, value)[1]), text[end:value])
        at = _next(text, found.end)


def _items(text: str, start: int) -> Iterator[Span]:
    """The items of the list that starts there."""
    at = _skip(text, start + 1)
    while text[at] != "]":
        found = Span(at, _DECODER.raw_decode(text, at)[1])
        yield found
        at = _next(text, found.end)


def _next(text: str, end: int) -> int:
    """Where the next member or item starts, or the bracket that closes them."""
    at = _skip(text, end)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()
