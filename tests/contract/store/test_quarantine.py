"""A damaged database is refused, put aside on a person's word, and never taken for a first start afterwards (L7)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from runner.errors import StoreError, UsageError
from runner.store import Store, quarantine, sqlite
from tests.helpers.stored import NOW, an_approval, opened, url


def filled(path: Path) -> None:
    with opened(path) as store, store.begin() as conn:
        for _ in range(20):
            an_approval(conn)


def refused(path: Path) -> StoreError:
    with pytest.raises(StoreError) as error:
        Store(url(path)).open()
    return error.value


def empty(path: Path) -> None:
    os.truncate(path, 0)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


def flip_in_header(path: Path) -> None:
    flip(path, 0)


def flip_in_page(path: Path) -> None:
    """The byte that says what kind of page the third one is."""
    flip(path, 2 * 4096)


def text(path: Path) -> None:
    path.write_text("this is no database\n" * 1000)


def flip(path: Path, place: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)
        file.seek(place)
        file.write(bytes([byte[0] ^ 0xFF]))


DAMAGE = [empty, cut, flip_in_header, flip_in_page, text]


@pytest.mark.parametrize("spoil", DAMAGE)
def test_damage_is_refused_with_the_way_out_and_left_as_it_is(spoil: Callable[[Path], None], path: Path) -> None:
    """Bytes of the file and of what it had beside it stay evidence; so does every later start."""
    filled(path)
    spoil(path)
    before = path.read_bytes()
    for _ in range(2):
        assert "runner doctor --quarantine" in str(refused(path).resolution)
    assert path.read_bytes() == before


@pytest.mark.parametrize("spoil", DAMAGE)
def test_what_was_put_aside_is_whole_and_its_place_is_no_first_start(spoil: Callable[[Path], None], path: Path) -> None:
    filled(path)
    copy = path.read_bytes()
    spoil(path)
    damaged = path.read_bytes()
    path.with_name("runner.db-wal").write_bytes(b"log")
    moved = quarantine.put_aside(path, NOW)
    kept = {one.name: one.read_bytes() for one in moved if not one.name.endswith("-shm")}
    assert kept == {"runner.db.damaged-20231114T221320Z": damaged, "runner.db.damaged-20231114T221320Z-wal": b"log"}
    assert "put aside as damaged" in refused(path).brief
    assert not path.exists()
    path.write_bytes(copy)
    with opened(path):
        pass


def test_only_a_person_begins_anew_and_only_after_damage(path: Path) -> None:
    with pytest.raises(UsageError, match="none was put aside"):
        quarantine.begin_anew(path)
    filled(path)
    with pytest.raises(UsageError, match="is there"):
        quarantine.begin_anew(path)
    empty(path)
    quarantine.put_aside(path, NOW)
    quarantine.begin_anew(path)
    with opened(path):
        pass
    assert len(sqlite.put_aside_before(path)) == 1


def test_what_is_whole_foreign_newer_or_not_there_is_not_moved(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        quarantine.put_aside(path, NOW)
    filled(path)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE runner_schema_version SET version_num = '9999'")
    with pytest.raises(UsageError, match="nothing is wrong"):
        quarantine.put_aside(path, NOW)
    theirs = tmp_path / "theirs.db"
    with closing(sqlite3.connect(theirs)) as other:
        other.execute("CREATE TABLE theirs (x)")
    with pytest.raises(StoreError, match="not one of runner's"):
        quarantine.put_aside(theirs, NOW)
    assert sorted(one.name for one in tmp_path.iterdir() if "damaged" in one.name) == []


def test_an_interruption_between_the_files_is_no_first_start_either(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The main file goes first: its log without it is refused."""
    filled(path)
    empty(path)
    path.with_name("runner.db-wal").write_bytes(b"log")
    rename = Path.rename

    def once(self: Path, target: Path) -> Path:
        if self.name.endswith("-wal"):
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", once)
    with pytest.raises(StoreError, match="No space left"):
        quarantine.put_aside(path, NOW)
    refused(path)
    assert not path.exists()


def test_a_second_time_in_the_same_second_writes_over_nothing(path: Path) -> None:
    for expected in (True, False):
        path.write_bytes(b"")
        if expected:
            quarantine.put_aside(path, NOW)
            continue
        with pytest.raises(StoreError, match="there already"):
            quarantine.put_aside(path, NOW)
    assert path.exists()
