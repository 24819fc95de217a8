"""Finding a row by what a person typed: a whole id or a unique beginning of one (B12)."""

from __future__ import annotations

import re

from sqlalchemy import Column, Connection, func, select

from runner.errors import NotFoundError

#: Symbols a beginning needs after the kind's letter and underscore.
SHORTEST = 6
_SYMBOLS = re.compile(r"[0-9a-hjkmnp-tv-z]+")
#: What lists a kind of which the usual hint says nothing.
_LISTS = {"g": "runner grants --all lists them", "p": "runner replies --all lists them", "s": "runner shares --all lists them"}


def whole(conn: Connection, column: Column[str], text: str, *, kind: str, noun: str) -> str:
    """The one id that `text` names.

    Args:
        conn: A connection.
        column: The id column.
        text: As typed, with or without the kind's prefix.
        kind: The id's letter, such as `r`.
        noun: What people call it.

    Raises:
        NotFoundError: None, too short, or several; says which and how many.
    """
    symbols = text.strip().lower().removeprefix(f"{kind}_")
    if not _SYMBOLS.fullmatch(symbols) or len(symbols) > 16:
        raise NotFoundError(f"cannot find {noun} {text!r}: this is no id", resolution=f"ids look like {kind}_7k2m9x…")
    if len(symbols) < SHORTEST:
        raise NotFoundError(f"cannot find {noun} {text!r}: give at least {SHORTEST} characters after {kind}_")
    wanted = f"{kind}_{symbols}"
    found = conn.execute(select(column).where(func.substr(column, 1, len(wanted)) == wanted).order_by(column)).scalars().all()
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFoundError(f"cannot find {noun} {text!r}: there is none", resolution=_LISTS.get(kind))
    raise NotFoundError(f"cannot find {noun} {text!r}: ambiguous, {len(found)} begin so", resolution="give more of the id")
