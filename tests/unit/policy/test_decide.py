"""The decision, rule by rule."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest

from runner.digest import MalformedJsonError, call_digest, digest_json
from runner.model import (
    Decision,
    Policy,
    ResolvedPath,
    ToolCall,
    ToolClass,
    ToolScope,
    Verdict,
)
from runner.policy import TOOLS, Connector, SavedVerdict, decide, definition_digest
from runner.policy.catalogue import Tool
from runner.policy.guard import MAX_INPUT_BYTES
from tests.helpers.builders import a_call, a_profile
from tests.helpers.policy import NEW, a_context, sample, short
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
        ("Read", {"file_path": "in.txt", "offset": 1, "limit": 2}),
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


def test_a_file_as_large_as_read_may_take_is_read() -> None:
    assert decide(a_call("Read", {"file_path": "fits.bin"}), a_profile(), a_context()).verdict is Verdict.ALLOW


def test_a_pattern_starts_beneath_the_searched_directory() -> None:
    view = TreeView({"sub/out": Link("/etc"), "x.txt": File()})

    assert short(decide(a_call("Glob", {"pattern": "out/*", "path": "sub"}), a_profile(), a_context(view=view)))[2] == "outside"
    assert short(decide(a_call("Glob", {"pattern": "out/*"}), a_profile(), a_context(view=view)))[0] == "allow"


def test_every_refusal_says_what_kind_it_is_and_not_to_retry() -> None:
    """P12, R40, R111."""
    blocked = decide(
        a_call("Write", {"file_path": "x", "content": ""}), a_profile(), a_context(saved={"Write": SavedVerdict.BLOCK})
    )
    refused = decide(a_call("Read", {"file_path": "../x"}), a_profile(), a_context())

    assert blocked.reason == "Blocked (blocked): The owner blocked this tool. Do not retry this call unchanged."
    assert refused.reason == "Refused (outside): The path leads outside the workspace. Do not retry this call unchanged."


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


# --- tools nobody declared ---------------------------------------------------------------------------------------------


def test_an_undeclared_tool_of_the_profile_is_the_worst_case() -> None:
    """R89, C3, P5, P7."""
    profile = a_profile(tools=("Read", NEW), strict=False, policy=Policy.SKIP)
    call = a_call(NEW, {"body": "hello", "readOnlyHint": True})

    assert short(decide(call, profile, a_context())) == ("ask", 7, "not_covered")
    assert short(decide(call, profile, a_context(reachable_person=False))) == ("deny", 0, "no_channel")


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "/etc/passwd"},
        {"edits": [{"file_path": "../x"}]},
        {"a": {"b": {"targetDirectory": "~"}}},
        {"anything": "/etc/passwd"},
        {"anything": ["../../x"]},
        {"anything": "file:///etc/passwd"},
        {"anything": "a/../../b"},
        {"outputFile": "x\0y"},
    ],
)
def test_what_looks_like_a_path_in_it_must_be_inside(arguments: dict[str, Any]) -> None:
    """R50, case 19: nested too."""
    decision = decide(a_call(NEW, arguments), a_profile(tools=(NEW,)), a_context())

    assert (decision.verdict, decision.rank) == (Verdict.DENY, 0)


def test_what_looks_like_a_path_and_is_inside_or_is_none_is_for_a_person() -> None:
    arguments = {"path": "sub/a.txt", "url": "https://example.org/a/../b", "body": "/shrug it off", "n": 1, "x": None}
    decision = decide(a_call(NEW, arguments), a_profile(tools=(NEW,)), a_context())

    assert decision.verdict is Verdict.ASK
    assert [str(path.resolved) for path in decision.paths] == ["/workspace/sub/a.txt"]


def test_a_declared_connector_tool_counts_as_declared_while_its_definition_is_the_pinned_one() -> None:
    """P5: one byte of the definition changes, and it is the worst case again."""
    name = "mcp__github__read_diff"
    tool = Tool(
        name=name,
        description="",
        arguments=None,
        tool_class=ToolClass.READ,
        reversible=True,
        egress=False,
        covered_from=Policy.READ_ONLY,
    )
    pin, other = digest_json("test", "a"), digest_json("test", "b")
    profile = a_profile(tools=(name,))

    def verdict(**connector: Any) -> tuple[str, int, str]:
        fields: dict[str, Any] = {"tool": tool, "pinned": pin, "offered": pin} | connector
        return short(decide(a_call(name, {}), profile, a_context(connectors={name: Connector(**fields)})))

    assert verdict() == ("allow", 6, "covered_in_manual")
    assert verdict(offered=other) == ("ask", 7, "not_covered")
    assert verdict(tool=replace(tool, name="mcp__github__other")) == ("ask", 7, "not_covered")


def test_only_a_connectors_tool_can_be_declared_from_outside_the_catalogue() -> None:
    """P7: nothing gets a class of its own by calling itself something else."""
    tool = Tool(name="Sneaky", description="", arguments=None, covered_from=Policy.READ_ONLY, tool_class=ToolClass.READ)
    pin = digest_json("test", "a")
    context = a_context(connectors={"Sneaky": Connector(tool=tool, pinned=pin, offered=pin)})

    assert short(decide(a_call("Sneaky", {}), a_profile(tools=("Sneaky",)), context)) == ("ask", 7, "not_covered")


def test_a_tool_that_is_not_carried_out_yet_is_refused() -> None:
    profile = a_profile(tools=tuple(TOOLS))

    rules = {
        name: short(decide(a_call(name, sample(tool)), profile, a_context()))
        for name, tool in TOOLS.items()
        if not tool.available
    }

    assert set(rules.values()) == {("deny", 0, "not_available")}
    assert {name for name, tool in TOOLS.items() if tool.available} == {"Read", "Glob", "Grep", "Write", "Edit"}


def test_an_input_without_a_canonical_form_is_refused() -> None:
    call = ToolCall(tool=NEW, raw=json.dumps({}), input={"n": 2**70})

    decision = decide(call, a_profile(tools=(NEW,)), a_context())

    assert (short(decision), decision.call_digest) == (("deny", 0, "malformed"), None)
    with pytest.raises(MalformedJsonError):
        digest_json("x", {"n": 2**70})


def test_digests_of_calls_differ_where_the_calls_do() -> None:
    """B2, B3, case 56."""
    profile = a_profile(tools=("Read", "Grep", NEW))
    inputs: list[dict[str, Any]] = [{}, {"x": None}, {"x": ""}, {"x": 0}, {"x": "e\u0301"}, {"x": "\u00e9"}, {"y": None}]

    digests = [decide(a_call(NEW, value), profile, a_context()).call_digest for value in inputs]

    assert len({*digests, None}) == len(inputs) + 1


def test_the_same_text_leading_elsewhere_is_another_call() -> None:
    """B2: resolved paths are bound."""
    here, there = TreeView({"l": Link("a"), "a": File()}), TreeView({"l": Link("b"), "b": File()})
    call = a_call("Read", {"file_path": "l"})

    assert (
        decide(call, a_profile(), a_context(view=here)).call_digest
        != decide(call, a_profile(), a_context(view=there)).call_digest
    )
