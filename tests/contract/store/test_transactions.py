"""Whole transactions: all or nothing, kept records, threads, and what every connection is set up with."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from runner.errors import NotFoundError, StoreError
from runner.model import RunId
from runner.store import Connection, Store, audit, keep, meta, runs
from tests.helpers.stored import a_run, url


def test_every_connection_is_durable_patient_and_checks_references(store: Store) -> None:
    names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    with store.engine.connect() as conn:
        found = {name: conn.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names}
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30000}


def test_an_error_undoes_the_whole_transaction(store: Store) -> None:
    def change(conn: Connection) -> None:
        ids.append(a_run(conn).id)
        raise ZeroDivisionError

    ids: list[RunId] = []
    with pytest.raises(ZeroDivisionError), store.begin() as conn:
        change(conn)
    with pytest.raises(NotFoundError), store.begin() as conn:
        runs.get(conn, ids[0])
    with store.begin() as conn:
        assert conn.execute(text("SELECT count(*) FROM audit")).scalar() == 0


def test_what_is_kept_survives_the_error_that_undoes_the_rest(store: Store) -> None:
    def change(conn: Connection) -> None:
        meta.put(conn, "lost", "1")
        keep(conn, lambda conn: meta.put(conn, "kept", "1"))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), store.begin() as conn:
        change(conn)
    with store.begin() as conn:
        assert (meta.get(conn, "lost"), meta.get(conn, "kept")) == (None, "1")


def test_what_is_kept_is_written_once_when_nothing_goes_wrong(store: Store) -> None:
    written: list[Connection] = []
    with store.begin() as conn:
        keep(conn, written.append)
        assert written == []
    with store.begin():
        pass
    assert len(written) == 1


def test_a_writer_waits_for_another_before_it_reads(store: Store) -> None:
    def bump(conn: Connection) -> None:
        meta.put(conn, "n", str(int(meta.get(conn, "n") or 0) + 1))

    def worker() -> None:
        for _ in range(5):
            with store.begin() as conn:
                bump(conn)

    threads = [threading.Thread(target=worker) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.begin() as conn:
        assert meta.get(conn, "n") == "40"


def test_a_reader_waits_for_no_writer_and_sees_what_was_committed(store: Store) -> None:
    with store.begin() as writer:
        meta.put(writer, "n", "1")
        with store.reading() as reader:
            assert meta.get(reader, "n") is None


def test_calls_and_queries_run_in_threads_of_the_store(store: Store) -> None:
    def put(conn: Connection, value: str, *, key: str) -> str:
        meta.put(conn, key, value)
        return threading.current_thread().name

    async def main() -> None:
        assert (await store.call(put, "1", key="k")).startswith("store")
        assert await store.query(meta.get, "k") == "1"
        with pytest.raises(NotFoundError):
            await store.call(runs.find, "r_222222")

    asyncio.run(main())


def test_the_database_refusing_is_a_store_error(store: Store) -> None:
    with pytest.raises(StoreError, match="FOREIGN KEY"), store.begin() as conn:
        conn.execute(text("INSERT INTO transcript VALUES ('r_none', 1, 0, 0, 'x')"))
    with pytest.raises(StoreError), store.begin() as conn:
        meta.put(conn, "half", "\ud800")


def test_a_closed_store_answers_nothing(path: Path) -> None:
    store = Store(url(path))
    with pytest.raises(StoreError, match="not open"), store.begin():
        pass
    store.open()
    store.close()
    store.close()
    with pytest.raises(StoreError, match="not open"):
        asyncio.run(store.call(audit.verify))


def test_a_full_disk_is_a_store_error_and_loses_nothing(store: Store, path: Path) -> None:
    """A3: simulated with SQLite's own cap on pages."""
    with store.begin() as conn:
        run = a_run(conn)

    def fill(conn: Connection) -> None:
        conn.exec_driver_sql(f"PRAGMA max_page_count={path.stat().st_size // 4096 + 200}")
        for n in range(1000):
            meta.put(conn, f"fill-{n}", "x" * 100_000)

    with pytest.raises(StoreError, match="full"), store.begin() as conn:
        fill(conn)
    with store.begin() as conn:
        assert (runs.get(conn, run.id), audit.verify(conn)) == (run, None)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
