"""Nothing is reached through a link, and a write is whole or absent (cases 11, 16, 17, 21, 22, 23, 25, 32, 34)."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from runner.sandbox.beneath import MAX_PARTS, Beneath


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.txt").write_bytes(b"inside")
    (tmp_path / "secret.txt").write_bytes(b"OUTSIDE-SECRET")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "dlink").symlink_to(tmp_path)
    return root


@pytest.fixture
def beneath(tree: Path) -> Iterator[Beneath]:
    with Beneath.open(tree) as handle:
        yield handle


def errno_of(operation: Callable[[], object]) -> int | None:
    """The errno an operation is refused with, None when it is not refused."""
    try:
        operation()
    except OSError as error:
        return error.errno
    return None


OPERATIONS: list[Callable[[Beneath, tuple[str, ...]], object]] = [
    lambda b, p: b.stat(p),
    lambda b, p: b.readlink(p),
    lambda b, p: b.names(p),
    lambda b, p: b.read_bytes(p, limit=10),
    lambda b, p: b.write_atomic(p, b"x", mode=0o644, owner=None),
    lambda b, p: b.make_directory(p, mode=0o755, owner=None),
    lambda b, p: b.remove(p),
]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("part", ["", ".", "..", "a/b", "/", "/etc", "a\0b"])
def test_a_part_that_is_no_plain_name_is_refused_by_every_operation(beneath, operation, part):
    assert errno_of(lambda: operation(beneath, ("sub", part))) == errno.EINVAL


@pytest.mark.parametrize("operation", OPERATIONS)
def test_too_many_parts_are_refused_before_any_lookup(beneath, operation):
    assert errno_of(lambda: operation(beneath, ("a",) * (MAX_PARTS + 1))) == errno.EINVAL


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_linked_directory_on_the_way_is_not_followed(beneath, operation, tmp_path):
    """Cases 22, 23: the parent is a link that leads out."""
    assert errno_of(lambda: operation(beneath, ("dlink", "secret.txt"))) in {errno.ELOOP, errno.ENOTDIR}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["secret.txt", "work"]
    assert (tmp_path / "secret.txt").read_bytes() == b"OUTSIDE-SECRET"


def test_a_linked_file_is_not_read(beneath):
    """Case 21."""
    assert errno_of(lambda: beneath.read_bytes(("link.txt",), limit=100)) == errno.ELOOP


def test_stat_sees_the_link_and_not_its_target(beneath, tmp_path):
    assert stat.S_ISLNK(beneath.stat(("link.txt",)).st_mode)
    assert beneath.readlink(("link.txt",)) == str(tmp_path / "secret.txt")


def test_names_are_sorted_and_the_root_has_no_parts(beneath):
    assert beneath.names(()) == ["dlink", "link.txt", "sub"]
    assert beneath.names(("sub",)) == ["a.txt"]
    assert stat.S_ISDIR(beneath.stat(()).st_mode)


def test_a_file_is_read_up_to_its_limit_and_refused_beyond(beneath):
    assert beneath.read_bytes(("sub", "a.txt"), limit=6) == b"inside"
    assert errno_of(lambda: beneath.read_bytes(("sub", "a.txt"), limit=5)) == errno.EFBIG


def test_a_fifo_is_refused_without_hanging(beneath, tree):
    os.mkfifo(tree / "pipe")
    assert errno_of(lambda: beneath.read_bytes(("pipe",), limit=10)) == errno.EINVAL


def test_a_socket_and_a_directory_are_refused(beneath, tree, monkeypatch):
    monkeypatch.chdir(tree)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("door")
        for name in ("door", "sub"):
            assert errno_of(partial(beneath.read_bytes, (name,), limit=10)) is not None


def test_the_root_itself_may_be_reached_through_a_link(tree, tmp_path):
    """Case 34: resolved once, at the start."""
    (tmp_path / "alias").symlink_to(tree)
    with Beneath.open(tmp_path / "alias") as beneath:
        assert beneath.read_bytes(("sub", "a.txt"), limit=100) == b"inside"


def test_a_write_replaces_a_link_instead_of_following_it(beneath, tree, tmp_path):
    beneath.write_atomic(("link.txt",), b"new", mode=0o640, owner=None)
    assert (tmp_path / "secret.txt").read_bytes() == b"OUTSIDE-SECRET"
    assert (tree / "link.txt").read_bytes() == b"new"
    assert not (tree / "link.txt").is_symlink()


def test_mode_is_as_asked_whatever_the_umask(beneath, tree):
    before = os.umask(0o077)
    try:
        beneath.write_atomic(("new.sh",), b"#!", mode=0o755, owner=(os.getuid(), os.getgid()))
        beneath.make_directory(("made",), mode=0o775, owner=(os.getuid(), os.getgid()))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tree / "new.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((tree / "made").stat().st_mode) == 0o775


def test_an_existing_directory_is_not_made_again(beneath):
    with pytest.raises(FileExistsError):
        beneath.make_directory(("sub",), mode=0o755, owner=None)


def test_a_failed_write_leaves_the_old_file_and_no_temporary(beneath, tree):
    def fill(handle: int) -> None:
        os.write(handle, b"half")
        raise OSError(errno.ENOSPC, "no space")

    assert errno_of(lambda: beneath.put(("sub", "a.txt"), fill, mode=0o644)) is not None
    with pytest.raises(IsADirectoryError):
        beneath.write_atomic(("sub",), b"x", mode=0o644, owner=None)
    assert [p.name for p in (tree / "sub").iterdir()] == ["a.txt"]
    assert (tree / "sub" / "a.txt").read_bytes() == b"inside"
    assert sorted(p.name for p in tree.iterdir()) == ["dlink", "link.txt", "sub"]


def test_remove_takes_a_file_a_link_and_an_empty_directory(beneath, tree, tmp_path):
    beneath.remove(("link.txt",))
    beneath.remove(("dlink",))
    assert errno_of(lambda: beneath.remove(("sub",))) is not None
    beneath.remove(("sub", "a.txt"))
    beneath.remove(("sub",))
    assert list(tree.iterdir()) == []
    assert (tmp_path / "secret.txt").exists()


def test_a_closed_handle_is_not_used_again(tree):
    beneath = Beneath.open(tree)
    beneath.close()
    beneath.close()
    assert errno_of(lambda: beneath.names(())) is not None


def test_no_handle_is_left_open(tree):
    before = len(list(Path("/proc/self/fd").iterdir()))
    with Beneath.open(tree) as beneath:
        beneath.read_bytes(("sub", "a.txt"), limit=10)
        beneath.write_atomic(("sub", "b.txt"), b"b", mode=0o644, owner=None)
        for parts in ((), ("link.txt",), ("dlink", "x"), ("absent", "x")):
            assert errno_of(partial(beneath.read_bytes, parts, limit=10)) is not None
    assert len(list(Path("/proc/self/fd").iterdir())) == before
