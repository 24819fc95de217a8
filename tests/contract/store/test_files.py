"""L7: a database that is not whole, not ours or not understood is refused and left as it is, never taken for an empty one."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from runner.errors import StoreError
from runner.store import Store, audit, runs
from tests.helpers.stored import a_run, an_approval, opened, url


def filled(path: Path) -> None:
    with opened(path) as store:
        for _ in range(20):
            with store.begin() as conn:
                an_approval(conn)


def refused(path: Path) -> str:
    """Opening fails, twice, and leaves every byte as it is."""
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(StoreError) as caught:
            Store(url(path)).open()
    assert path.read_bytes() == before
    return caught.value.brief


def test_a_new_file_is_private_and_has_no_leftovers(path: Path) -> None:
    with opened(path):
        assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in path.parent.iterdir()] == ["runner.db"]


def test_rows_are_there_after_closing_and_opening_again(path: Path) -> None:
    with opened(path) as store, store.begin() as conn:
        run = a_run(conn)
    with opened(path) as store, store.begin() as conn:
        assert runs.get(conn, run.id) == run
        assert audit.verify(conn) is None


def test_an_empty_file_is_damage_and_not_a_first_start(path: Path) -> None:
    path.touch()
    assert refused(path) == "cannot use the database runner.db: the file is empty"


def test_a_file_of_text_is_refused(path: Path) -> None:
    path.write_text("this is no database\n" * 1000)
    assert "file is not a database" in refused(path)


def test_the_database_of_another_program_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (x)")
    assert refused(path) == "cannot use the database runner.db: it is not one of runner's"


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_cut_off_file_is_refused(path: Path, part: float) -> None:
    filled(path)
    pages = int(path.stat().st_size * part) // 4096
    os.truncate(path, pages * 4096)
    refused(path)


def test_a_page_of_other_bytes_is_refused(path: Path) -> None:
    filled(path)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xa5" * 4096)
    refused(path)


def test_a_newer_schema_is_refused(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE runner_schema_version SET version_num = '9999'")
    assert refused(path) == "cannot use the database: its schema 9999 is newer than this version of runner"


def test_a_missing_table_is_refused(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DROP TABLE transcript")
    assert refused(path) == "cannot use the database: it has no table transcript"


def test_a_lost_version_table_is_not_a_reason_to_start_over(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DROP TABLE runner_schema_version")
    refused(path)


def test_a_log_without_its_file_is_refused(path: Path) -> None:
    path.with_name("runner.db-wal").write_bytes(b"x")
    with pytest.raises(StoreError, match="it is gone but"):
        Store(url(path)).open()
    assert not path.exists()


def test_a_missing_directory_and_a_directory_in_its_place_are_refused(path: Path) -> None:
    with pytest.raises(StoreError):
        Store(url(path / "deeper.db")).open()
    path.mkdir()
    with pytest.raises(StoreError):
        Store(url(path)).open()


@pytest.mark.parametrize(
    "text", ["sqlite://", "sqlite:///:memory:", "mysql://host/db", "no url", "postgresql+psycopg://:bad port"]
)
def test_a_url_that_names_no_lasting_database_is_refused(text: str) -> None:
    with pytest.raises(StoreError):
        Store(text).open()


def test_a_row_of_unknown_meaning_is_an_error_and_no_default(path: Path) -> None:
    with opened(path) as store:
        with store.begin() as conn:
            run = a_run(conn)
        with closing(sqlite3.connect(path)) as raw, raw:
            raw.execute("DROP TRIGGER runner_runs_update")
            raw.execute("UPDATE runs SET state = 'dreaming'")
        with pytest.raises(StoreError, match="a value this version does not know"), store.begin() as conn:
            runs.get(conn, run.id)
