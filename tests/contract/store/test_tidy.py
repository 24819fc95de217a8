"""The log of a database is moved into its file beside the work, not by whoever commits next."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.errors import StoreError
from runner.store import Store
from tests.helpers.stored import a_run, url


def rows_in_the_file(path: Path) -> int:
    """Bytes of the file itself; the log is beside it."""
    return path.stat().st_size


def test_what_was_written_moves_into_the_file_when_it_is_tidied(store: Store, path: Path) -> None:
    """2,000 pages of log are more than SQLite lets gather by itself, and no commit has moved them."""
    asyncio.run(store.tidy())
    before = rows_in_the_file(path)
    for _ in range(20):
        with store.begin() as conn:
            for _ in range(50):
                a_run(conn, reply="x" * 8192)
    assert rows_in_the_file(path) == before
    asyncio.run(store.tidy())
    assert rows_in_the_file(path) > before + 8 * 2**20 // 2


def test_a_closed_database_is_not_tidied(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not open"):
        asyncio.run(Store(url(tmp_path / "runner.db")).tidy())
