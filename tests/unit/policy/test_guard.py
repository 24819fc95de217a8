"""The rules that look at a call's arguments: which tools each binds, and by which name of a path."""

from __future__ import annotations

from typing import Any

import pytest

from runner.model import ResolvedPath
from runner.policy import decide
from runner.policy.guard import MAX_READ_BYTES
from tests.helpers.builders import a_call, a_profile
from tests.helpers.policy import NEW, a_context
from tests.helpers.views import File, Link, TreeView

TREE = TreeView(
    {
        "in.txt": File(),
        "data": File(),
        "REPORT.DOCX": File(),
        "sheet.xlsx": File(),
        "plain": Link("REPORT.DOCX"),
        "ALIAS.Docx": Link("data"),
        "OTHER.DOCX": Link("data"),
        "x.docx/y.txt": File(),
        "big.bin": File(size=MAX_READ_BYTES + 1),
        ".git/HEAD": File(),
        "gitlike": Link(".git"),
        ".claude": Link("notes"),
        "notes/a.md": File(),
        "secret/s.txt": File(),
        "way": Link("secret"),
        "out": Link("/etc"),
        "sub/out": Link("/etc"),
        "sub/in/a": File(),
        "hard": File(links=2),
    }
)


def rule(tool: str, arguments: dict[str, Any], **profile: Any) -> str:
    """The rule that answers a call of an agent whose default policy runs reads."""
    names = ("Read", "Glob", "Grep", "Write", "Edit", NEW)
    return decide(a_call(tool, arguments), a_profile(tools=names, **profile), a_context(view=TREE)).rule


RUNS = "covered_in_manual"
WAITS = "not_covered"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("REPORT.DOCX", "unreadable_format"),
        ("sheet.xlsx", "unreadable_format"),
        ("plain", "unreadable_format"),
        ("ALIAS.Docx", "unreadable_format"),
        ("ALIAS.Docx/", "unreadable_format"),
        ("OTHER.DOCX", "unreadable_format"),
        ("ALIAS.Docx//", "unreadable_format"),
        ("x.docx/y.txt", RUNS),
        ("gone.docx", "unreadable_format"),
        ("gone.txt", RUNS),
        ("data", RUNS),
    ],
)
def test_a_format_that_read_cannot_open_is_known_by_either_name(path: str, expected: str) -> None:
    """Sdk.md §5: the CLI fails on it before any hook."""
    assert rule("Read", {"file_path": path}) == expected


def test_what_read_cannot_open_others_may_name() -> None:
    assert rule("Grep", {"pattern": "x", "path": "REPORT.DOCX"}) == RUNS
    assert rule("Grep", {"pattern": "x", "path": "big.bin"}) == RUNS
    assert rule("Edit", {"file_path": "REPORT.DOCX", "old_string": "a", "new_string": "b"}) == WAITS
    assert rule("Write", {"file_path": "big.bin", "content": ""}) == WAITS


def test_a_protected_name_binds_what_writes_and_not_what_reads() -> None:
    """Cases 14, 46, 47: also what a link of such a name leads to, and what leads there."""
    writes = [".git/HEAD", "gitlike/HEAD", ".claude/a.md", ".CLAUDE/x"]

    assert [rule("Read", {"file_path": path}) for path in writes[:3]] == [RUNS] * 3
    assert [rule("Write", {"file_path": path, "content": ""}) for path in writes] == ["protected"] * 4
    assert rule(NEW, {"path": ".git/HEAD"}) == "protected"
    assert rule("Write", {"file_path": ".git/HEAD", "content": ""}, unprotect=(".git",)) == WAITS


@pytest.mark.parametrize(("tool", "beneath"), [("Glob", "secret/deep"), ("Grep", "secret/s.txt"), (NEW, "secret/s.txt")])
def test_a_search_does_not_start_in_a_hidden_directory(tool: str, beneath: str) -> None:
    """Case 41: by its own name, by a link's, and beneath it."""
    more = {"Glob": {"pattern": "*"}, "Grep": {"pattern": "x"}, NEW: {}}[tool]

    found = [rule(tool, {**more, "path": path}, hide=("secret/",)) for path in ("secret", "way", beneath, "notes")]

    assert found == ["hidden", "hidden", "hidden", WAITS if tool == NEW else RUNS]


def test_what_the_profile_does_not_read_may_still_be_written() -> None:
    """`read` says what is copied; an effect is on the host, where the broker looks again."""
    profile = {"read": ("*.md",)}

    assert rule("Read", {"file_path": "in.txt"}, **profile) == "hidden"
    assert rule("Write", {"file_path": "in.txt", "content": ""}, **profile) == WAITS
    assert rule("Write", {"file_path": "secret/x", "content": ""}, hide=("secret/",)) == "hidden"


def test_only_a_literal_true_lets_a_file_with_two_names_through() -> None:
    """Case 29, P10."""
    found = {value: rule("Read", {"file_path": "hard"}, allow_hard_links=value) for value in (True, False, 1, "yes")}

    assert found == {True: RUNS, False: "hard_link", "yes": "hard_link"} | {1: found[1]}
    assert rule("Read", {"file_path": "hard"}, allow_hard_links=2) == "hard_link"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"pattern": "*"}, RUNS),
        ({"pattern": "out/*"}, "outside"),
        ({"pattern": "out"}, "outside"),
        ({"pattern": "/workspace/out/*"}, "outside"),
        ({"pattern": "out/*", "path": "sub"}, "outside"),
        ({"pattern": "out/*", "path": "sub/"}, "outside"),
        ({"pattern": "in/*", "path": "sub"}, RUNS),
        ({"pattern": "/workspace/sub/in/*", "path": "sub"}, RUNS),
        ({"pattern": "in/*", "path": "/workspace/sub"}, RUNS),
        ({"pattern": "*", "path": "out"}, "outside"),
        ({"pattern": "*", "path": "in.txt"}, "not_a_directory"),
        ({"pattern": "in.txt/x"}, "not_a_directory"),
        ({"pattern": "in.txt"}, RUNS),
        ({"pattern": "gone/x/*"}, RUNS),
    ],
)
def test_a_globs_fixed_part_is_a_path_like_any_other(arguments: dict[str, Any], expected: str) -> None:
    """Cases 37, 42."""
    assert rule("Glob", arguments) == expected


def test_a_grep_filter_is_checked_as_text_and_opens_nothing() -> None:
    """Cases 39, 42."""
    assert rule("Grep", {"pattern": "../x", "glob": "out/*"}) == RUNS
    assert rule("Grep", {"pattern": "x", "glob": "../**"}) == "pattern_outside"


def test_paths_that_were_proven_before_a_refusal_are_told() -> None:
    """R103: what was looked at is on record."""
    decision = decide(a_call(NEW, {"path": "in.txt", "file": "/etc/passwd"}), a_profile(tools=(NEW,)), a_context(view=TREE))

    assert decision.rule == "outside"
    assert [(path.asked, str(path.resolved)) for path in decision.paths] == [("in.txt", "/workspace/in.txt")]


def test_a_lone_surrogate_anywhere_is_a_refusal_and_no_fault() -> None:
    """Issue 4 bad input, P10."""
    calls = [a_call("Read", raw='{"file_path": "\ud800"}'), a_call("Read", raw='{"file_path": "\\ud800"}')]

    assert {decide(call, a_profile(), a_context(view=TREE)).rule for call in calls} <= {"malformed", "path_too_long"}


def test_a_resolved_path_says_what_was_asked_and_where_it_leads() -> None:
    """Case 63: both are shown."""
    decision = decide(a_call("Read", {"file_path": "./plain/../in.txt"}), a_profile(), a_context(view=TREE))
    asked = decide(a_call("Write", {"file_path": ".claude", "content": ""}), a_profile(), a_context(view=TREE))
    linked = decide(a_call("Grep", {"pattern": "x", "path": "way/s.txt"}), a_profile(), a_context(view=TREE))

    assert (decision.rule, asked.rule) == ("not_a_directory", "not_a_file")
    assert linked.paths == (ResolvedPath(asked="way/s.txt", resolved=linked.paths[0].resolved),)
    assert str(linked.paths[0].resolved) == "/workspace/secret/s.txt"
