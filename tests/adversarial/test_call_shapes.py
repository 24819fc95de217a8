"""Attack family: a call that is not what its tool takes, or is no call at all (cases 18, 19, 44, 56, 71)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.digest import parse_call
from runner.model import ToolCall, Verdict
from runner.policy import TOOLS, PolicyContext, decide
from tests.helpers.builders import a_profile
from tests.helpers.views import File, TreeView

CONTEXT = PolicyContext(view=TreeView({"in.txt": File()}))
ODD: list[Any] = [None, True, 0, -1, 2**53, 1.5, "", [], {}, ["in.txt"], {"path": "in.txt"}, [None], [[]]]


def verdict(tool: str, raw: str) -> Verdict:
    """Of an agent that has every tool there is."""
    return decide(parse_call(tool, raw), a_profile(tools=tuple(TOOLS)), CONTEXT).verdict


@pytest.mark.parametrize("tool", ["Read", "Glob", "Grep", "Write", "Edit"])
def test_no_argument_of_another_type_gets_through(tool: str) -> None:
    """Case 18: every argument of every tool, every odd value."""
    for argument in TOOLS[tool].arguments or ():
        for value in ODD:
            good = {one.name: "in.txt" for one in TOOLS[tool].arguments or () if one.required}
            fits = argument.fault(value) is None
            answer = verdict(tool, json.dumps({**good, argument.name: value}))
            if not fits:
                assert answer is Verdict.DENY, (argument.name, value)


@pytest.mark.parametrize("tool", ["Read", "Glob", "Grep", "Write", "Edit"])
@pytest.mark.parametrize("key", ["also", "path2", "FILE_PATH", "file_path ", "__proto__", "", "\u200bfile_path", "File_Path"])
def test_no_unknown_key_gets_through(tool: str, key: str) -> None:
    """Case 19."""
    good = {one.name: "in.txt" for one in TOOLS[tool].arguments or () if one.required}

    assert verdict(tool, json.dumps(good)) is not Verdict.DENY
    assert verdict(tool, json.dumps({**good, key: "/etc/passwd"})) is Verdict.DENY


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "null",
        "[]",
        '"x"',
        "1",
        "{",
        "{}x",
        '{"file_path": "in.txt", "file_path": "/etc/passwd"}',
        '{"file_path": "in.txt", "a": {"b": 1, "b": 2}}',
        '{"file_path": NaN}',
        '{"file_path": "in.txt", "limit": Infinity}',
        '{"file_path": "in.txt", "limit": 1e999}',
        '{"file_path": "in.txt", "limit": 99999999999999999999999}',
        '{"file_path": "\\ud800"}',
        '{"\\udc00": 1}',
        '{"file_path": "in.txt\\u0000"}',
        "{" + '"a":{' * 5000 + "}" * 5001,
        '{"file_path": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"file_path": "' + "x" * 300_000 + '"}',
        "\ufeff{}",
    ],
)
def test_no_malformed_input_gets_through(raw: str) -> None:
    """Issue 4 bad input: any text whatever is answered with a refusal."""
    for tool in TOOLS:
        decision = decide(parse_call(tool, raw), a_profile(tools=tuple(TOOLS)), CONTEXT)
        assert (decision.verdict, decision.rank) == (Verdict.DENY, 0)
        assert decision.reason


@pytest.mark.parametrize(
    "name",
    [
        "MultiEdit",
        "LS",
        "NotebookRead",
        "View",
        "read",
        "READ",
        "Read ",
        "Task",
        "Agent",
        "Skill",
        "ToolSearch",
        "AskUserQuestion",
    ],
)
def test_retired_renamed_and_misspelt_tools_are_not_in_any_profile(name: str) -> None:
    """Cases 44, 70, 71, 84: also where a hand-made profile lists them."""
    call = parse_call(name, '{"file_path": "in.txt"}')

    assert decide(call, a_profile(), CONTEXT).verdict is Verdict.DENY
    assert decide(call, a_profile(tools=("Read", name)), CONTEXT).verdict is not Verdict.ALLOW


@pytest.mark.parametrize("name", ["Task", "Agent", "Skill", "ToolSearch", "AskUserQuestion", "MultiEdit", "LS"])
def test_a_tool_that_is_never_offered_is_refused_though_listed(name: str) -> None:
    decision = decide(parse_call(name, "{}"), a_profile(tools=(name,)), CONTEXT)

    assert (decision.verdict, decision.rule) == (Verdict.DENY, "not_declared")


def test_an_input_that_was_never_parsed_is_refused() -> None:
    decision = decide(ToolCall(tool="Read", raw="{}", input=None, fault="x"), a_profile(), CONTEXT)

    assert (decision.verdict, decision.rule, decision.call_digest) == (Verdict.DENY, "malformed", None)


def test_a_reason_never_repeats_what_the_model_wrote() -> None:
    """D6, V3: a reason is shown to people, so nothing from outside stands in it."""
    marker = "\x1b[2JMARKER"
    calls = [
        ("Read", {"file_path": f"../{marker}"}),
        ("Read", {"file_path": "in.txt", marker: 1}),
        ("Read", {"file_path": [marker]}),
        ("Grep", {"pattern": "x", "output_mode": marker}),
        ("Glob", {"pattern": f"/{marker}"}),
        (marker, {}),
    ]

    for tool, arguments in calls:
        decision = decide(parse_call(tool, json.dumps(arguments)), a_profile(), CONTEXT)
        assert decision.verdict is Verdict.DENY
        assert "MARKER" not in decision.reason
