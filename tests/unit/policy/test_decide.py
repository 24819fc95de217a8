"""The decision, rule by rule."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

import pytest

from runner.digest import call_digest
from runner.model import (
    Decision,
    ResolvedPath,
    ToolCall,
    ToolScope,
    Verdict,
)
from runner.policy import TOOLS, SavedVerdict, decide, definition_digest
from runner.policy.guard import MAX_INPUT_BYTES, MAX_READ_BYTES
from tests.helpers.builders import a_call, a_profile
from tests.helpers.policy import a_context, short
from tests.helpers.views import Broken, File, Link, TreeView


def test_a_confined_read_runs_and_the_decision_is_whole() -> None:
    """R38, R46, R103; the whole value."""
    profile = a_profile(tools=("Read", "Glob", "Grep"))
    digest = call_digest(
        tool="Read",
        definition=definition_digest(TOOLS["Read"]),
        arguments={"file_path": "ok/a.txt"},
        paths=["/workspace/sub/a.txt"],
    )

    assert decide(a_call("Read", {"file_path": "ok/a.txt"}), profile, a_context()) == Decision(
        verdict=Verdict.ALLOW,
        rank=9,
        rule="all_covered",
        reason="Runs at once: The default policy runs every tool of this agent.",
        strict=True,
        call_digest=digest,
        profile_digest=profile.digest,
        paths=(ResolvedPath(asked="ok/a.txt", resolved=PurePosixPath("/workspace/sub/a.txt")),),
    )


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Read", {"file_path": "in.txt", "offset": 0, "limit": 1, "pages": "1-2", "allow_large": False}),
        ("Read", {"file_path": "in.txt", "limit": 2.0}),
        ("Read", {"file_path": "absent.txt"}),
        ("Glob", {"pattern": "**/*"}),
        ("Glob", {"pattern": "*", "path": "sub"}),
        ("Grep", {"pattern": "../x"}),
        ("Grep", {"pattern": "x", "path": "in.txt", "glob": "*.txt", "output_mode": "content", "-n": True, "-A": 2}),
    ],
)
def test_reads_inside_run(tool: str, arguments: dict[str, Any]) -> None:
    """Issue 2 item 7; R38."""
    assert short(decide(a_call(tool, arguments), a_profile(), a_context())) == ("allow", 6, "covered_in_manual")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Write", {"file_path": "new/deep/x.txt", "content": ""}),
        ("Write", {"file_path": "/workspace/in.txt", "content": "x"}),
        ("Edit", {"file_path": "in.txt", "old_string": "a", "new_string": "b", "replace_all": True}),
    ],
)
def test_everything_else_waits(tool: str, arguments: dict[str, Any]) -> None:
    """R39, R71."""
    assert short(decide(a_call(tool, arguments), a_profile(), a_context())) == ("ask", 7, "not_covered")


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (a_call("Bash", {"command": "ls"}), "not_declared"),
        (a_call("read", {"file_path": "in.txt"}), "not_declared"),
        (a_call("MultiEdit", {"file_path": "/etc/passwd"}), "not_declared"),
        (a_call("LS", {"path": "/"}), "not_declared"),
        (a_call("mcp__runner__Write", {"file_path": "x", "content": ""}), "not_declared"),
        (a_call("", {}), "not_declared"),
        (a_call("Read", raw="not json"), "malformed"),
        (a_call("Read", raw="[]"), "malformed"),
        (a_call("Read", raw='{"file_path":"in.txt","file_path":"in.txt"}'), "malformed"),
        (a_call("Read", raw='{"file_path":"in.txt","limit":NaN}'), "malformed"),
        (a_call("Read", raw='{"file_path":"\\ud800"}'), "malformed"),
        (a_call("Read", raw='{"a":' * 80 + "1" + "}" * 80), "malformed"),
        (a_call("Read", {}), "malformed"),
        (a_call("Read", {"file_path": None}), "malformed"),
        (a_call("Read", {"file_path": 123}), "malformed"),
        (a_call("Read", {"file_path": ["in.txt", "/etc/passwd"]}), "malformed"),
        (a_call("Read", {"file_path": {"path": "/etc/passwd"}}), "malformed"),
        (a_call("Read", {"file_path": "in.txt", "also": "/etc/passwd"}), "malformed"),
        (a_call("Read", {"file_path": "in.txt", "offset": "1"}), "malformed"),
        (a_call("Read", {"file_path": "in.txt", "offset": True}), "malformed"),
        (a_call("Read", {"file_path": "in.txt", "offset": -1}), "malformed"),
        (a_call("Read", {"file_path": "in.txt", "limit": 0}), "malformed"),
        (a_call("Read", {"file_path": "in.txt", "limit": 1.5}), "malformed"),
        (a_call("Grep", {"pattern": "x", "output_mode": "all"}), "malformed"),
        (a_call("Grep", {"pattern": "x", "multiline": 1}), "malformed"),
        (a_call("Edit", {"file_path": "in.txt", "old_string": "a", "new_string": "b", "backup_path": "/x"}), "malformed"),
        (a_call("Write", {"file_path": "x", "content": "y" * MAX_INPUT_BYTES}), "too_large_to_review"),
        (a_call("Read", {"file_path": "../x"}), "outside"),
        (a_call("Read", {"file_path": "out"}), "outside"),
        (a_call("Read", {"file_path": "sub"}), "not_a_file"),
        (a_call("Read", {"file_path": "hard"}), "hard_link"),
        (a_call("Read", {"file_path": "big.bin"}), "too_large_to_read"),
        (a_call("Read", {"file_path": "report.docx"}), "unreadable_format"),
        (a_call("Read", {"file_path": "alias"}), "unreadable_format"),
        (a_call("Read", {"file_path": "TABLE.XLSX"}), "unreadable_format"),
        (a_call("Glob", {"pattern": "*", "path": ".."}), "outside"),
        (a_call("Glob", {"pattern": "*", "path": "in.txt"}), "not_a_directory"),
        (a_call("Glob", {"pattern": "/etc/*"}), "pattern_outside"),
        (a_call("Glob", {"pattern": "out/*"}), "outside"),
        (a_call("Glob", {"pattern": "../*", "path": "sub"}), "pattern_outside"),
        (a_call("Grep", {"pattern": "x", "path": "~"}), "home_path"),
        (a_call("Grep", {"pattern": "x", "path": ""}), "empty_path"),
        (a_call("Grep", {"pattern": "x", "glob": "../**"}), "pattern_outside"),
        (a_call("Write", {"file_path": "out/x", "content": ""}), "outside"),
        (a_call("Write", {"file_path": ".git/hooks/pre-commit", "content": ""}), "protected"),
    ],
)
def test_what_is_wrong_with_a_call_refuses_it_outside_the_table(call: ToolCall, rule: str) -> None:
    """R44, R47-R50; cases 3, 11, 18, 19, 22, 37, 39, 44, 46; L8; sdk.md §5."""
    decision = decide(call, a_profile(), a_context())

    assert short(decision) == ("deny", 0, rule)
    assert (decision.call_digest is None) == (call.input is None)


def test_a_call_that_is_wrong_in_two_ways_is_told_the_first() -> None:
    undeclared = decide(a_call("Bash", raw="not json"), a_profile(), a_context())
    malformed = decide(a_call("Read", raw="not json"), a_profile(), a_context())

    assert (short(undeclared), undeclared.call_digest) == (("deny", 0, "not_declared"), None)
    assert malformed.reason == (
        "Refused (malformed): The input is malformed: it must be one JSON object that every reader reads alike. "
        "Do not retry this call unchanged."
    )


def test_a_tools_name_that_is_no_text_is_refused() -> None:
    decision = decide(a_call("\ud800", {}), a_profile(tools=("Read", "\ud800")), a_context())

    assert (short(decision), decision.call_digest) == (("deny", 0, "malformed"), None)


def test_the_caps_are_these_and_what_just_fits_is_decided() -> None:
    """L8, sdk.md §5."""
    assert (MAX_INPUT_BYTES, MAX_READ_BYTES) == (262_144, 4_194_304)
    frame = len(json.dumps({"file_path": "x", "content": ""}))
    fits = a_call("Write", {"file_path": "x", "content": "y" * (MAX_INPUT_BYTES - frame)})
    over = a_call("Write", {"file_path": "x", "content": "y" * (MAX_INPUT_BYTES - frame + 1)})

    assert short(decide(fits, a_profile(), a_context())) == ("ask", 7, "not_covered")
    assert short(decide(over, a_profile(), a_context())) == ("deny", 0, "too_large_to_review")


def test_a_format_that_read_cannot_open_is_known_by_either_name() -> None:
    view = TreeView({"looks.docx": Link("in.txt"), "in.txt": File(), "plain": Link("real.xlsx"), "real.xlsx": File()})

    for name in ("looks.docx", "plain", "real.xlsx/"):
        decision = decide(a_call("Read", {"file_path": name}), a_profile(), a_context(view=view))
        assert short(decision) == ("deny", 0, "unreadable_format")


def test_the_first_rule_that_speaks_is_the_one_that_is_told() -> None:
    profile = a_profile(hide=(".git/config", "*.docx"))

    hidden_write = decide(a_call("Write", {"file_path": ".git/config", "content": ""}), profile, a_context())
    hidden_read = decide(a_call("Read", {"file_path": "x.docx"}), profile, a_context())

    assert [hidden_write.rule, hidden_read.rule] == ["hidden", "hidden"]


def test_a_file_as_large_as_read_may_take_is_read() -> None:
    assert decide(a_call("Read", {"file_path": "fits.bin"}), a_profile(), a_context()).verdict is Verdict.ALLOW


def test_a_pattern_starts_beneath_the_searched_directory() -> None:
    view = TreeView({"sub/out": Link("/etc"), "x.txt": File()})

    assert short(decide(a_call("Glob", {"pattern": "out/*", "path": "sub"}), a_profile(), a_context(view=view)))[2] == "outside"
    assert short(decide(a_call("Glob", {"pattern": "out/*"}), a_profile(), a_context(view=view)))[0] == "allow"


def test_an_absolute_pattern_starts_where_it_says_whatever_the_searched_directory() -> None:
    """Cases 37, 42."""
    led_out = decide(a_call("Glob", {"pattern": "/workspace/out/*", "path": "sub"}), a_profile(), a_context())
    inside = decide(a_call("Glob", {"pattern": "/workspace/ok/*", "path": "sub"}), a_profile(), a_context())

    assert short(led_out) == ("deny", 0, "outside")
    assert short(inside) == ("allow", 6, "covered_in_manual")
    assert [path.asked for path in inside.paths] == ["sub"]


def test_a_filter_on_names_starts_nowhere() -> None:
    """Case 42: Grep's `glob` filters what is found; no link is followed for it."""
    assert short(decide(a_call("Grep", {"pattern": "x", "glob": "out/*"}), a_profile(), a_context()))[0] == "allow"


def test_every_refusal_says_what_kind_it_is_and_not_to_retry() -> None:
    """P12, R40, R111."""
    blocked = decide(
        a_call("Write", {"file_path": "x", "content": ""}), a_profile(), a_context(saved={"Write": SavedVerdict.BLOCK})
    )
    refused = decide(a_call("Read", {"file_path": "../x"}), a_profile(), a_context())

    assert blocked.reason == "Blocked (blocked): The owner blocked this tool. Do not retry this call unchanged."
    assert refused.reason == "Refused (outside): The path leads outside the workspace. Do not retry this call unchanged."
    assert decide(a_call("Write", {"file_path": "x", "content": ""}), a_profile(), a_context()).reason == (
        "Waits for a person's approval: The default policy does not run this tool unasked."
    )


# --- what is left out of the snapshot, and what must not be written ---------------------------------------------------


def test_what_is_hidden_is_refused_for_every_tool() -> None:
    """Cli.md `explain`; cases 41, 110."""
    profile = a_profile(hide=(".env*", "vault/"))
    view = TreeView({"vault/x": File(), "way": Link("vault/x"), ".env": File()})
    calls = [
        a_call("Read", {"file_path": ".env"}),
        a_call("Read", {"file_path": ".ENV.local"}),
        a_call("Read", {"file_path": "way"}),
        a_call("Grep", {"pattern": "x", "path": "vault"}),
        a_call("Write", {"file_path": "vault/new", "content": ""}),
    ]

    assert [short(decide(call, profile, a_context(view=view))) for call in calls] == [("deny", 0, "hidden")] * 5


def test_what_read_does_not_include_cannot_be_read_but_may_be_proposed() -> None:
    profile = a_profile(read=("docs/**",))

    assert short(decide(a_call("Read", {"file_path": "in.txt"}), profile, a_context())) == ("deny", 0, "hidden")
    assert short(decide(a_call("Grep", {"pattern": "x"}), profile, a_context()))[0] == "allow"
    assert short(decide(a_call("Write", {"file_path": "out.md", "content": ""}), profile, a_context()))[0] == "ask"


def test_a_pattern_of_a_hand_made_profile_that_is_none_refuses() -> None:
    profile = a_profile(hide=("!",))

    assert short(decide(a_call("Read", {"file_path": "in.txt"}), profile, a_context())) == ("deny", 0, "unproven")


def test_trouble_with_the_size_of_a_file_refuses() -> None:
    """P10."""

    class Shrinking(TreeView):
        def size(self, parts: tuple[str, ...]) -> int:
            raise OSError(5, "planted")

    view = Shrinking({"in.txt": File(), "locked": Broken()})

    assert short(decide(a_call("Read", {"file_path": "in.txt"}), a_profile(), a_context(view=view)))[2] == "unproven"
    assert short(decide(a_call("Read", {"file_path": "locked"}), a_profile(), a_context(view=view)))[2] == "unproven"


def test_a_narrowed_tool_is_refused_elsewhere() -> None:
    profile = a_profile(
        scopes=(ToolScope(tool="Write", only=("made/**",)), ToolScope(tool="Edit", never=("**/migrations/**",)))
    )

    def write(path: str) -> str:
        return short(decide(a_call("Write", {"file_path": path, "content": ""}), profile, a_context()))[2]

    def edit(path: str) -> str:
        arguments = {"file_path": path, "old_string": "a", "new_string": "b"}
        return short(decide(a_call("Edit", arguments), profile, a_context()))[2]

    assert [write("made/x"), write("ok/../made/x"), write("x")] == ["not_covered", "not_covered", "scope"]
    assert [edit("a.py"), edit("app/migrations/1.py")] == ["not_covered", "scope"]


def test_a_protected_name_may_be_written_where_the_profile_names_it() -> None:
    call = a_call("Write", {"file_path": ".GitHub/workflows/ci.yml", "content": ""})

    assert short(decide(call, a_profile(), a_context())) == ("deny", 0, "protected")
    assert short(decide(call, a_profile(unprotect=(".github",)), a_context())) == ("ask", 7, "not_covered")
