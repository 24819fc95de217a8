"""Examining a database without opening it for work: for `runner doctor`, beside a supervisor or without one."""

from pathlib import Path

import pytest
from sqlalchemy import text

from runner.errors import StoreError
from runner.store import Look, look
from tests.helpers.stored import a_run, opened, url


def test_a_database_that_is_not_there_is_not_made(path: Path) -> None:
    assert look(url(path)) == Look("absent")
    assert list(path.parent.iterdir()) == []


def test_a_whole_one_is_counted_beside_whoever_uses_it(path: Path) -> None:
    with opened(path) as store, store.begin() as conn:
        a_run(conn)
    before = path.read_bytes()
    assert look(url(path)) == Look("whole", agents=1)
    assert path.read_bytes() == before
    with opened(path) as store, store.begin() as conn:
        conn.execute(text("UPDATE agents SET uid = uid"))
        assert look(url(path)) == Look("whole", agents=1)


def test_damage_and_a_newer_schema_are_told(path: Path) -> None:
    """L7, issue 3."""
    with opened(path) as store, store.begin() as conn:
        (table,) = [name for name in conn.dialect.get_table_names(conn) if name.endswith("version")]
        conn.execute(text(f"UPDATE {table} SET version_num = 'v9999'"))
    with pytest.raises(StoreError, match="newer than this version"):
        look(url(path))
    path.write_bytes(path.read_bytes()[:4096] + b"\0" * 4096)
    with pytest.raises(StoreError):
        look(url(path))


def test_a_database_on_another_machine_is_not_asked() -> None:
    assert look("postgresql+psycopg://user:secret@db.example/runner") == Look("elsewhere")


def test_a_url_that_makes_no_sense_is_told() -> None:
    with pytest.raises(StoreError):
        look("nonsense")
