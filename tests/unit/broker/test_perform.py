"""Effects on real files, from the stored bytes, once, and what the disk says afterwards (B6, B8, B9)."""

from __future__ import annotations

import json
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from runner.broker import Change, Effect, Order, Plan, examine, perform, plan
from runner.digest import digest_bytes
from runner.model import ResolvedPath

A = "/workspace/a.txt"


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    root = tmp_path / "agent"
    root.mkdir()
    return root


def ordered(cwd: Path, tool: str = "Write", path: str = "a.txt", **arguments: Any) -> Order:
    """An order as the supervisor makes it from a plan of the moment."""
    given = {"file_path": path, **arguments}
    paths = (ResolvedPath(asked=path, resolved=PurePosixPath("/workspace") / path),)
    planned = plan(tool, given, paths=paths, cwd=cwd)
    assert isinstance(planned, Plan), planned
    return Order(tool=tool, raw=json.dumps(given), paths=paths, cwd=cwd, pre_images=planned.pre_images)


def tree(root: Path) -> dict[str, bytes | None]:
    """Every name beneath a folder and its bytes, None for folders."""
    return {str(at.relative_to(root)): at.read_bytes() if at.is_file() else None for at in sorted(root.rglob("*"))}


def test_a_write_puts_the_exact_bytes_in_place(cwd):
    content = "one\r\ntwo\u2028\ufeff\U0001f600 no last line end"
    assert perform(ordered(cwd, content=content)) == Effect(
        state="done",
        outcome=f"Created {A}: {len(content.encode())} bytes written.",
        changed=(Change(path=PurePosixPath(A), data=content.encode()),),
    )
    assert tree(cwd) == {"a.txt": content.encode()}
    assert stat.S_IMODE((cwd / "a.txt").stat().st_mode) == 0o644


def test_a_replaced_file_keeps_its_mode_and_owner(cwd):
    (cwd / "a.txt").write_text("old")
    (cwd / "a.txt").chmod(0o640)
    if os.geteuid() == 0:
        os.chown(cwd / "a.txt", 1234, 4321)
    before = (cwd / "a.txt").stat()
    assert perform(ordered(cwd, content="new")).outcome == f"Replaced {A}: 3 bytes written."
    after = (cwd / "a.txt").stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_a_set_user_id_bit_does_not_survive_new_content(cwd):
    (cwd / "a.txt").write_text("old")
    (cwd / "a.txt").chmod(0o4755)
    perform(ordered(cwd, content="new"))
    assert stat.S_IMODE((cwd / "a.txt").stat().st_mode) == 0o755


def test_new_files_and_folders_belong_to_the_owner_of_the_directory(cwd):
    if os.geteuid() == 0:
        os.chown(cwd, 1234, 4321)
    old = os.umask(0o077)
    try:
        assert perform(ordered(cwd, path="x/y/b.txt", content="b")).state == "done"
    finally:
        os.umask(old)
    mine = (cwd.stat().st_uid, cwd.stat().st_gid)
    found = {name: (cwd / name).stat() for name in ["x", "x/y", "x/y/b.txt"]}
    assert {name: (stat.S_IMODE(at.st_mode), at.st_uid, at.st_gid) for name, at in found.items()} == {
        "x": (0o755, *mine),
        "x/y": (0o755, *mine),
        "x/y/b.txt": (0o644, *mine),
    }


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one\ntwo\n", "two", "2", b"one\n2\n"),
        (b"one\r\ntwo\r\n", "one\ntwo", "1\n2", b"1\r\n2\r\n"),
        (b"one\r\ntwo\r\n", "two", "2\n3", b"one\r\n2\r\n3\r\n"),
        (b"one\r\ntwo\n", "two", "2\n3", b"one\r\n2\n3\n"),
        (b"one\r\ntwo\r\n", "one\r\n", "1\r\n", b"1\r\ntwo\r\n"),
        (b"\xef\xbb\xbfone", "one", "1", b"\xef\xbb\xbf1"),
        ("é\u0301x".encode(), "\u0301", "", "éx".encode()),
    ],
)
def test_an_edit_keeps_line_ends_byte_order_mark_and_last_line(cwd, before, old, new, after):
    (cwd / "a.txt").write_bytes(before)
    effect = perform(ordered(cwd, "Edit", old_string=old, new_string=new))
    assert effect.outcome == f"Edited {A}: 1 place replaced; the file is now {len(after)} bytes."
    assert (cwd / "a.txt").read_bytes() == after


def test_an_edit_everywhere_says_how_often(cwd):
    (cwd / "a.txt").write_text("a b a b a")
    effect = perform(ordered(cwd, "Edit", old_string="a", new_string="x", replace_all=True))
    assert effect.outcome == f"Edited {A}: 3 places replaced; the file is now 9 bytes."
    assert (cwd / "a.txt").read_text() == "x b x b x"


def test_a_second_time_is_stale_and_changes_nothing(cwd):
    order = ordered(cwd, content="one")
    assert perform(order).state == "done"
    before = (cwd / "a.txt").stat().st_ino
    assert perform(order) == Effect(
        state="stale",
        outcome=f"Nothing was changed: {A} changed since this was proposed; read it again and ask anew.",
    )
    assert (cwd / "a.txt").stat().st_ino == before


def test_a_file_that_changed_came_or_went_is_stale(cwd):
    """B6."""
    fresh = ordered(cwd, content="mine")
    (cwd / "a.txt").write_text("theirs")
    assert perform(fresh).state == "stale"
    changed = ordered(cwd, content="mine")
    (cwd / "a.txt").write_text("theirs, later")
    assert perform(changed).state == "stale"
    assert tree(cwd) == {"a.txt": b"theirs, later"}
    (cwd / "a.txt").unlink()
    assert perform(changed).state == "stale"
    assert tree(cwd) == {}


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ('{"file_path": "a.txt", "content": "x", "content": "y"}', "repeats a key"),
        ('{"file_path": "a.txt", "content": "\\ud800"}', "lone surrogate"),
        ('["a.txt"]', "not a JSON object"),
        ('{"file_path": "b.txt", "content": "x"}', "was not resolved"),
        ('{"file_path": "a.txt"}', "missing argument content"),
    ],
)
def test_a_stored_input_is_parsed_again_strictly(cwd, raw, why):
    order = Order(
        tool="Write",
        raw=raw,
        paths=(ResolvedPath(asked="a.txt", resolved=PurePosixPath(A)),),
        cwd=cwd,
        pre_images={A: None},
    )
    effect = perform(order)
    assert effect.state == "failed"
    assert why in effect.outcome
    assert examine(order) == "other"
    assert tree(cwd) == {}


def test_an_order_without_the_pre_image_of_its_target_is_stale(cwd):
    order = ordered(cwd, content="x")
    bare = Order(tool=order.tool, raw=order.raw, paths=order.paths, cwd=cwd, pre_images={})
    assert perform(bare).state == "stale"
    assert examine(bare) == "other"
    assert tree(cwd) == {}


def test_a_result_other_than_the_approved_one_is_not_written(cwd):
    order = ordered(cwd, content="x")
    wrong = Order(
        tool=order.tool,
        raw=order.raw,
        paths=order.paths,
        cwd=cwd,
        pre_images=order.pre_images,
        post_image=digest_bytes(b"y"),
    )
    assert perform(wrong).state == "failed"
    assert tree(cwd) == {}


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_write_the_system_refuses_leaves_nothing_behind(cwd):
    (cwd / "old.txt").write_text("old")
    new, old = ordered(cwd, path="x/y/b.txt", content="b" * 5000), ordered(cwd, path="old.txt", content="n" * 5000)
    with no_file_larger_than(4096):
        effects = [perform(new), perform(old)]
    assert [effect.state for effect in effects] == ["failed", "failed"]
    assert effects[0].outcome == "Nothing was changed: /workspace/x/y/b.txt could not be written: File too large."
    assert tree(cwd) == {"old.txt": b"old"}
    assert [examine(new), examine(old)] == ["pre", "pre"]


def test_a_missing_directory_is_a_failed_effect(cwd):
    order = ordered(cwd, content="x")
    cwd.rmdir()
    assert perform(order).state == "failed"
    assert examine(order) == "other"


def test_the_disk_decides_after_a_crash(cwd):
    """B9: pre-image → not happened, post-image → done, neither → a person settles it."""
    write = ordered(cwd, content="new")
    assert examine(write) == "pre"
    perform(write)
    assert examine(write) == "post"
    (cwd / "a.txt").write_text("other")
    assert examine(write) == "other"
    (cwd / "a.txt").unlink()
    (cwd / "a.txt").symlink_to("/etc/passwd")
    assert examine(write) == "other"


@pytest.mark.parametrize(
    ("before", "old", "new", "everywhere"),
    [("one two three", "two", "2", False), ("a x a", "a", "x", True), ("ab", "b", "", False)],
)
def test_an_edit_is_recognised_on_the_disk_by_its_post_image(cwd, before, old, new, everywhere):
    """B9: without one an Edit that happened is for a person to settle, never guessed."""
    (cwd / "a.txt").write_text(before)
    bare = ordered(cwd, "Edit", old_string=old, new_string=new, replace_all=everywhere)
    order = replace(bare, post_image=digest_bytes(before.replace(old, new).encode()))
    assert [examine(bare), examine(order)] == ["pre", "pre"]
    assert perform(order).state == "done"
    assert [examine(bare), examine(order)] == ["other", "post"]
    (cwd / "a.txt").write_text("other")
    assert [examine(bare), examine(order)] == ["other", "other"]


def test_an_outcome_is_never_longer_than_the_model_is_told(cwd):
    order = ordered(cwd, content="x")
    long = "é" * 40_000
    raw = json.dumps({"file_path": "a.txt", "content": "x", long: "x"})
    effect = perform(Order(tool="Write", raw=raw, paths=order.paths, cwd=cwd, pre_images=order.pre_images))
    assert len(effect.outcome.encode()) <= 32 * 1024
