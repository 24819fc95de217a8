"""What is special about PostgreSQL: a client that is an extra, an end to every wait, a read-only look without SQLAlchemy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Engine, create_engine, event

from runner.errors import StoreError

if TYPE_CHECKING:
    import psycopg

_SCHEME = "postgresql+psycopg://"
_SECONDS = 5
_ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """How many seconds at most.

    One beat of a lease waits for a connection, then for the writers' lock, and is followed by another beat before the default
    lease of 60 seconds is over. A writer that stands still in the midst of a transaction is put out by the server.
    """

    connect: int = 5
    silence: int = 20  #: without a word from the server's machine, after which a connection counts as dead
    lock: float = 20.0  #: for the writers' lock, or any other
    statement: float = 30.0  #: for one answer, waiting for locks included
    idle: float = 30.0  #: between two statements of a transaction: others wait for it
    pool: float = 20.0  #: for a connection that is free

    @property
    def client(self) -> dict[str, int]:
        """For the client's library."""
        return {
            "connect_timeout": self.connect,
            "keepalives_idle": self.silence // 2,
            "keepalives_interval": self.silence // 4,
            "keepalives_count": 2,
            "tcp_user_timeout": self.silence * 1000,
        }

    @property
    def server(self) -> dict[str, float]:
        """For the server, by the names of its settings."""
        return {
            "lock_timeout": self.lock,
            "statement_timeout": self.statement,
            "idle_in_transaction_session_timeout": self.idle,
        }


def engine(url: URL, *, waits: Waits | None = None) -> Engine:
    """An engine whose every wait ends, for what runs on this machine. What the URL itself says of a wait goes before.

    A server that stands still as a whole answers no client in time and hears no time-out of its own; the lease has a watch for
    that, which asks nothing of it.

    Raises:
        StoreError: Its client is not installed.
    """
    waits = waits or Waits()
    said = " ".join(_values(url, "options"))
    server = {name: seconds for name, seconds in waits.server.items() if name not in said}
    client = {name: value for name, value in waits.client.items() if name not in url.query}
    try:
        made = create_engine(
            url, pool_size=20, pool_timeout=waits.pool, pool_pre_ping=True, hide_parameters=True, connect_args=client
        )
    except ImportError as error:
        raise no_client() from error
    event.listen(made, "connect", _setting(server))
    return made


def _setting(values: Mapping[str, float]) -> Any:
    """Sets a new connection up. Not by the URL's `options`, which a pooler between here and the server may refuse."""

    def connected(connection: Any, _entry: object) -> None:
        for name, seconds in values.items():
            connection.execute(f"SET {name} = {int(seconds * 1000)}")
        connection.commit()  # a connection that comes back to the pool is rolled back

    return connected


def _values(url: URL, name: str) -> tuple[str, ...]:
    value = url.query.get(name, ())
    return (value,) if isinstance(value, str) else value


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
