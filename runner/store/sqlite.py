"""What is special about SQLite: how its file comes to be, how a connection is set up, what proves the file whole (L7)."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from sqlalchemy import Engine, event
from sqlalchemy.pool import ConnectionPoolEntry

from runner.errors import StoreError

#: "runr", in the header of every file of ours.
APPLICATION_ID = 0x72756E72

#: FULL: with WAL the default loses the last commits at a power cut, and a lost `executing` is an effect done twice.
#: Autocheckpoint: so far away that a commit seldom pays for it; `Store.tidy` moves the log into the file beside the work.
_PRAGMAS = ("busy_timeout=30000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=16000")

_RESTORE = "restore a backup of the database; nothing was changed in it"


def prepare(path: Path) -> None:
    """Make the file where there is none; look at the one there is before anything is written.

    Raises:
        StoreError: It cannot be made, is empty, is not ours or is damaged.
    """
    try:
        if path.exists():
            _check(path)
        else:
            _create(path)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"cannot use the database {path.name}: {error}", details=str(path), resolution=_RESTORE) from error


def set_up(engine: Engine) -> None:
    """Make every connection of `engine` durable, patient and immediate; DBOS is handed the same engine."""
    event.listen(engine, "connect", _connected)


def _connected(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = "IMMEDIATE"
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _create(path: Path) -> None:
    """A file under its name is never empty, so an empty one later on is damage and not a first start."""
    log = path.with_name(f"{path.name}-wal")
    if log.exists():
        raise StoreError(f"cannot use the database {path.name}: it is gone but {log.name} is there", resolution=_RESTORE)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    fresh = Path(name)
    try:
        with closing(sqlite3.connect(fresh)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        os.fsync(handle)
        path.hardlink_to(fresh)
    except FileExistsError:
        _check(path)
    finally:
        os.close(handle)
        fresh.unlink()
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check(path: Path) -> None:
    if path.stat().st_size == 0:
        raise StoreError(f"cannot use the database {path.name}: the file is empty", details=str(path), resolution=_RESTORE)
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        (found,) = connection.execute("PRAGMA application_id").fetchone()
        if found != APPLICATION_ID:
            raise StoreError(
                f"cannot use the database {path.name}: it is not one of runner's",
                details=str(path),
                resolution="point RUNNER_DATABASE_URL or RUNNER_STATE_DIR somewhere else",
            )
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise StoreError(f"cannot use the database {path.name}: it is damaged", details=verdict, resolution=_RESTORE)
