"""The target is swapped between approval and effect, and during it: nothing outside is ever touched (cases 23, 29, 47-49)."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import pytest

from runner.broker import (
    ABSENT,
    UNDO,
    Impossible,
    Order,
    Plan,
    PreImage,
    capture,
    clean,
    examine,
    image_of,
    perform,
    plan,
    plan_undo,
)
from runner.digest import digest_bytes
from runner.model import ResolvedPath

SECRET = b"OUTSIDE-SECRET"
#: What stands outside too, so that only the way there can tell the two apart.
OUTSIDE_TOO = SECRET.decode()
KEY = "a_0123456789abcdef"
AT_FDCWD = -100
RENAME_EXCHANGE = 2


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    root = tmp_path / "agent"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "outside" / "sub").mkdir(parents=True)
    (tmp_path / "outside" / "t.txt").write_bytes(SECRET)
    (tmp_path / "outside" / "sub" / "t.txt").write_bytes(SECRET)
    return root


def ordered(cwd: Path, path: str, content: str) -> Order:
    given = {"file_path": path, "content": content}
    paths = (ResolvedPath(asked=path, resolved=PurePosixPath("/workspace") / path),)
    planned = plan("Write", given, paths=paths, cwd=cwd)
    assert isinstance(planned, Plan), planned
    return Order(tool="Write", raw=json.dumps(given), paths=paths, cwd=cwd, pre_images=planned.pre_images, key=KEY)


def outside(cwd: Path) -> dict[str, bytes]:
    root = cwd.parent / "outside"
    return {str(at.relative_to(root)): at.read_bytes() for at in sorted(root.rglob("*")) if at.is_file()}


UNTOUCHED = {"sub/t.txt": SECRET, "t.txt": SECRET}


def link_for_folder(cwd: Path) -> None:
    (cwd / "sub").rename(cwd / "was")
    (cwd / "sub").symlink_to(cwd.parent / "outside")


def link_for_file(cwd: Path) -> None:
    (cwd / "sub" / "t.txt").unlink(missing_ok=True)
    (cwd / "sub" / "t.txt").symlink_to(cwd.parent / "outside" / "t.txt")


def dangling_link_for_file(cwd: Path) -> None:
    (cwd / "sub" / "t.txt").unlink(missing_ok=True)
    (cwd / "sub" / "t.txt").symlink_to(cwd.parent / "outside" / "new.txt")


def hard_link_for_file(cwd: Path) -> None:
    (cwd / "sub" / "t.txt").unlink(missing_ok=True)
    (cwd / "sub" / "t.txt").hardlink_to(cwd.parent / "outside" / "t.txt")


def pipe_for_file(cwd: Path) -> None:
    (cwd / "sub" / "t.txt").unlink(missing_ok=True)
    os.mkfifo(cwd / "sub" / "t.txt")


def folder_for_file(cwd: Path) -> None:
    (cwd / "sub" / "t.txt").unlink(missing_ok=True)
    (cwd / "sub" / "t.txt").mkdir()


def file_for_folder(cwd: Path) -> None:
    (cwd / "sub").rename(cwd / "was")
    (cwd / "sub").write_text("gitdir: /etc")


SWAPS = [
    link_for_folder,
    link_for_file,
    dangling_link_for_file,
    hard_link_for_file,
    pipe_for_file,
    folder_for_file,
    file_for_folder,
]


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("there", [True, False])
def test_a_swap_while_the_call_waits_makes_it_stale(cwd: Path, swap: Callable[[Path], None], there: bool):
    """Cases 48, 49: a link for a folder or a file, a hard link, a pipe, a folder."""
    if there:
        (cwd / "sub" / "t.txt").write_bytes(b"mine")
    order = ordered(cwd, "sub/t.txt", "approved")
    swap(cwd)
    before = sorted(str(at) for at in cwd.rglob("*"))
    assert perform(order).state == "stale"
    assert outside(cwd) == UNTOUCHED
    assert sorted(str(at) for at in cwd.rglob("*")) == before


def test_a_link_that_leads_back_inside_is_stale_too(cwd: Path):
    order = ordered(cwd, "sub/new.txt", "approved")
    (cwd / "sub").rename(cwd / "real")
    (cwd / "sub").symlink_to("real")
    assert perform(order).state == "stale"
    assert not (cwd / "real" / "new.txt").exists()


def test_a_git_file_that_redirects_is_not_followed(cwd: Path):
    """Case 47."""
    (cwd / ".git").write_text(f"gitdir: {cwd.parent / 'outside'}")
    (cwd / ".claude").symlink_to(cwd.parent / "outside")
    found = [
        plan(
            "Write",
            {"file_path": path, "content": "x"},
            paths=(ResolvedPath(asked=path, resolved=PurePosixPath("/workspace") / path),),
            cwd=cwd,
        )
        for path in [".git/hooks/pre-commit", ".claude/settings.json"]
    ]
    assert found == [
        Impossible(reason="/workspace/.git is a file, not a directory"),
        Impossible(reason="/workspace/.claude is a symbolic link, not a directory"),
    ]


@contextmanager
def flickering(first: Path, second: Path) -> Iterator[None]:
    """Two names that change places all the time."""
    stop = threading.Event()
    system = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(first), os.fsencode(second)

    def flicker() -> None:
        while not stop.is_set():
            system.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE)

    thread = threading.Thread(target=flicker)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_folder_that_flickers_between_real_and_link_never_leads_outside(cwd: Path):
    """Case 48 as a race: whatever the moment, the bytes outside stay and no new file appears there."""
    (cwd / "link").symlink_to(cwd.parent / "outside")
    orders = [ordered(cwd, f"sub/{n}/deep.txt", "approved") for n in range(300)]
    with flickering(cwd / "link", cwd / "sub"):
        states = {perform(order).state for order in orders}
    assert len(states) > 1
    assert outside(cwd) == UNTOUCHED


_KILLED = """
import json, sys
from pathlib import Path, PurePosixPath
from runner.broker import Order, perform
from runner.model import ResolvedPath
cwd, path, content = Path(sys.argv[1]), "sub/t.txt", "n" * 3_000_000
raw = json.dumps({"file_path": path, "content": content})
paths = (ResolvedPath(asked=path, resolved=PurePosixPath("/workspace") / path),)
print("ready", flush=True)
perform(Order(tool="Write", raw=raw, paths=paths, cwd=cwd, pre_images=json.loads(sys.argv[2]), key=sys.argv[3]))
print("done", flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.01, 0.02, 0.04])
def test_after_a_kill_the_disk_says_before_or_after_and_nothing_else(cwd: Path, delay: float):
    """B9: kill -9 at some moment of the effect; the file is whole, old or new, and nothing half written stays beside it."""
    (cwd / "sub" / "t.txt").write_bytes(b"old")
    order = ordered(cwd, "sub/t.txt", "n" * 3_000_000)
    arguments = [sys.executable, "-c", _KILLED, str(cwd), json.dumps(dict(order.pre_images)), KEY]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
    data = (cwd / "sub" / "t.txt").read_bytes()
    assert (data, examine(order)) in [(b"old", "pre"), (b"n" * 3_000_000, "post")]
    clean(order)
    assert [at.name for at in (cwd / "sub").iterdir()] == ["t.txt"]


def undoing(order: Order) -> Order:
    """Carry an order out, and the order that takes it back."""
    image = capture(order)
    assert isinstance(image, PreImage), image
    assert perform(order).state == "done"
    ((path, _),) = order.pre_images.items()
    content = json.loads(order.raw)["content"].encode()
    return Order(
        tool=UNDO,
        raw=json.dumps({"undoes": KEY, "path": path}),
        paths=(ResolvedPath(asked=path, resolved=PurePosixPath(path)),),
        cwd=order.cwd,
        pre_images={path: digest_bytes(content)},
        post_image=image_of(image.data) or ABSENT,
        key="a_vvvvvvvvvvvvvvvv",
        restores=image,
    )


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("there", [True, False])
def test_a_swap_before_an_undo_is_never_written_or_removed_through(cwd: Path, swap: Callable[[Path], None], there: bool):
    """Cases 48, 49: what takes an effect back reaches no further than the effect did."""
    if there:
        (cwd / "sub" / "t.txt").write_bytes(b"mine")
    undo = undoing(ordered(cwd, "sub/t.txt", OUTSIDE_TOO))
    swap(cwd)
    before = sorted(str(at) for at in cwd.rglob("*"))
    assert isinstance(plan_undo(undo), Impossible)
    assert perform(undo).state == "stale"
    assert outside(cwd) == UNTOUCHED
    assert sorted(str(at) for at in cwd.rglob("*")) == before


def test_a_folder_that_flickers_during_undos_loses_nothing_outside(cwd: Path):
    """Case 48 as a race: the files outside have the very bytes that an undo is allowed to remove."""
    (cwd / "link").symlink_to(cwd.parent / "outside")
    for n in range(150):
        (cwd.parent / "outside" / f"{n}.txt").write_text(OUTSIDE_TOO)
    undos = [undoing(ordered(cwd, f"sub/{n}.txt", OUTSIDE_TOO)) for n in range(150)]
    before = outside(cwd)
    with flickering(cwd / "link", cwd / "sub"):
        states = {perform(undo).state for undo in undos}
    assert len(states) > 1
    assert outside(cwd) == before


def test_a_folder_that_flickers_while_directories_are_made_gets_none_outside(cwd: Path):
    (cwd / "link").symlink_to(cwd.parent / "outside")
    orders = []
    for n in range(200):
        path = f"sub/{n}/deep"
        paths = (ResolvedPath(asked=path, resolved=PurePosixPath("/workspace") / path),)
        given = {"path": path}
        planned = plan("CreateFolder", given, paths=paths, cwd=cwd)
        assert isinstance(planned, Plan)
        orders.append(
            Order(tool="CreateFolder", raw=json.dumps(given), paths=paths, cwd=cwd, pre_images=planned.pre_images, key=KEY)
        )
    with flickering(cwd / "link", cwd / "sub"):
        states = {perform(order).state for order in orders}
    assert len(states) > 1
    assert outside(cwd) == UNTOUCHED
    assert sorted(at.name for at in (cwd.parent / "outside").iterdir()) == ["sub", "t.txt"]
