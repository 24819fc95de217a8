"""What is special about PostgreSQL: its client, which is an extra of the package, and a read-only look without SQLAlchemy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from runner.errors import StoreError

if TYPE_CHECKING:
    import psycopg

_SCHEME = "postgresql+psycopg://"
_SECONDS = 5
_ROWS_AT_ONCE = 1000


@contextmanager
def asking(url: str) -> Iterator[Server]:
    """One consistent view of a server's rows, in a transaction that cannot write.

    Raises:
        StoreError: It is no PostgreSQL, cannot be reached or read, or its client is not installed.
    """
    if not url.startswith(_SCHEME):
        raise StoreError("cannot use the database: it is neither SQLite nor PostgreSQL", resolution="check RUNNER_DATABASE_URL")
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise no_client() from error
    try:
        with closing(psycopg.connect(f"postgresql://{url.removeprefix(_SCHEME)}", connect_timeout=_SECONDS)) as conn:
            conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            conn.read_only = True
            yield Server(conn)
    except (psycopg.Error, UnicodeError) as error:
        raise StoreError(
            f"cannot read the database: {str(error).strip().splitlines()[0]}",
            resolution="runner doctor says more; a supervisor of this version makes the tables and brings them up to date",
        ) from error


def no_client() -> StoreError:
    """The extra is not installed."""
    return StoreError(
        "cannot use the database: the client for PostgreSQL is not installed",
        resolution="pip install 'hosted-agent-runner[postgres]'",
    )


class Server:
    """Asked row by row, so that an audit of any length fits in memory."""

    def __init__(self, conn: psycopg.Connection[tuple[object, ...]]) -> None:
        self._conn = conn

    def rows(self, query: str, *values: str, exact: bool = False) -> Iterator[tuple[object, ...]]:
        """What a query finds; text is always text here, so every answer is `exact`."""
        del exact
        with self._conn.cursor(name="rows") as cursor:
            cursor.itersize = _ROWS_AT_ONCE
            cursor.execute(query.replace("?", "%s").encode(), values)
            yield from cursor
