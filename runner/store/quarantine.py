"""A damaged SQLite file put aside, whole, and what its place means until something stands there again (L7).

Nothing is moved but on a person's word, and only what certainly is damaged: a file that is merely not ours, of another version
or unreadable for the moment stays where it is. While the place is empty and something lies beside it that was put aside, no
start takes that for a first one.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from runner.errors import StoreError, UsageError
from runner.store import sqlite

#: With the main file gone first, an interruption leaves a log without its file, which no start accepts.
_PARTS = ("", "-wal", "-shm")


def put_aside(path: Path, now: float) -> tuple[Path, ...]:
    """Rename a damaged database and its logs; what is renamed is kept byte for byte.

    Args:
        path: The database's file; nobody has it open.
        now: Epoch seconds, for the new names.

    Returns:
        The new names.

    Raises:
        UsageError: It is not there, or nothing is wrong with it.
        StoreError: It is not damaged but another program's, or cannot be moved.
    """
    if not path.exists():
        raise UsageError(f"cannot put {path} aside: there is no such file")
    try:
        found = sqlite.damage(path)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"cannot put {path} aside: {error}", resolution="mend that first; nothing was moved") from error
    if found is None:
        raise UsageError(f"cannot put {path} aside: nothing is wrong with it", resolution="runner up")
    stamp = f"{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}"
    moved = []
    try:
        for part in _PARTS:
            old, new = path.with_name(path.name + part), path.with_name(f"{path.name}{sqlite.ASIDE}{stamp}{part}")
            if not old.exists():
                continue
            if new.exists():
                raise StoreError(f"cannot put {path} aside: {new.name} is there already", resolution="try again in a second")
            old.rename(new)
            moved.append(new)
        sqlite.sync_directory(path.parent)
    except OSError as error:
        raise StoreError(
            f"cannot put {path} aside: {error.strerror}", details=", ".join(map(str, moved)), resolution="move it by hand"
        ) from error
    return tuple(moved)


def begin_anew(path: Path) -> None:
    """Make an empty database where one was put aside; everything that was in that one is given up.

    Raises:
        UsageError: Something stands there, or nothing was ever put aside.
        StoreError: It cannot be made.
    """
    if path.exists():
        raise UsageError(f"cannot make a new database: {path} is there", resolution="runner doctor says whether it is whole")
    if not sqlite.put_aside_before(path):
        raise UsageError("cannot make a new database: none was put aside", resolution="runner up makes the first one by itself")
    try:
        sqlite.create(path)
    except OSError as error:
        raise StoreError(f"cannot make a new database: {error.strerror}", details=str(path)) from error
