"""What of the agent's directory is copied, and what is left out with which reason (cases 14, 21-35, 41, 106, 107, 110)."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.errors import SnapshotError
from runner.sandbox.snapshot import LeftOut, SnapshotReport, take_snapshot

pytestmark = pytest.mark.usefixtures("strict_umask")


@pytest.fixture
def strict_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "in.txt").write_bytes(b"INSIDE-DATA")
    (work / "sub" / "a.txt").write_bytes(b"a")
    (tmp_path / "secret.txt").write_bytes(b"OUTSIDE-SECRET")
    return work


def copy(work: Path, **changes) -> SnapshotReport:
    options = {"read": ["**"], "hide": [], "max_bytes": 10_000, "max_files": 100, "allow_hard_links": False} | changes
    return take_snapshot(work, work.parent / "copy", **options)


def tree(root: Path) -> dict[str, str | bytes | None]:
    """Every name beneath `root`: bytes of a file, target of a link, None for a directory."""
    found: dict[str, str | bytes | None] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        found[name] = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


PLAIN = {"in.txt": b"INSIDE-DATA", "sub": None, "sub/a.txt": b"a"}


def test_regular_files_and_directories_are_copied(work, tmp_path):
    (work / "empty").mkdir()
    assert copy(work) == SnapshotReport(files=2, bytes=12)
    assert tree(tmp_path / "copy") == {**PLAIN, "empty": None}


def test_the_copy_is_readable_by_all_writable_by_none_whatever_the_umask(work, tmp_path):
    (work / "run.sh").write_bytes(b"#!/bin/sh\n")
    (work / "run.sh").chmod(0o4755)
    (work / "in.txt").chmod(0o600)
    copy(work)
    modes = {p.relative_to(tmp_path).as_posix(): stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "copy").rglob("*")}
    assert modes == {"copy/in.txt": 0o444, "copy/run.sh": 0o555, "copy/sub": 0o755, "copy/sub/a.txt": 0o444}
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o755


def test_times_are_kept(work, tmp_path):
    os.utime(work / "in.txt", (1_000_000_000, 1_000_000_000))
    copy(work)
    assert (tmp_path / "copy" / "in.txt").stat().st_mtime == 1_000_000_000


def test_socket_pipe_and_device_are_left_out(work, tmp_path, monkeypatch):
    """Cases 32, 107."""
    monkeypatch.chdir(work)
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("door")
        report = copy(work)
    assert report.left_out == (LeftOut(path="door", reason="socket"), LeftOut(path="pipe", reason="named pipe"))
    assert tree(tmp_path / "copy") == PLAIN


def test_a_hard_link_is_left_out_unless_allowed(work, tmp_path):
    """Case 29."""
    os.link(tmp_path / "secret.txt", work / "hard.txt")
    report = copy(work)
    assert report.left_out == (LeftOut(path="hard.txt", reason="it has another name too (hard link)"),)
    assert tree(tmp_path / "copy") == PLAIN


def test_an_allowed_hard_link_is_copied_as_a_file_of_its_own(work, tmp_path):
    os.link(work / "in.txt", work / "same.txt")
    copy(work, allow_hard_links=True)
    assert tree(tmp_path / "copy") == {**PLAIN, "same.txt": b"INSIDE-DATA"}
    assert (tmp_path / "copy" / "same.txt").stat().st_nlink == 1


def test_links_out_are_left_out(work, tmp_path):
    """Cases 21, 22, 25, 26, 32, 35."""
    targets = {
        "l1": str(tmp_path / "secret.txt"),
        "l2": "../secret.txt",
        "l3": str(tmp_path),
        "l4": "/proc/self/root",
        "l5": "l5",
        "l6": "/dev/zero",
        "l7": str(work / "in.txt"),
        "l8": "/etc/hostname",
        "l9": "/workspaces/in.txt",
        "la": "../work/in.txt",
        "lb": "sub/../../work/in.txt",
        "lc": "l3/secret.txt",
        "ld": "/workspace/../workspace/in.txt",
        "le": "/",
    }
    for name, target in targets.items():
        (work / name).symlink_to(target)
    report = copy(work)
    assert tree(tmp_path / "copy") == PLAIN
    assert {item.path for item in report.left_out} == set(targets)


def test_links_inside_are_kept_as_written(work, tmp_path):
    """Cases 33, 35: also through other links, and with the container's own absolute spelling."""
    kept = {
        "ok": "sub",
        "abs": "/workspace/sub/a.txt",
        "root": "/workspace",
        "here": ".",
        "up": "sub/../in.txt",
        "chain": "ok/a.txt",
        "deep": "ok/../in.txt",
        "slashes": "//workspace/in.txt",
    }
    for name, target in kept.items():
        (work / name).symlink_to(target)
    report = copy(work)
    assert report == SnapshotReport(files=2 + len(kept), bytes=12)
    copied = tree(tmp_path / "copy")
    assert {name: copied[name] for name in kept} == kept


def test_a_link_to_what_was_left_out_is_left_out(work, tmp_path):
    (work / ".env").write_bytes(b"KEY=1")
    (work / "env").symlink_to(".env")
    (work / "env2").symlink_to("env")
    os.link(tmp_path / "secret.txt", work / "hard.txt")
    (work / "soft").symlink_to("hard.txt")
    copy(work, hide=[".env"])
    assert tree(tmp_path / "copy") == PLAIN


def test_a_long_chain_of_links_is_cut(work, tmp_path):
    (work / "c0").symlink_to("in.txt")
    for number in range(1, 60):
        (work / f"c{number}").symlink_to(f"c{number - 1}")
    copy(work)
    kept = {name for name in tree(tmp_path / "copy") if name.startswith("c")}
    assert kept == {f"c{number}" for number in range(40)}


def test_links_that_multiply_are_resolved_in_bounded_time(work):
    (work / "x0").symlink_to("sub")
    for number in range(1, 30):
        (work / f"x{number}").symlink_to(f"x{number - 1}/../" * 30 + f"x{number - 1}")
    copy(work)


@pytest.mark.parametrize("name", [".env", ".ENV", ".Env"])
def test_hiding_ignores_case(work, tmp_path, name):
    """Cases 14, 110."""
    (work / name).write_bytes(b"KEY")
    report = copy(work, hide=[".env"])
    assert report.left_out == (LeftOut(path=name, reason="hidden"),)
    assert tree(tmp_path / "copy") == PLAIN


@pytest.mark.parametrize("pattern", ["Private", "private/", "**/private/**", "/private", "PRIVATE/*"])
def test_a_hidden_directory_is_not_entered_and_nothing_in_it_comes_back(work, tmp_path, pattern):
    (work / "private").mkdir()
    (work / "private" / "keep.txt").write_bytes(b"x")
    copy(work, hide=[pattern, "!keep.txt", "!private/keep.txt"] if not pattern.endswith("*") else [pattern])
    assert "private/keep.txt" not in tree(tmp_path / "copy")


def test_a_link_named_like_a_hidden_directory_is_hidden(work, tmp_path):
    (work / "private").symlink_to("sub")
    copy(work, hide=["private/"])
    assert tree(tmp_path / "copy") == PLAIN


def test_only_what_read_selects_is_copied_with_the_directories_it_needs(work, tmp_path):
    (work / "docs" / "en").mkdir(parents=True)
    (work / "docs" / "en" / "a.md").write_bytes(b"m")
    (work / "other").mkdir()
    assert copy(work, read=["docs/**/*.md"]) == SnapshotReport(files=1, bytes=1)
    assert tree(tmp_path / "copy") == {"docs": None, "docs/en": None, "docs/en/a.md": b"m"}


def test_what_read_takes_back_is_left_out_whatever_its_case(work, tmp_path):
    (work / "X.KEY").write_bytes(b"k")
    (work / "vault").mkdir()
    (work / "vault" / "a").write_bytes(b"k")
    copy(work, read=["**", "!*.key", "!vault/"])
    assert tree(tmp_path / "copy") == PLAIN


def test_a_pattern_that_means_nothing_refuses_the_snapshot(work, tmp_path):
    with pytest.raises(SnapshotError, match="patterns of `hide`"):
        copy(work, hide=["!"])
    assert not (tmp_path / "copy").exists()


def test_a_name_that_is_not_utf8_is_left_out_and_shown_escaped(work, tmp_path):
    (Path(os.fsdecode(os.fsencode(work) + b"/bad\xff"))).write_bytes(b"x")
    assert copy(work).left_out == (LeftOut(path="bad\\xff", reason="the name is not valid UTF-8"),)
    assert tree(tmp_path / "copy") == PLAIN


def test_look_alikes_are_ordinary_names(work, tmp_path):
    """Case 13: nothing is normalised."""
    names = ["\uff0e\uff0e", "e\u0301", "é", "~", "-rf", "a\nb"]
    for name in names:
        (work / name).write_bytes(b"x")
    copy(work)
    assert set(names) < set(tree(tmp_path / "copy"))


@pytest.mark.parametrize(
    ("caps", "says"), [({"max_bytes": 11}, "11 bytes"), ({"max_files": 2}, "2 files, links and directories")]
)
def test_over_a_cap_nothing_is_left(work, tmp_path, caps, says):
    with pytest.raises(SnapshotError, match=says) as caught:
        copy(work, **caps)
    assert caught.value.resolution is not None
    assert not (tmp_path / "copy").exists()


def test_at_its_caps_a_directory_is_copied(work):
    assert copy(work, max_bytes=12, max_files=3) == SnapshotReport(files=2, bytes=12)


def test_links_and_names_count_too(work):
    for number in range(3):
        (work / f"l{number}").symlink_to("in.txt")
    with pytest.raises(SnapshotError, match="5 files"):
        copy(work, max_files=5)
    for number in range(100):
        os.mkfifo(work / f"p{number}")
    with pytest.raises(SnapshotError, match="80 names"):
        copy(work, max_files=4, read=["sub/**"])


def test_a_sparse_giant_is_refused_by_its_size(work):
    with (work / "giant").open("wb") as giant:
        giant.truncate(2**40)
    with pytest.raises(SnapshotError, match="10000 bytes"):
        copy(work)


def test_the_report_of_what_was_left_out_is_capped_but_counted(work):
    for number in range(300):
        os.mkfifo(work / f"p{number:03}")
    report = copy(work)
    assert (len(report.left_out), report.left_out_count) == (200, 300)


def test_too_deep_is_left_out(work):
    path = work
    for _ in range(70):
        path = path / "d"
        path.mkdir()
    report = copy(work)
    assert [item.reason for item in report.left_out] == ["deeper than 64 directories"]


def test_a_directory_above_the_root_may_be_a_link(work, tmp_path):
    """Case 34."""
    (tmp_path / "alias").symlink_to(tmp_path)
    copy(tmp_path / "alias/work")
    assert tree(tmp_path / "copy") == PLAIN


@pytest.mark.parametrize("source", ["/", "/proc/self/cwd/../../../../proc/self", "/sys/kernel", "/dev", "/dev/shm/.."])
def test_the_systems_own_directories_are_refused(tmp_path, source):
    """Case 106."""
    with pytest.raises(SnapshotError):
        take_snapshot(Path(source), tmp_path / "copy", read=["**"], hide=[], max_bytes=1, max_files=1, allow_hard_links=False)
    assert not (tmp_path / "copy").exists()


def test_missing_or_no_directory_is_refused_with_a_hint(tmp_path, work):
    for source in (tmp_path / "absent", work / "in.txt"):
        with pytest.raises(SnapshotError) as caught:
            copy(source)
        assert "cwd" in str(caught.value.resolution)


@pytest.mark.parametrize("place", ["work/copy", "work", ".", "taken", "linked"])
def test_a_destination_inside_around_or_taken_is_refused(work, tmp_path, place):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_bytes(b"mine")
    (tmp_path / "linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SnapshotError):
        take_snapshot(work, tmp_path / place, read=["**"], hide=[], max_bytes=99, max_files=9, allow_hard_links=False)
    assert (tmp_path / "taken" / "file").read_bytes() == b"mine"
    assert tree(work) == PLAIN
