"""What the broker says about a call before anybody is asked (B6, V8, R80, R84; issue 5 item 3)."""

from __future__ import annotations

import os
import socket
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from runner.broker import Impossible, Plan, plan
from runner.digest import digest_bytes
from runner.model import ResolvedPath


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    root = tmp_path / "agent"
    root.mkdir()
    return root


def planned(cwd: Path, tool: str = "Write", path: str = "a.txt", **arguments: Any) -> Plan | Impossible:
    resolved = ResolvedPath(asked=path, resolved=PurePosixPath("/workspace") / path)
    return plan(tool, {"file_path": path, **arguments}, paths=(resolved,), cwd=cwd)


def reason(found: Plan | Impossible) -> str:
    assert isinstance(found, Impossible), found
    return found.reason


def test_a_write_of_a_new_file_is_planned_whole(cwd):
    assert planned(cwd, content="hello\nthere\n") == Plan(
        tool="Write",
        targets=(PurePosixPath("/workspace/a.txt"),),
        pre_images={"/workspace/a.txt": None},
        post_image=digest_bytes(b"hello\nthere\n"),
        preview="--- /dev/null\n+++ /workspace/a.txt\n@@ -0,0 +1,2 @@\n+hello\n+there\n",
        warnings=(),
        summary="write 12 bytes to /workspace/a.txt (new file)",
    )
    assert list(cwd.iterdir()) == []


def test_an_edit_is_planned_whole(cwd):
    (cwd / "a.txt").write_bytes(b"one\ntwo\nthree\n")
    assert planned(cwd, "Edit", old_string="two", new_string="2", replace_all=False) == Plan(
        tool="Edit",
        targets=(PurePosixPath("/workspace/a.txt"),),
        pre_images={"/workspace/a.txt": digest_bytes(b"one\ntwo\nthree\n")},
        post_image=digest_bytes(b"one\n2\nthree\n"),
        preview="--- /workspace/a.txt\n+++ /workspace/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        warnings=(),
        summary="edit /workspace/a.txt: 1 replacement (14 bytes become 12)",
    )


def test_an_absolute_path_is_the_same_target(cwd):
    asked = "/workspace/sub/b.txt"
    found = plan(
        "Write",
        {"file_path": asked, "content": "x"},
        paths=(ResolvedPath(asked=asked, resolved=PurePosixPath(asked)),),
        cwd=cwd,
    )
    assert isinstance(found, Plan)
    assert found.summary == "write 1 bytes to /workspace/sub/b.txt (new file)"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"old_string": "absent", "new_string": "x"}, "old_string does not occur in the file exactly as given"),
        (
            {"old_string": "o", "new_string": "x"},
            "old_string occurs more than once; give more of its surroundings or set replace_all",
        ),
        (
            {"old_string": "aa", "new_string": "x"},
            "old_string occurs more than once; give more of its surroundings or set replace_all",
        ),
        ({"old_string": "two", "new_string": "two"}, "old_string and new_string are identical; nothing to change"),
        ({"old_string": "", "new_string": "x"}, "old_string is empty; use Write to replace the whole file"),
        ({"old_string": "two", "new_string": "x", "replace_all": "yes"}, "argument replace_all must be a boolean"),
        ({"old_string": "two", "new_string": 2}, "argument new_string must be a string"),
        ({"old_string": "two"}, "missing argument new_string"),
        ({"old_string": "two", "new_string": "2", "mode": "0777"}, "unknown argument 'mode'"),
    ],
)
def test_an_edit_that_must_fail_is_never_asked_of_a_person(cwd, arguments, why):
    """A36: a text that occurs twice too."""
    (cwd / "a.txt").write_bytes(b"one two aaa")
    assert reason(planned(cwd, "Edit", **arguments)) == why


def test_an_edit_of_what_is_absent_or_no_text_is_impossible(cwd):
    assert reason(planned(cwd, "Edit", old_string="a", new_string="b")) == "the file does not exist; use Write to make it"
    for data in (b"a\0b", b"a\xff"):
        (cwd / "a.txt").write_bytes(data)
        assert reason(planned(cwd, "Edit", old_string="a", new_string="b")) == "the file is not UTF-8 text"


def test_a_write_of_what_is_there_already_is_impossible(cwd):
    (cwd / "a.txt").write_bytes(b"same")
    assert reason(planned(cwd, content="same")) == "the file already holds exactly this content; nothing to write"


def test_what_is_no_regular_file_with_one_name_is_impossible(cwd, tmp_path):
    """Cases 23, 29: links, special files, hard links, directories, links as parents."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_text("s")
    (cwd / "link").symlink_to(tmp_path / "out" / "secret")
    (cwd / "dangling").symlink_to(tmp_path / "nowhere")
    (cwd / "dlink").symlink_to(tmp_path / "out")
    (cwd / "dir").mkdir()
    (cwd / "file").write_text("f")
    (cwd / "hard").hardlink_to(tmp_path / "out" / "secret")
    (cwd / "readonly").write_text("r")
    (cwd / "readonly").chmod(0o444)
    os.mkfifo(cwd / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(cwd, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/sock")
        os.close(here)
        found = {
            path: reason(planned(cwd, path=path, content="x"))
            for path in ["link", "dangling", "dlink/new", "dir", "file/below", "hard", "readonly", "pipe", "sock"]
        }
    assert found == {
        "link": "/workspace/link is a symbolic link, not a regular file",
        "dangling": "/workspace/dangling is a symbolic link, not a regular file",
        "dlink/new": "/workspace/dlink is a symbolic link, not a directory",
        "dir": "/workspace/dir is a directory, not a regular file",
        "file/below": "/workspace/file is a file, not a directory",
        "hard": "/workspace/hard has 2 hard links: the same bytes also stand elsewhere",
        "readonly": "/workspace/readonly is read-only",
        "pipe": "/workspace/pipe is a pipe, not a regular file",
        "sock": "/workspace/sock is a socket, not a regular file",
    }
    assert (tmp_path / "out" / "secret").read_text() == "s"


@pytest.mark.parametrize("path", ["/etc/passwd", "/workspace/../etc/passwd", "/workspace", "/workspacex/a"])
def test_a_path_outside_the_workspace_is_impossible(cwd, path):
    found = plan(
        "Write",
        {"file_path": path, "content": "x"},
        paths=(ResolvedPath(asked=path, resolved=PurePosixPath(path)),),
        cwd=cwd,
    )
    assert isinstance(found, Impossible)


def test_a_path_that_was_not_decided_on_is_impossible(cwd):
    other = ResolvedPath(asked="b.txt", resolved=PurePosixPath("/workspace/b.txt"))
    for paths in [(), (other,), (other, other)]:
        found = plan("Write", {"file_path": "a.txt", "content": "x"}, paths=paths, cwd=cwd)
        assert reason(found) == "argument file_path was not resolved"


def test_an_unknown_tool_and_a_missing_directory_are_impossible(cwd, tmp_path):
    assert reason(planned(cwd, "Bash", content="x")) == "Bash is not carried out here"
    assert reason(planned(tmp_path / "gone", content="x")).startswith("the agent's directory cannot be opened")


def test_sizes_are_bounded_before_anything_is_built(cwd, monkeypatch):
    monkeypatch.setattr("runner.broker.tools.MAX_FILE_BYTES", 100)
    monkeypatch.setattr("runner.broker.targets.MAX_FILE_BYTES", 100)
    assert reason(planned(cwd, content="x" * 101)) == "the content is larger than 100 bytes"
    (cwd / "a.txt").write_bytes(b"a" * 100)
    many = planned(cwd, "Edit", old_string="a", new_string="b" * 50, replace_all=True)
    assert reason(many) == "the result would be larger than 100 bytes"
    (cwd / "a.txt").write_bytes(b"a" * 101)
    assert reason(planned(cwd, content="x")) == "/workspace/a.txt is larger than 100 bytes"
    assert reason(planned(cwd, path="n" * 256, content="x")) == "a name in the path is longer than 255 bytes"
    assert reason(planned(cwd, path="d/" * 128 + "d", content="x")) == "the path has more than 128 names"
