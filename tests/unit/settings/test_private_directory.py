"""Case 36: a directory of ours is ours alone, or the supervisor does not start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.errors import SettingsError
from runner.settings import private_directory


def test_it_is_made_private_with_its_parents(tmp_path: Path) -> None:
    path = private_directory(tmp_path / "a" / "b")
    assert [found.stat().st_mode & 0o777 for found in (path, path.parent)] == [0o700, 0o700]
    assert private_directory(path) == path


def test_a_planted_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(SettingsError, match="link"):
        private_directory(tmp_path / "link")


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="no directory"):
        private_directory(tmp_path / "file")


def test_a_directory_open_to_others_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    with pytest.raises(SettingsError, match="other users"):
        private_directory(tmp_path / "open")
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o755


def test_a_parent_that_anybody_can_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(SettingsError, match="anybody"):
        private_directory(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_another_users_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(SettingsError, match=f"uid {owner}"):
        private_directory(tmp_path / "theirs")
