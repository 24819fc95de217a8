"""For every file and every edit: the bytes are those of a plain replacement, and the diff a person sees is the whole change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.broker.preview import diff, warnings
from runner.broker.tools import Result, edited
from runner.broker.values import Impossible

A = PurePosixPath("/workspace/a.txt")
words = st.text(alphabet="ab\n\r é\ufeff", max_size=6)
files = st.lists(
    st.sampled_from(["a", "b", "aa", "\n", "\r\n", "é", "", " ", "\ufeff", "-", "+", "@@ -1,1 +1,1 @@"]), max_size=40
).map(
    "".join,
)
lf_files = files.map(lambda text: text.replace("\r", ""))


@given(lf_files, words, words, st.booleans())
@settings(max_examples=400)
def test_an_edit_is_a_plain_replacement_or_says_why_not(text, old, new, everywhere):
    result = edited({"old_string": old, "new_string": new, "replace_all": everywhere}, text.encode())
    places = len(re.findall(f"(?={re.escape(old)})", text)) if old else 0
    if not old or old == new or places == 0 or (places > 1 and not everywhere):
        assert isinstance(result, Impossible)
    else:
        assert result == Result(data=text.replace(old, new).encode(), replacements=text.count(old) if everywhere else 1)


@given(lf_files.map(lambda text: text.replace("\n", "\r\n")), words, words)
@settings(max_examples=300)
def test_a_file_of_crlf_lines_stays_one_when_the_edit_names_lf(text, old, new):
    old, new = old.replace("\r", ""), new.replace("\r", "")
    result = edited({"old_string": old, "new_string": new, "replace_all": True}, text.encode())
    if isinstance(result, Result) and "\n" in text:
        assert result.data.count(b"\n") == result.data.count(b"\r\n") == result.data.count(b"\r")


def applied(patch: str, old: str) -> str:
    """What a plain reader of unified diffs makes of a file: an independent, small `patch`."""
    before = re.findall(r"[^\n]*\n|[^\n]+", old)
    made, at = [], 0
    lines = patch.split("\n")[2:-1]
    rows = iter([(line, following) for line, following in zip(lines, [*lines[1:], ""], strict=True)])
    for line, _ in rows:
        head = re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line)
        assert head, line
        start, count, _, new_count = map(int, head.groups())
        first = start - 1 if count else start
        made += before[at:first]
        at = first + count
        made += _hunk(rows, count, new_count)
    return "".join([*made, *before[at:]])


def _hunk(rows: Iterator[tuple[str, str]], old_left: int, new_left: int) -> list[str]:
    made = []
    while old_left or new_left:
        line, following = next(rows)
        bare = following.startswith("\\ No newline")
        if line[0] != "+":
            old_left -= 1
        if line[0] != "-":
            new_left -= 1
            made.append(line[1:] + ("" if bare else "\n"))
        if bare:
            next(rows)
    return made


@given(files, files)
@settings(max_examples=400)
def test_the_diff_is_the_whole_change(old, new):
    """V8: applying what a person was shown gives exactly the bytes that are written."""
    if old != new:
        assert applied(diff(A, old.encode(), new.encode()), old) == new


@given(files, files, st.integers(min_value=3000, max_value=5000))
@settings(max_examples=15, deadline=None)
def test_the_diff_of_a_large_file_is_the_whole_change_too(old, new, size):
    middle = "".join(f"{n}\n" for n in range(size))
    before, after = f"{old}\n{middle}{old}", f"{new}\n{middle}{new}"
    if before != after:
        assert applied(diff(A, before.encode(), after.encode()), before) == after


@given(st.binary(max_size=60), st.binary(max_size=60))
@settings(max_examples=300)
def test_any_two_files_have_a_preview_and_warnings_of_printable_words(old, new):
    assert diff(A, old, new).startswith("--- /workspace/a.txt\n+++ /workspace/a.txt\n")
    assert all(warning.isprintable() for warning in warnings(A, old, new, mode=0o644))
