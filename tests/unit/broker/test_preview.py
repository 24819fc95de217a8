"""The diff and the warnings a person is shown, file by file (V8, V6, case 46)."""

from __future__ import annotations

import difflib
from pathlib import PurePosixPath

import pytest

from runner.broker.preview import diff, warnings
from runner.digest import digest_bytes

A = PurePosixPath("/workspace/a.txt")
HEAD = "--- /workspace/a.txt\n+++ /workspace/a.txt\n"


@pytest.mark.parametrize(
    ("old", "new", "body"),
    [
        (b"a\n", b"b\n", "@@ -1,1 +1,1 @@\n-a\n+b\n"),
        (b"a", b"a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"),
        (b"b\na", b"c\na", "@@ -1,2 +1,2 @@\n-b\n+c\n a\n\\ No newline at end of file\n"),
        (b"a\n", b"", "@@ -1,1 +0,0 @@\n-a\n"),
        (b"", b"a\n", "@@ -0,0 +1,1 @@\n+a\n"),
        (b"a\r\nb\r\n", b"a\nb\n", "@@ -1,2 +1,2 @@\n-a\r\n-b\r\n+a\n+b\n"),
        (b"\xef\xbb\xbfa\n", b"a\n", "@@ -1,1 +1,1 @@\n-\ufeffa\n+a\n"),
    ],
)
def test_the_diff_shows_every_byte_that_changes(old, new, body):
    assert diff(A, old, new) == HEAD + body


def test_a_file_without_a_last_line_end_says_so():
    assert diff(A, None, b"a") == "--- /dev/null\n+++ /workspace/a.txt\n@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n"


def test_a_large_change_is_one_hunk_with_all_of_it():
    old = "".join(f"{n}\n" for n in range(9000)).encode()
    new = old.replace(b"\n4000\n", b"\nchanged\n")
    assert diff(A, old, new) == (HEAD + "@@ -3998,7 +3998,7 @@\n 3997\n 3998\n 3999\n-4000\n+changed\n 4001\n 4002\n 4003\n")


def test_a_small_diff_is_the_one_everyone_knows():
    old = "".join(f"{n}\n" for n in range(60))
    new = old.replace("5\n", "five\n").replace("40\n", "")
    known = "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "/workspace/a.txt", "/workspace/a.txt"))
    assert diff(A, old.encode(), new.encode()) == known


def test_binary_content_is_named_by_size_and_digest():
    old = b"\0\1\2"
    assert diff(A, old, b"text") == (
        f"{HEAD}binary content, not shown\n-3 bytes, {digest_bytes(old)}\n+4 bytes, {digest_bytes(b'text')}\n"
    )


def test_a_path_cannot_forge_a_line_of_the_diff():
    path = PurePosixPath("/workspace/a\n+++ b")
    assert diff(path, None, b"x\n") == '--- /dev/null\n+++ "/workspace/a\\n+++ b"\n@@ -0,0 +1,1 @@\n+x\n'


@pytest.mark.parametrize(
    ("old", "new", "mode", "expected"),
    [
        (b"a\n", b"b\n", 0o644, ()),
        (None, b"b\n", 0o644, ()),
        (b"a\n", b"b\n", 0o755, ("the file is executable",)),
        (b"a\n", b"", 0o644, ("leaves the file empty",)),
        (b"a\n", b" \n", 0o644, ("leaves the file blank",)),
        (b"a\r\nb\r\n", b"a\nc\n", 0o644, ("line ends change from CRLF to LF",)),
        (b"a\r\nb\r\n", b"a\r\nc\n", 0o644, ("line ends change from CRLF to mixed",)),
        (b"\xef\xbb\xbfa\n", b"b\n", 0o644, ("a byte order mark is removed",)),
        (b"a\n", b"b", 0o644, ("the line end at the end of the file is removed",)),
        (b"a b\n", b"a  b\n", 0o644, ("only white space changes",)),
        (b"\0", b"text", 0o644, ("replaces a binary file with text",)),
        (None, b"a\0", 0o644, (f"the new content is not text: 2 bytes, {digest_bytes(b'a' + bytes(1))}",)),
        (
            b"a\n",
            "a\u202e\u200b\n".encode(),
            0o644,
            ("adds hidden characters (1 bidi, 1 zero_width)", "nothing that can be seen changes: only hidden characters do"),
        ),
        ("a\u202eb\n".encode(), b"c\n", 0o644, ("removes hidden characters (1 bidi)",)),
        ("a\u202e\n".encode(), "b\u202e\n".encode(), 0o644, ()),
        (None, b"x" * 2001 + b"\n", 0o644, ("has a line longer than 2000 bytes",)),
    ],
)
def test_a_warning_is_given_for_what_it_is_about_and_for_nothing_else(old, new, mode, expected):
    assert warnings(A, old, new, mode=mode) == expected


@pytest.mark.parametrize(
    "path",
    [".claude/settings.json", ".mcp.json", ".git/hooks/pre-commit", "CLAUDE.md", "sub/.vscode/settings.json", ".GIT/config"],
)
def test_a_file_that_grants_power_later_is_called_that(path):
    """Case 46."""
    expected = ("other programs run or obey this file: its content can act later",)
    assert warnings(PurePosixPath("/workspace") / path, None, b"x\n", mode=0o644) == expected


def test_hidden_characters_in_a_path_are_called_that():
    found = warnings(PurePosixPath("/workspace/\u202egpj.exe"), None, b"x\n", mode=0o644)
    assert found == ("the path holds hidden characters (1 bidi)",)
