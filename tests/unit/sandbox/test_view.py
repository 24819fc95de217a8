"""The host's view of a live snapshot, and how an effect shows in it (design.md §3.7, cases 23, 35)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from runner.errors import SnapshotError
from runner.paths import EntryKind
from runner.sandbox.beneath import Beneath
from runner.sandbox.snapshot import SnapshotView, apply_bytes, apply_directory
from runner.sandbox.view import apply_removal


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    root = tmp_path / "snapshot"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.txt").write_bytes(b"old")
    (root / "sub" / "a.txt").chmod(0o444)
    (root / "out").symlink_to(tmp_path)
    return root


def test_what_stands_where(snapshot):
    os.mkfifo(snapshot / "pipe")
    with Beneath.open(snapshot) as beneath:
        view = SnapshotView(beneath)
        kinds = {name: view.kind((name,)) for name in ("sub", "out", "pipe", "absent")}
        assert kinds == {
            "sub": EntryKind.DIRECTORY,
            "out": EntryKind.LINK,
            "pipe": EntryKind.SPECIAL,
            "absent": EntryKind.ABSENT,
        }
        assert view.kind(("sub", "a.txt")) is EntryKind.FILE
        assert view.kind(()) is EntryKind.DIRECTORY
        assert view.link_target(("out",)) == str(snapshot.parent)
        assert (view.hard_links(("sub", "a.txt")), view.size(("sub", "a.txt"))) == (1, 3)


@pytest.mark.parametrize("parts", [("out", "snapshot"), ("sub", "a.txt", "x"), ("..",), ("a\0",), ("n" * 300,)])
def test_trouble_is_an_oserror_and_not_absence(snapshot, parts):
    with Beneath.open(snapshot) as beneath:
        view = SnapshotView(beneath)
        for ask in (view.kind, view.link_target, view.hard_links, view.size):
            with pytest.raises(OSError, match=r"Errno"):
                ask(parts)


def test_an_effect_shows_and_missing_directories_are_made(snapshot):
    apply_bytes(snapshot, ("new", "deep", "b.txt"), b"b")
    apply_bytes(snapshot, ("sub", "a.txt"), b"new")
    apply_directory(snapshot, ("made", "below"))
    apply_directory(snapshot, ("made", "below"))
    assert (snapshot / "new" / "deep" / "b.txt").read_bytes() == b"b"
    assert (snapshot / "sub" / "a.txt").read_bytes() == b"new"
    assert stat.S_IMODE((snapshot / "sub" / "a.txt").stat().st_mode) == 0o444
    assert stat.S_IMODE((snapshot / "made" / "below").stat().st_mode) == 0o755


def test_what_is_taken_back_is_gone_from_the_snapshot_and_nothing_else(snapshot):
    apply_directory(snapshot, ("made", "below"))
    apply_removal(snapshot, ("sub", "a.txt"))
    apply_removal(snapshot, ("sub", "a.txt"))
    apply_removal(snapshot, ("made", "below"))
    apply_removal(snapshot, ("never", "there"))
    assert sorted(str(p.relative_to(snapshot)) for p in snapshot.rglob("*")) == ["made", "out", "sub"]
    apply_directory(snapshot, ("made", "below"))
    for parts in (("made",), ("out", "w.txt")):
        with pytest.raises(SnapshotError):
            apply_removal(snapshot, parts)
    assert (snapshot / "made" / "below").is_dir()


def test_who_may_execute_a_file_stays_as_it_was(snapshot):
    (snapshot / "sub" / "a.txt").chmod(0o555)
    apply_bytes(snapshot, ("sub", "a.txt"), b"#!")
    assert stat.S_IMODE((snapshot / "sub" / "a.txt").stat().st_mode) == 0o555


def test_an_effect_does_not_follow_a_link_out(snapshot, tmp_path):
    """Case 23."""
    for parts in (("out", "w.txt"), ("sub", "a.txt", "w.txt")):
        with pytest.raises(SnapshotError):
            apply_bytes(snapshot, parts, b"x")
        with pytest.raises(SnapshotError):
            apply_directory(snapshot, parts)
    assert [p.name for p in tmp_path.iterdir()] == ["snapshot"]
    assert sorted(p.name for p in snapshot.rglob("*")) == ["a.txt", "out", "sub"]
