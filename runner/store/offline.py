"""A read-only look at the SQLite file for commands that work without a supervisor, with the standard library alone.

Nothing here waits for a writer or writes. Another database than SQLite, or a file of another version, is said so.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from runner.errors import NotFoundError, StoreError
from runner.store import chain
from runner.store.chain import Link, Place
from runner.store.chosen import CEILING, POLICY, Choices

_SQLITE = "sqlite:///"
_SECONDS = 5.0


def file_of(url: str) -> Path | None:
    """The file of a SQLite database; None where the database is no file."""
    return Path(url.removeprefix(_SQLITE).partition("?")[0]) if url.startswith(_SQLITE) else None


class Offline:
    """The rows as they are, for the length of one `looking`."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def profile(self, name: str) -> str:
        """The JSON text of the profile that new runs of an agent get.

        Raises:
            NotFoundError: None is published under this name, or the agent was retired.
        """
        query = "SELECT p.text, a.retired FROM agents a JOIN profiles p ON p.digest = a.profile_digest WHERE a.name = ?"
        found = self._conn.execute(query, (name,)).fetchone()
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
        return tuple(str(text) for (text,) in self._conn.execute(query))

    def choices(self, agent: str) -> Choices:
        """What the owner chose for an agent, and for all."""
        saved = dict(self._conn.execute("SELECT tool, verdict FROM verdicts WHERE agent = ?", (agent,)))
        query = "SELECT key, value FROM meta WHERE key IN (?, ?)"
        words: dict[str, str] = dict(self._conn.execute(query, (POLICY, CEILING)))
        return Choices(saved=MappingProxyType(saved), policy=words.get(POLICY), ceiling=words.get(CEILING))

    def audit(self) -> Iterator[Link]:
        """Every row of the audit by its number, as it is; text that is none comes with its bytes escaped."""
        cursor = self._conn.cursor()
        cursor.row_factory = lambda _, row: Link(*row)
        self._conn.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        columns = ", ".join(Link._fields)
        yield from cursor.execute(f"SELECT {columns} FROM audit ORDER BY seq")  # noqa: S608 - our own names

    def audit_end(self) -> Place | None:
        """Where the audit ends according to the note that goes with every row; None when there is none."""
        found = self._conn.execute("SELECT value FROM meta WHERE key = ?", (chain.END,)).fetchone()
        return None if found is None else chain.place(str(found[0]))


@contextmanager
def looking(path: Path) -> Iterator[Offline]:
    """One consistent look at the rows.

    Raises:
        NotFoundError: There is no such file: no supervisor ever ran on it.
        StoreError: It cannot be read, or was written by another version.
    """
    if not path.exists():
        raise NotFoundError(
            "cannot find published profiles: there is no database yet", details=str(path), resolution="runner serve makes one"
        )
    try:
        with closing(_open(path)) as conn:
            conn.execute("BEGIN")
            yield Offline(conn)
    except sqlite3.Error as error:
        raise StoreError(
            f"cannot read the database {path.name}: {error}",
            details=str(path),
            resolution="runner doctor says more; a supervisor of this version brings an older database up to date",
        ) from error


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_SECONDS, isolation_level=None)
