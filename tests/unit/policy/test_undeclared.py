"""Tools nobody declared, tools nobody carries out yet, and what a call's digest binds."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from runner.digest import MalformedJsonError, digest_json
from runner.model import (
    Policy,
    ToolCall,
    ToolClass,
    Verdict,
)
from runner.policy import TOOLS, Connector, decide
from runner.policy.catalogue import Tool
from tests.helpers.builders import a_call, a_profile
from tests.helpers.policy import NEW, a_context, sample, short
from tests.helpers.views import File, Link, TreeView


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
    assert {name for name, tool in TOOLS.items() if tool.available} == {
        *("Read", "Glob", "Grep"),
        *("Write", "Edit", "NotebookEdit", "CreateFolder", "Reply"),
    }


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
