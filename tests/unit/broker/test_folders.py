"""Directories made, and effects taken back by the broker: from what was kept, onto what is still as it was left."""

from __future__ import annotations

import json
import os
import stat
import struct
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from runner.broker import (
    ABSENT,
    FOLDER,
    UNDO,
    Change,
    Effect,
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
from runner.sandbox.beneath import Beneath

ARGUMENT = {"CreateFolder": "path", "Write": "file_path", "Edit": "file_path"}


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    root = tmp_path / "agent"
    root.mkdir()
    return root


def planned(cwd: Path, tool: str, path: str, **arguments: Any) -> Plan | Impossible:
    paths = (ResolvedPath(asked=path, resolved=PurePosixPath("/workspace") / path),)
    return plan(tool, {ARGUMENT[tool]: path, **arguments}, paths=paths, cwd=cwd)


def ordered(cwd: Path, tool: str, path: str, **arguments: Any) -> Order:
    found = planned(cwd, tool, path, **arguments)
    assert isinstance(found, Plan), found
    return Order(
        tool=tool,
        raw=json.dumps({ARGUMENT[tool]: path, **arguments}),
        paths=(ResolvedPath(asked=path, resolved=PurePosixPath("/workspace") / path),),
        cwd=cwd,
        pre_images=found.pre_images,
        post_image=found.post_image,
        key="a_0123456789abcdef",
    )


def undoing(order: Order, image: PreImage) -> Order:
    """The order that takes another back."""
    ((path, _),) = order.pre_images.items()
    return Order(
        tool=UNDO,
        raw=json.dumps({"undoes": "a_x", "path": path}),
        paths=(ResolvedPath(asked=path, resolved=PurePosixPath(path)),),
        cwd=order.cwd,
        pre_images={path: None if order.post_image == ABSENT else order.post_image},
        post_image=image_of(image.data) or ABSENT,
        key="a_vvvvvvvvvvvvvvvv",
        restores=image,
    )


def carried_out(order: Order) -> Order:
    """Carry an order out; what takes it back."""
    image = capture(order)
    assert isinstance(image, PreImage), image
    assert perform(order).state == "done"
    return undoing(order, image)


def test_a_new_directory_is_planned_whole(cwd: Path) -> None:
    assert planned(cwd, "CreateFolder", "x/y") == Plan(
        tool="CreateFolder",
        targets=(PurePosixPath("/workspace/x/y"),),
        pre_images={"/workspace/x/y": None},
        post_image="directory",  # type: ignore[arg-type]
        preview="+directory /workspace/x\n+directory /workspace/x/y\n",
        warnings=(),
        summary="make the directory /workspace/x/y",
    )
    assert list(cwd.iterdir()) == []


def test_a_directory_is_made_with_the_owner_of_the_agents_directory(cwd: Path) -> None:
    if os.geteuid() == 0:
        os.chown(cwd, 1234, 4321)
    old = os.umask(0o077)
    try:
        effect = perform(ordered(cwd, "CreateFolder", "x/y"))
    finally:
        os.umask(old)
    path = PurePosixPath("/workspace/x/y")
    assert effect == Effect(
        state="done", outcome="Created the directory /workspace/x/y.", changed=(Change(path=path, data=FOLDER),)
    )
    mine = (cwd.stat().st_uid, cwd.stat().st_gid)
    found = [(cwd / name).stat() for name in ("x", "x/y")]
    assert [(stat.S_IMODE(at.st_mode), at.st_uid, at.st_gid) for at in found] == [(0o755, *mine)] * 2


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("dir", "the directory is already there; nothing to make"),
        ("file", "/workspace/file is a file, not a directory"),
        ("link", "/workspace/link is a symbolic link, not a directory"),
        ("file/x", "/workspace/file is a file, not a directory"),
        ("link/x", "/workspace/link is a symbolic link, not a directory"),
        (".", "/workspace itself is a directory"),
        ("n" * 256, "a name in the path is longer than 255 bytes"),
    ],
)
def test_a_directory_that_cannot_be_made_is_never_asked_of_a_person(cwd: Path, path: str, why: str) -> None:
    (cwd / "dir").mkdir()
    (cwd / "file").touch()
    (cwd / "link").symlink_to("dir")
    assert planned(cwd, "CreateFolder", path) == Impossible(reason=why)


def test_a_powerful_directory_is_warned_of(cwd: Path) -> None:
    found = planned(cwd, "CreateFolder", ".github/workflows")
    assert isinstance(found, Plan)
    assert found.warnings == ("other programs run or obey this file: its content can act later",)


@pytest.mark.parametrize("there", ["dir", "file", "link"])
def test_something_that_came_meanwhile_makes_a_new_directory_stale(cwd: Path, there: str) -> None:
    order = ordered(cwd, "CreateFolder", "x/y")
    (cwd / "x").mkdir()
    place = cwd / "x/y"
    {"dir": place.mkdir, "file": place.touch, "link": lambda: place.symlink_to("/tmp")}[there]()
    assert isinstance(capture(order), Impossible)
    assert perform(order).state == "stale"


def test_the_disk_says_whether_a_directory_was_made(cwd: Path) -> None:
    """B9: without bytes, its presence is the answer."""
    order = ordered(cwd, "CreateFolder", "x/y")
    bare = replace(order, post_image=None)
    assert (examine(order), examine(bare)) == ("pre", "pre")
    perform(order)
    assert (examine(order), examine(bare)) == ("post", "post")
    (cwd / "x/y/in use").touch()
    assert examine(order) == "post"
    (cwd / "x/y/in use").unlink()
    (cwd / "x/y").rmdir()
    (cwd / "x/y").touch()
    assert (examine(order), examine(bare)) == ("other", "other")


def test_a_directory_that_cannot_be_given_its_owner_is_not_left_behind(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = ordered(cwd, "CreateFolder", "x/y")

    def refuse(*_: object) -> None:
        raise PermissionError(1, "no")

    monkeypatch.setattr(os, "fchown", refuse)
    assert perform(order).state == "failed"
    assert list(cwd.iterdir()) == []


def test_a_created_file_is_removed_with_the_directories_made_for_it(cwd: Path) -> None:
    (cwd / "x").mkdir()
    undo = carried_out(ordered(cwd, "Write", "x/y/z/a.txt", content="A"))
    found = plan_undo(undo)
    assert isinstance(found, Plan)
    assert (found.summary, found.post_image) == ("remove /workspace/x/y/z/a.txt", "absent")
    assert found.preview.startswith("--- /workspace/x/y/z/a.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-A\n")
    assert perform(undo) == Effect(
        state="done",
        outcome="Removed /workspace/x/y/z/a.txt.",
        changed=tuple(Change(path=PurePosixPath("/workspace") / one, data=None) for one in ("x/y/z/a.txt", "x/y/z", "x/y")),
    )
    assert [str(at.relative_to(cwd)) for at in cwd.rglob("*")] == ["x"]
    assert (examine(undo), perform(undo).state) == ("post", "stale")


def test_a_directory_with_something_of_others_in_it_stays(cwd: Path) -> None:
    undo = carried_out(ordered(cwd, "Write", "x/y/a.txt", content="A"))
    (cwd / "x/mine").touch()
    assert [str(change.path) for change in perform(undo).changed] == ["/workspace/x/y/a.txt", "/workspace/x/y"]
    assert [at.name for at in (cwd / "x").iterdir()] == ["mine"]


def test_a_file_that_is_brought_back_has_its_bytes_mode_and_owner(cwd: Path) -> None:
    """Undo of an undo: the file is made anew, as it was."""
    first = carried_out(ordered(cwd, "Write", "a.txt", content="A"))
    (cwd / "a.txt").chmod(0o750)
    if os.geteuid() == 0:
        os.chown(cwd / "a.txt", 1234, 4321)
    facts = (cwd / "a.txt").stat()
    second = carried_out(first)
    assert not (cwd / "a.txt").exists()
    assert perform(second).outcome == "Created /workspace/a.txt: 1 bytes written."
    again = (cwd / "a.txt").stat()
    assert ((cwd / "a.txt").read_bytes(), again.st_mode, again.st_uid, again.st_gid) == (
        b"A",
        facts.st_mode,
        facts.st_uid,
        facts.st_gid,
    )


def test_a_replaced_file_gets_its_bytes_back_and_keeps_the_mode_it_has_now(cwd: Path) -> None:
    (cwd / "a.txt").write_bytes(b"\x00old\r\n")
    undo = carried_out(ordered(cwd, "Write", "a.txt", content="new"))
    (cwd / "a.txt").chmod(0o600)
    assert perform(undo).outcome == "Replaced /workspace/a.txt: 6 bytes written."
    assert (cwd / "a.txt").read_bytes() == b"\x00old\r\n"
    assert stat.S_IMODE((cwd / "a.txt").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "wrong",
    [
        lambda undo: replace(undo, restores=None),
        lambda undo: replace(undo, raw='{"undoes": "a_x"}'),
        lambda undo: replace(undo, raw='{"undoes": "a_x", "path": "/workspace/b.txt"}'),
        lambda undo: replace(undo, restores=replace(undo.restores, data=b"other")),
        lambda undo: replace(undo, pre_images={}),
        lambda undo: replace(undo, tool="Write"),
    ],
)
def test_an_undo_that_is_not_whole_changes_nothing(cwd: Path, wrong: Any) -> None:
    (cwd / "a.txt").write_text("old")
    undo = wrong(carried_out(ordered(cwd, "Write", "a.txt", content="new")))
    assert perform(undo).state in {"failed", "stale"}
    assert (cwd / "a.txt").read_text() == "new"


def test_what_is_captured_is_what_the_order_was_approved_for_or_nothing(cwd: Path) -> None:
    (cwd / "a.txt").write_text("old")
    (cwd / "a.txt").chmod(0o640)
    facts = (cwd / "a.txt").stat()
    order = ordered(cwd, "Write", "a.txt", content="new")
    assert capture(order) == PreImage(data=b"old", mode=0o640, owner=(facts.st_uid, facts.st_gid), standing=0)
    (cwd / "a.txt").write_text("other")
    assert capture(order) == Impossible(reason="/workspace/a.txt changed since this was proposed; read it again and ask anew")
    assert isinstance(capture(replace(order, raw="[]")), Impossible)
    assert isinstance(capture(replace(order, cwd=cwd / "none")), Impossible)


@pytest.fixture
def attributed(cwd: Path) -> Path:
    """A file with an attribute of its own; every file system that tests run on has them."""
    (cwd / "a.txt").write_text("old")
    os.setxattr(cwd / "a.txt", "user.origin", b"https://example.org")
    return cwd / "a.txt"


def test_a_replaced_file_keeps_its_attributes_and_access_list(cwd: Path, attributed: Path) -> None:
    """A new file in the old one's place would lose them."""
    entries = [(1, 6, -1), (2, 4, 1234), (4, 4, -1), (0x10, 4, -1), (0x20, 0, -1)]
    access = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    os.setxattr(attributed, "system.posix_acl_access", access)
    mode = attributed.stat().st_mode
    assert perform(ordered(cwd, "Edit", "a.txt", old_string="old", new_string="new")).state == "done"
    found = {name: os.getxattr(attributed, name) for name in os.listxattr(attributed)}
    assert found == {"user.origin": b"https://example.org", "system.posix_acl_access": access}
    assert (attributed.stat().st_mode, attributed.read_text()) == (mode, "new")


def test_attributes_that_cannot_be_kept_mean_no_write(cwd: Path, attributed: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def refuse(*_: object) -> None:
        raise PermissionError(1, "no")

    monkeypatch.setattr(os, "setxattr", refuse)
    assert perform(ordered(cwd, "Write", "a.txt", content="new")).state == "failed"
    assert (list(cwd.iterdir()), attributed.read_text()) == ([attributed], "old")


def test_what_a_kill_left_half_written_is_found_by_its_order_and_removed(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B9: nothing of ours stays beside the target, and nothing else is touched."""
    (cwd / "sub").mkdir()
    (cwd / "sub/a.txt").write_text("old")
    order = ordered(cwd, "Write", "sub/a.txt", content="new")
    left: list[str] = []

    def killed(source: str, target: str, **_: object) -> None:
        left.extend(at.name for at in (cwd / "sub").iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", killed)
    monkeypatch.setattr(os, "unlink", lambda *_, **__: None)
    with pytest.raises(KeyboardInterrupt):
        perform(order)
    monkeypatch.undo()
    (temporary,) = set(left) - {"a.txt"}
    (cwd / "sub/.0123456789abcdef.tmp").touch()
    clean(replace(order, key=""))
    clean(replace(order, key="a_other"))
    assert (cwd / "sub" / temporary).exists()
    clean(order)
    clean(order)
    assert sorted(at.name for at in (cwd / "sub").iterdir()) == [".0123456789abcdef.tmp", "a.txt"]
    assert (cwd / "sub/a.txt").read_text() == "old"


def test_only_a_file_is_cleaned_away(cwd: Path) -> None:
    order = ordered(cwd, "Write", "a.txt", content="new")
    with Beneath.open(cwd) as root:
        (cwd / "a.txt").write_text("x")
        perform(replace(order, pre_images={"/workspace/a.txt": digest_bytes(b"x")}))
        assert root.names(()) == ["a.txt"]
    clean(replace(order, cwd=cwd / "none"))
    clean(replace(order, raw="[]"))
    assert (cwd / "a.txt").read_text() == "new"
