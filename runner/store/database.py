"""The database as an object: opened once, asked in whole transactions, closed.

SQLite in WAL mode is the embedded default; a `postgresql+psycopg` URL takes the same code. Whatever is wrong with the
database is a `StoreError`, never an empty answer (L7).
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Concatenate, Literal, NamedTuple, ParamSpec, TypeVar

from alembic.util import CommandError
from sqlalchemy import Connection, Engine, create_engine, func, inspect, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from runner.errors import StoreError
from runner.store import migrate, postgres, sqlite
from runner.store.audit import EVENTS
from runner.store.schema import agents

__all__ = ["Connection", "Engine", "Look", "Store", "keep", "look"]

P = ParamSpec("P")
T = TypeVar("T")
Record = Callable[[Connection], object]
Watch = Callable[[str, Sequence[str]], None]

#: SQLite lets one writer in at a time: more threads would only wait for each other.
_THREADS = 8
_KEPT = "runner.kept"


class Store:
    """The one way to the rows.

    Args:
        url: `sqlite:////path/to/file` or `postgresql+psycopg://…`.
        watch: Told of every transaction's audit events, before and after it is committed; for fault campaigns.
        waits: How long anything waits for a PostgreSQL server.
    """

    def __init__(self, url: str, *, watch: Watch | None = None, waits: postgres.Waits | None = None) -> None:
        self._url = url
        self._watch = watch
        self._waits = waits
        self._engine: Engine | None = None
        self._threads: ThreadPoolExecutor | None = None

    @property
    def engine(self) -> Engine:
        """The open engine, for DBOS; every connection of it is set up by listeners.

        Raises:
            StoreError: The store is not open.
        """
        if self._engine is None:
            raise StoreError("cannot use the database: it is not open")
        return self._engine

    def open(self) -> None:
        """Check the database, bring it to this version's schema and put the triggers in force.

        Raises:
            StoreError: It cannot be reached, is damaged, is not ours, or its schema is newer than this version.
        """
        engine = _connectable(self._url, waits=self._waits)
        try:
            with _as_store_error(), _transaction(engine) as conn:
                if conn.dialect.name == "postgresql":
                    conn.exec_driver_sql("SET LOCAL statement_timeout = 0")  # many rows may have to be written anew
                migrate.upgrade(conn)
        except BaseException:
            engine.dispose()
            raise
        self._engine = engine
        self._threads = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="store")

    def close(self) -> None:
        """Let go of threads and connections; what is under way is finished first."""
        if self._threads is not None:
            self._threads.shutdown()
        if self._engine is not None:
            self._engine.dispose()
        self._engine = self._threads = None

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """One write transaction: all of it or nothing, except what `keep` was told to keep.

        Raises:
            StoreError: The database refused: locked for too long, full, gone, or a trigger stopped an illegal change.
        """
        with _as_store_error():
            kept: list[Record] = []
            try:
                with _transaction(self.engine) as conn:
                    conn.info[_KEPT] = kept
                    events: list[str] = conn.info.setdefault(EVENTS, [])
                    events.clear()
                    yield conn
                    _write(conn, kept)
                    if self._watch is not None:
                        self._watch("before", events)
                if self._watch is not None:
                    self._watch("after", events)
            except BaseException:
                if kept:
                    with _transaction(self.engine) as conn:
                        _write(conn, kept)
                raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One consistent view of the rows that waits for no writer.

        Raises:
            StoreError: The database cannot be read.
        """
        with _as_store_error(), self.engine.connect() as conn:
            if conn.dialect.name == "sqlite":
                conn.exec_driver_sql("BEGIN DEFERRED")
            yield conn

    async def call(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """`fn(conn, …)` in one write transaction, in a worker thread. A cancelled caller does not undo it.

        Raises:
            StoreError: As `begin`.
        """
        return await self._in_thread(partial(_within, self.begin, fn, *args, **kw))

    async def query(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """`fn(conn, …)` on one consistent view, in a worker thread; for reads that must not wait for writers.

        Raises:
            StoreError: As `reading`.
        """
        return await self._in_thread(partial(_within, self.reading, fn, *args, **kw))

    async def tidy(self) -> None:
        """Move what was written into the database's file, where SQLite would have a commit do it; nobody waits for it.

        Raises:
            StoreError: The database cannot be written.
        """
        await self._in_thread(self._tidy)

    def _tidy(self) -> None:
        with _as_store_error(), self.engine.connect() as conn:
            if conn.dialect.name == "sqlite":
                conn.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._threads is None:
            raise StoreError("cannot use the database: it is not open")
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


class Look(NamedTuple):
    """What can be said of a database without opening it for work. `agents`: how many have a uid of their own."""

    state: Literal["absent", "elsewhere", "whole"]
    agents: int = 0


def look(url: str) -> Look:
    """Examine a database, whoever uses it meanwhile; nothing in it is changed, and no other machine is asked.

    Raises:
        StoreError: It cannot be reached, is damaged, is not ours, or its schema is newer than this version.
    """
    with _as_store_error():
        place = make_url(url)
        if place.get_backend_name() != "sqlite" and place.host not in {None, "", "localhost", "127.0.0.1", "::1"}:
            return Look("elsewhere")
        if place.get_backend_name() == "sqlite" and not Path(place.database or "").exists():
            return Look("absent")
        engine = _connectable(url)
        try:
            with engine.connect() as conn:
                migrate.refuse_newer(conn)
                there = inspect(conn).has_table(agents.name)
                return Look("whole", conn.execute(select(func.count()).select_from(agents)).scalar_one() if there else 0)
        finally:
            engine.dispose()


def keep(conn: Connection, record: Record) -> None:
    """Have `record` written even if the transaction of `Store.begin` is about to be undone by an error.

    A refusal must leave a trace and still be raised (B4): the trace goes into a transaction of its own.
    """
    conn.info.setdefault(_KEPT, []).append(record)


def _within(
    door: Callable[[], AbstractContextManager[Connection]],
    fn: Callable[Concatenate[Connection, P], T],
    *args: P.args,
    **kw: P.kwargs,
) -> T:
    with door() as conn:
        return fn(conn, *args, **kw)


def _write(conn: Connection, kept: list[Record]) -> None:
    while kept:
        kept.pop(0)(conn)


@contextmanager
def _transaction(engine: Engine) -> Iterator[Connection]:
    with engine.begin() as conn:
        # The write lock before the first read, so that nothing read here can be outdated by the time it is acted on. The
        # audit's chain lets writers through one by one in any case; taken first, no two can wait for each other.
        if conn.dialect.name == "sqlite":
            conn.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock({sqlite.APPLICATION_ID})")
        yield conn


@contextmanager
def _as_store_error() -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, CommandError, UnicodeEncodeError) as error:
        cause = getattr(error, "orig", None) or error
        raise StoreError(f"cannot use the database: {cause}", details=str(error)) from error


def _connectable(text: str, *, waits: postgres.Waits | None = None) -> Engine:
    try:
        url = make_url(text)
    except (SQLAlchemyError, ValueError) as error:
        raise StoreError("cannot use the database: its URL makes no sense", resolution="check RUNNER_DATABASE_URL") from error
    with _as_store_error():
        match url.get_backend_name():
            case "sqlite":
                return _sqlite(url)
            case "postgresql":
                return postgres.engine(url, waits=waits)
            case other:
                raise StoreError(f"cannot use the database: {other} is not supported", resolution="use sqlite or postgresql")


def _sqlite(url: URL) -> Engine:
    if not url.database or url.database == ":memory:":
        raise StoreError("cannot use the database: it needs a file", resolution="use sqlite:////path/to/file")
    sqlite.prepare(Path(url.database))
    engine = create_engine(url, pool_size=20, pool_timeout=60, hide_parameters=True)
    sqlite.set_up(engine)
    return engine
