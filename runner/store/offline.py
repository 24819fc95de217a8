"""A read-only look at the database for commands that work without a supervisor, without SQLAlchemy.

Nothing here waits for a writer or writes. A database of another version is said so. `?` stands for a value in every query,
whichever database is asked.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, cast
from urllib.parse import quote

from runner.errors import NotFoundError, StoreError
from runner.store import chain
from runner.store.chain import Link, Place
from runner.store.chosen import CEILING, POLICY, Choices

_SQLITE = "sqlite:///"
_SECONDS = 5.0


class Asks(Protocol):
    """One consistent view of a database."""

    def rows(self, query: str, *values: str, exact: bool = False) -> Iterator[tuple[object, ...]]:
        """What a query finds; `exact`: text that is none comes with its bytes escaped instead of as an error."""
        ...


def place_of(url: str) -> Path | str:
    """Where a database is: its file, or its URL where it is no file of this machine."""
    return Path(url.removeprefix(_SQLITE).partition("?")[0]) if url.startswith(_SQLITE) else url


class Offline:
    """The rows as they are, for the length of one `looking`."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    def profile(self, name: str) -> str:
        """The JSON text of the profile that new runs of an agent get.

        Raises:
            NotFoundError: None is published under this name, or the agent was retired.
        """
        query = "SELECT p.text, a.retired FROM agents a JOIN profiles p ON p.digest = a.profile_digest WHERE a.name = ?"
        found = next(self._asks.rows(query, name), None)
        if found is None:
            raise NotFoundError(f"cannot find agent {name!r}: no profile is published under this name")
        if found[1] is not None:
            raise NotFoundError(
                f"cannot find agent {name!r}: it was retired", resolution="runner profile publish FILE brings it back"
            )
        return str(found[0])

    def profiles(self) -> tuple[str, ...]:
        """The JSON text of every agent's current profile."""
        query = "SELECT p.text FROM agents a JOIN profiles p ON p.digest = a.profile_digest WHERE a.retired IS NULL ORDER BY 1"
        return tuple(str(text) for (text,) in self._asks.rows(query))

    def choices(self, agent: str) -> Choices:
        """What the owner chose for an agent, and for all."""
        saved = self._words("SELECT tool, verdict FROM verdicts WHERE agent = ?", agent)
        words = self._words("SELECT key, value FROM meta WHERE key IN (?, ?)", POLICY, CEILING)
        return Choices(saved=MappingProxyType(saved), policy=words.get(POLICY), ceiling=words.get(CEILING))

    def audit(self) -> Iterator[Link]:
        """Every row of the audit by its number, as it is; text that is none comes with its bytes escaped."""
        columns = ", ".join(Link._fields)
        for row in self._asks.rows(f"SELECT {columns} FROM audit ORDER BY seq", exact=True):  # noqa: S608 - our own names
            yield _link(row)

    def audit_end(self) -> Place | None:
        """Where the audit ends according to the note that goes with every row; None when there is none."""
        found = next(self._asks.rows("SELECT value FROM meta WHERE key = ?", chain.END), None)
        return None if found is None else chain.place(str(found[0]))

    def _words(self, query: str, *values: str) -> dict[str, str]:
        return {str(key): str(word) for key, word in self._asks.rows(query, *values)}


@contextmanager
def looking(place: Path | str) -> Iterator[Offline]:
    """One consistent look at the rows.

    Args:
        place: As `place_of` gives it.

    Raises:
        NotFoundError: There is no such file: no supervisor ever ran on it.
        StoreError: It cannot be read, or was written by another version.
    """
    if isinstance(place, Path):
        with _looking_at_file(place) as rows:
            yield rows
        return
    # Only whoever has such a database pays for its client.
    from runner.store.postgres import asking  # noqa: PLC0415

    with asking(place) as asks:
        yield Offline(asks)


class _File:
    """A SQLite file, asked."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def rows(self, query: str, *values: str, exact: bool = False) -> Iterator[tuple[object, ...]]:
        if exact:
            self._conn.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        yield from self._conn.execute(query, values)


@contextmanager
def _looking_at_file(path: Path) -> Iterator[Offline]:
    if not path.exists():
        raise NotFoundError(
            "cannot find published profiles: there is no database yet", details=str(path), resolution="runner serve makes one"
        )
    try:
        with closing(_open(path)) as conn:
            conn.execute("BEGIN")
            yield Offline(_File(conn))
    except sqlite3.Error as error:
        raise StoreError(
            f"cannot read the database {path.name}: {error}",
            details=str(path),
            resolution="runner doctor says more; a supervisor of this version brings an older database up to date",
        ) from error


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_SECONDS, isolation_level=None)


def _link(row: tuple[object, ...]) -> Link:
    """A row as it is: what a damaged database holds in a column is for the chain to judge."""
    return Link._make(cast("tuple[int, float, str, str, str, str, str]", row))
