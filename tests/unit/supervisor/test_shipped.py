"""The shipped examples: published once in a state directory's life."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.errors import NotFoundError
from runner.store import Connection, Store, profiles
from runner.supervisor.shipped import FOLDER, publish_shipped
from tests.helpers.stored import ANNA, NOW, opened


def names(store: Store) -> list[str]:
    with store.reading() as conn:
        return sorted(row.name for row in profiles.all(conn))


def first_start(store: Store, folder: Path) -> None:
    asyncio.run(publish_shipped(store, folder, now=NOW))


def test_a_first_start_publishes_every_example_over_a_folder_of_its_own(tmp_path: Path) -> None:
    """Issue 2 item 4."""
    with opened(tmp_path / "db") as store:
        first_start(store, tmp_path)
        assert {"reader", "scribe"} <= set(names(store))
        with store.reading() as conn:
            found = profiles.current(conn, "scribe")
        assert str(tmp_path / FOLDER) in found.text


def test_a_later_start_publishes_nothing_again(tmp_path: Path) -> None:
    """A retired example stays retired, and what the operator changed in the folder stays changed."""
    with opened(tmp_path / "db") as store:
        first_start(store, tmp_path)
        mine = tmp_path / FOLDER / "reader.toml"
        mine.write_text("# mine\n")

        def retire(conn: Connection) -> None:
            profiles.retire(conn, "reader", who=ANNA, now=NOW)

        with store.begin() as conn:
            retire(conn)
        first_start(store, tmp_path)
        assert mine.read_text() == "# mine\n"
        with store.reading() as conn, pytest.raises(NotFoundError):
            profiles.current(conn, "reader")


def test_a_copy_that_was_interrupted_is_made_again(tmp_path: Path) -> None:
    """Nobody was told of it yet."""
    with opened(tmp_path / "db") as store:
        (tmp_path / FOLDER).mkdir()
        (tmp_path / FOLDER / "half.toml").write_text("schema = ")
        first_start(store, tmp_path)
        assert not (tmp_path / FOLDER / "half.toml").exists()
        assert "scribe" in names(store)


def test_the_copies_can_be_changed_by_the_operator(tmp_path: Path) -> None:
    """The package's own files may be read-only."""
    with opened(tmp_path / "db") as store:
        first_start(store, tmp_path)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / FOLDER).rglob("*") if path.is_file()}
    assert modes == {0o644}
