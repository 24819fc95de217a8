"""Making the one block: bound, escape, label, mark, and prove it by reading it back (F2-F9). Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runner.fence.bounds import FIELDS, MAX_BLOCK, MAX_FIELDS, cut
from runner.fence.classes import hidden_counts
from runner.fence.parse import Block, parse
from runner.fence.untrusted import FenceError, Untrusted

_NONCE = re.compile(r"[0-9a-f]{16,64}")
_MAX_DRAWS = 8
_ATTRIBUTES = ("sender", "kind", "via")
_MAX_ATTRIBUTE = 400
_LABEL = re.compile(r"([a-z]+)(?: [0-9]{1,3})?")


class Field(NamedTuple):
    """A labelled text; the label is a key of `FIELDS`, perhaps with a number. `full`: its length before an earlier cut."""

    label: str
    text: Untrusted
    full: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapped:
    """A proven block, its nonce, and what was made visible in it, by class."""

    text: str
    nonce: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    lines: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]
    cuts: tuple[str, ...]
    counts: Mapping[str, int]


def wrap(
    fields: Sequence[Field],
    *,
    draw: Callable[[], str],
    attributes: Mapping[str, str] | None = None,
    beside: Iterable[str] = (),
) -> Wrapped:
    """One block around some labelled texts.

    Args:
        fields: The texts in order; empty ones are left out.
        draw: Makes a nonce of at least 64 random bits in lower-case hex; called last, again while it occurs in a text.
        attributes: `sender`, `kind`, `via`: values the supervisor made.
        beside: Other texts of the same prompt in which the nonce must not occur either.

    Raises:
        FenceError: A value is not the supervisor's, a cap is passed, no nonce fits, or the block does not read back.
    """
    given = attributes or {}
    if not set(given) <= set(_ATTRIBUTES):
        raise FenceError("cannot fence a text: unknown attribute")
    if not all(_is_plain(value) for value in given.values()):
        raise FenceError("cannot fence a text: an attribute's value is not the supervisor's own")
    body = _body(fields)
    nonce = _fitting([*(field.text.raw for field in fields), *beside], draw)
    marks = [("source", "capture"), *((name, given[name]) for name in _ATTRIBUTES if name in given)]
    size = sum(len(value.encode("utf-8", "surrogatepass")) for _, value in body.kept)
    marks += [("truncated", ", ".join(body.cuts))] if body.cuts else []
    marks += [("bytes", str(size)), ("fence", nonce)]
    opener = "<untrusted" + "".join(f' {name}="{value}"' for name, value in marks) + ">"
    text = "\n".join([opener, *body.lines, f'</untrusted fence="{nonce}">'])
    if len(text) > MAX_BLOCK:
        raise FenceError("cannot fence a text: the block is too large")
    prove(text, Block(tuple(marks), body.kept))
    return Wrapped(text=text, nonce=nonce, counts=body.counts)


def prove(text: str, expected: Block) -> None:
    """Read a prompt back with the independent parser and compare every part.

    Raises:
        FenceError: It is not exactly the expected block, once; the run must not start (F5).
    """
    nonce = expected.attributes[-1][1]
    try:
        found = parse(text).block
    except ValueError as error:
        raise FenceError(f"cannot prove the fence: {error}") from None
    if found != expected or text.count(nonce) != 2:
        raise FenceError("cannot prove the fence: it does not read back as what went in")


def _body(fields: Sequence[Field]) -> _Body:
    if len(fields) > MAX_FIELDS:
        raise FenceError(f"cannot fence a text: more than {MAX_FIELDS} fields")
    lines: list[str] = []
    kept: list[tuple[str, str]] = []
    cuts: list[str] = []
    counts: Counter[str] = Counter()
    for label, text, before in fields:
        kind = _LABEL.fullmatch(label)
        if kind is None or kind.group(1) not in FIELDS:
            raise FenceError("cannot fence a text: unknown field")
        part = cut(text.raw, FIELDS[kind.group(1)])
        full = max(part.full, before)
        if len(part.raw) < full:
            cuts.append(f"{label} {len(part.raw)} of {full}")
        if not part.raw:
            continue
        counts.update(part.escaped.counts)
        kept.append((label, part.raw))
        first, *more = part.escaped.text.split("\n")
        lines += [f"│ {label}: {first}", *(f"│ | {line}" for line in more)]
    return _Body(lines=tuple(lines), kept=tuple(kept), cuts=tuple(cuts), counts=dict(counts))


def _is_plain(value: str) -> bool:
    """Whether an attribute's value can neither end itself nor hide anything (F8)."""
    return (
        0 < len(value) <= _MAX_ATTRIBUTE and value.isprintable() and not hidden_counts(value) and not set(value) & set('"<>&\\')
    )


def _fitting(texts: Sequence[str], draw: Callable[[], str]) -> str:
    """A nonce that occurs in none of the texts, in either case (F4)."""
    for _ in range(_MAX_DRAWS):
        nonce = draw()
        if _NONCE.fullmatch(nonce) is None:
            raise FenceError("cannot fence a text: a nonce is at least 16 lower-case hex digits")
        if not any(nonce in text.casefold() for text in texts):
            return nonce
    raise FenceError("cannot fence a text: no nonce that the text does not hold")
