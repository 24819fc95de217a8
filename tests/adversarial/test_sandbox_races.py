"""A directory that changes under the copy: whatever is swapped when, nothing from outside gets in (cases 22, 29, 48, 49)."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from runner.errors import SnapshotError
from runner.sandbox.snapshot import SnapshotReport, apply_bytes, take_snapshot
from runner.sandbox.walk import Copier

ROUNDS = 60
SECRET = b"OUTSIDE-SECRET"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "sub" / "a.txt").write_bytes(b"inside")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_bytes(SECRET)
    return work


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Do `act` over and over in another thread."""
    over = threading.Event()

    def loop() -> None:
        while not over.is_set():
            with suppress(OSError):
                act()
            time.sleep(0)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def snapshot(work: Path, number: int) -> SnapshotReport:
    target = work.parent / f"copy{number}"
    return take_snapshot(work, target, read=["**"], hide=[], max_bytes=10**6, max_files=1000, allow_hard_links=False)


def everything(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in root.parent.glob("copy*/**/*") if path.is_file())


def swaps(work: Path, kind: str) -> Callable[[], None]:
    """Put something hostile in the place of something harmless and back."""
    outside, spare = work.parent / "outside", work.parent / "spare"

    def directory() -> None:
        (work / "sub").rename(spare)
        (work / "sub").symlink_to(outside)
        (work / "sub").unlink()
        spare.rename(work / "sub")

    def file(plant: Callable[[Path], None]) -> Callable[[], None]:
        def act() -> None:
            temporary = work.parent / "planted"
            plant(temporary)
            temporary.rename(work / "sub" / "a.txt")
            temporary.write_bytes(b"inside")
            temporary.rename(work / "sub" / "a.txt")

        return act

    return {
        "a directory and a link": directory,
        "a file and a link": file(lambda path: path.symlink_to(outside / "a.txt")),
        "a file and a hard link": file(lambda path: os.link(outside / "a.txt", path)),
        "a file and a pipe": file(os.mkfifo),
    }[kind]


@pytest.mark.parametrize("kind", ["a directory and a link", "a file and a link", "a file and a hard link", "a file and a pipe"])
def test_swapping_under_the_copy_lets_nothing_in(work, kind):
    with meanwhile(swaps(work, kind)):
        for number in range(ROUNDS):
            snapshot(work, number)
    assert SECRET not in everything(work)


def test_a_directory_swapped_right_after_the_look_is_not_entered(work, monkeypatch):
    """The worst moment, made certain: it was a directory when looked at and is a link when opened."""
    look = Copier._may_enter

    def then_swap(copier: Copier, parts: tuple[str, ...], facts: os.stat_result) -> bool:
        answer = look(copier, parts, facts)
        (work / "sub").rename(work.parent / "spare")
        (work / "sub").symlink_to(work.parent / "outside")
        return answer

    monkeypatch.setattr(Copier, "_may_enter", then_swap)
    report = snapshot(work, 0)
    assert [item.path for item in report.left_out] == ["sub"]
    assert everything(work) == b""


def test_a_hard_link_whose_name_is_taken_away_after_opening_is_not_copied(work, monkeypatch):
    """Case 29, the worst moment: what is open then has one name only, the one outside."""
    os.link(work.parent / "outside" / "a.txt", work / "hard.txt")
    look = os.fstat

    def after_unlink(handle: int) -> os.stat_result:
        facts = look(handle)
        if stat.S_ISREG(facts.st_mode) and facts.st_nlink == 2:
            (work / "hard.txt").unlink()
        return look(handle)

    monkeypatch.setattr(os, "fstat", after_unlink)
    assert [item.path for item in snapshot(work, 0).left_out] == ["hard.txt"]
    assert everything(work) == b"inside"


def test_swapping_under_an_effect_lets_nothing_out(work):
    """The live snapshot is the supervisor's own, and even so no link in it is followed."""
    with meanwhile(swaps(work, "a directory and a link")):
        for number in range(ROUNDS):
            with suppress(SnapshotError):
                apply_bytes(work, ("sub", "a.txt"), b"%d" % number)
    assert (work.parent / "outside" / "a.txt").read_bytes() == SECRET
    assert [path.name for path in (work.parent / "outside").iterdir()] == ["a.txt"]


def test_a_file_that_never_rests_is_left_out_or_whole(work):
    state = [0]

    def act() -> None:
        state[0] ^= 1
        with (work / "busy").open("r+b") as file:
            file.write((b"A", b"B")[state[0]] * 65536)

    (work / "busy").write_bytes(b"A" * 65536)
    with meanwhile(act):
        reports = [snapshot(work, number) for number in range(20)]
    for number, report in enumerate(reports):
        copy = work.parent / f"copy{number}" / "busy"
        left = {item.path: item.reason for item in report.left_out}
        assert copy.exists() != ("busy" in left)
        assert left.get("busy", "it kept changing while it was copied") == "it kept changing while it was copied"


def test_a_file_that_grows_for_ever_ends_the_copy_nevertheless(work):
    (work / "log").write_bytes(b"")

    def act() -> None:
        with (work / "log").open("ab") as file:
            file.write(b"x" * 4096)

    with meanwhile(act):
        for number in range(5):
            with suppress(SnapshotError):
                snapshot(work, number)


def test_names_that_vanish_are_left_out_and_the_copy_goes_on(work):
    def act() -> None:
        (work / "now").write_bytes(b"x")
        (work / "now").unlink()
        (work / "here").mkdir()
        (work / "here").rmdir()

    with meanwhile(act):
        for number in range(ROUNDS):
            assert snapshot(work, number).files >= 1
