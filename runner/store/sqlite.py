"""What is special about SQLite: how its file comes to be, how a connection is set up, what proves the file whole (L7)."""

from __future__ import annotations

import glob
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Engine, event
from sqlalchemy.pool import ConnectionPoolEntry

from runner.errors import StoreError

#: "runr", in the header of every file of ours.
APPLICATION_ID = 0x72756E72

#: FULL: with WAL the default loses the last commits at a power cut, and a lost `executing` is an effect done twice.
#: Autocheckpoint: so far away that a commit seldom pays for it; `Store.tidy` moves the log into the file beside the work.
_PRAGMAS = (
    "busy_timeout=30000",
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "wal_autocheckpoint=16000",
    "secure_delete=ON",
)

#: SQLite's own words for a file that is at fault itself, and not a lock, a right or the disk of the moment.
_CERTAIN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
#: What stands in the name of a file that was put aside.
ASIDE = ".damaged-"

_RESTORE = "restore a backup of the database; nothing was changed in it"
_DAMAGED = "runner doctor --quarantine puts it aside, as it is; then restore a backup. Nothing was changed in it"


def prepare(path: Path) -> None:
    """Make the file where there is none; look at the one there is before anything is written.

    Raises:
        StoreError: It cannot be made, is empty, is not ours or is damaged.
    """
    try:
        if not path.exists():
            _refuse_after_damage(path)
            create(path)
            return
        found = damage(path)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"cannot use the database {path.name}: {error}", details=str(path), resolution=_RESTORE) from error
    if found is not None:
        raise StoreError(f"cannot use the database {path.name}: {found}", details=str(path), resolution=_DAMAGED)


def set_up(engine: Engine) -> None:
    """Make every connection of `engine` durable, patient and immediate; DBOS is handed the same engine."""
    event.listen(engine, "connect", _connected)


def _connected(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = "IMMEDIATE"
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def damage(path: Path) -> str | None:
    """What certainly is wrong with a file; None when nothing is found. Nothing is written to it or to its log.

    Raises:
        StoreError: It is another program's.
        OSError: It cannot be looked at.
        sqlite3.Error: It cannot be read for another reason than its own state, such as a lock.
    """
    if path.stat().st_size == 0:
        return "the file is empty"
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=30)) as connection:
            (found,) = connection.execute("PRAGMA application_id").fetchone()
            if found != APPLICATION_ID:
                raise StoreError(
                    f"cannot use the database {path.name}: it is not one of runner's",
                    details=str(path),
                    resolution="point RUNNER_DATABASE_URL or RUNNER_STATE_DIR somewhere else",
                )
            (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _CERTAIN:
            raise
        return f"it is damaged: {error}"
    return None if verdict == "ok" else f"it is damaged: {verdict.splitlines()[0]}"


def put_aside_before(path: Path) -> tuple[Path, ...]:
    """What was put aside from this place."""
    return tuple(sorted(path.parent.glob(f"{glob.escape(path.name)}{ASIDE}*")))


def create(path: Path) -> None:
    """Make the file. Under its name it is never empty, so an empty one later on is damage and not a first start.

    Raises:
        StoreError: Its log is there without it.
        OSError: It cannot be made.
    """
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
        prepare(path)
    finally:
        os.close(handle)
        fresh.unlink()
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Have the names in a directory outlive a power cut."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _refuse_after_damage(path: Path) -> None:
    aside = put_aside_before(path)
    if aside:
        raise StoreError(
            f"cannot use the database {path.name}: it was put aside as damaged, and nothing stands in its place",
            details="\n".join(map(str, aside)),
            resolution=f"restore a backup to {path}; or runner doctor --new-database gives up what was in it",
        )
