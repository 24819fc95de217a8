"""What a decision says, word for word: the model and the approver read it, and it may repeat nothing from outside (P12)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from runner.digest import digest_json
from runner.model import Policy, SenderKind, ToolCall, ToolScope, Verdict
from runner.policy import TOOLS, Connector, SavedVerdict, call_key, decide, definition_digest, model_name
from runner.policy.guard import MAX_INPUT_BYTES
from tests.helpers.builders import a_call, a_profile
from tests.helpers.policy import NEW, a_context
from tests.helpers.views import File, TreeView

ALLOW, ASK, DENY = "Runs at once: ", "Waits for a person's approval: ", "Refused (%s): "
OPEN: dict[str, Any] = {"strict": False}
TAIL = " Do not retry this call unchanged."
READ, WRITE = a_call("Read", {"file_path": "in.txt"}), a_call("Write", {"file_path": "x", "content": ""})
POST = a_call(NEW, {"text": "x"})


def no(rule: str, says: str) -> str:
    """A refusal's sentence."""
    return f"Refused ({rule}): {says}{TAIL}"


@pytest.mark.parametrize(
    ("call", "profile", "context", "sentence"),
    [
        (READ, {}, {}, f"{ALLOW}The default policy runs this tool, though others of this agent need approval."),
        (READ, {"tools": ("Read",)}, {}, f"{ALLOW}The default policy runs every tool of this agent."),
        (WRITE, {}, {}, f"{ASK}The default policy does not run this tool unasked."),
        (WRITE, OPEN, {"saved": {"Write": SavedVerdict.ALLOW}}, f"{ALLOW}The owner saved `always allow` for this tool."),
        (READ, {}, {"saved": {"Read": SavedVerdict.ASK}}, f"{ASK}The owner saved `ask` for this tool."),
        (
            READ,
            {},
            {"saved": {"Read": SavedVerdict.BLOCK}},
            f"Blocked (blocked): The owner blocked this tool.{TAIL}",
        ),
        (
            POST,
            {"tools": (NEW,), **OPEN},
            {"tainted": True, "saved": {NEW: SavedVerdict.ALLOW}},
            f"{ASK}Untrusted content is in this conversation, something private can be reached, and this tool could carry it "
            "out of here.",
        ),
        (
            READ,
            {"policy": Policy.SKIP},
            {"max_policy": Policy.READ_ONLY},
            f"{ASK}The profile's policy is above this host's ceiling, so every call asks.",
        ),
        (
            WRITE,
            {"unattended": True},
            {},
            no("no_channel", "This call needs a person's approval and nobody can be asked in this run."),
        ),
        (a_call("Write", "x"), {"tools": ("Read",)}, {}, no("not_declared", "This agent has no such tool.")),
        (a_call("RunCode", {"code": "x"}), {"tools": ("RunCode",)}, {}, no("not_available", "This tool is not available yet.")),
        (
            a_call("Read", raw="[]"),
            {},
            {},
            no("malformed", "The input is malformed: it must be one JSON object that every reader reads alike."),
        ),
        (
            a_call("Write", {"file_path": "x", "content": "y" * MAX_INPUT_BYTES}),
            {},
            {},
            no("too_large_to_review", "The input is larger than 256 KiB, more than a person can review."),
        ),
        (READ, {}, {"saved": {"Read": "allow"}}, no("silence", "No rule allows this call.")),
        (
            a_call("Read", {"file_path": "a.env"}),
            {"hide": ("*.env",)},
            {},
            no("hidden", "The path is left out of the workspace: the profile hides it."),
        ),
        (
            READ,
            {"read": ("*.md",)},
            {},
            no("hidden", "The path is left out of the workspace: the profile does not include it."),
        ),
        (
            a_call("Write", {"file_path": ".GIT/x", "content": ""}),
            {},
            {},
            no("protected", ".git can give power later, so it is protected and this agent may not change it."),
        ),
        (
            WRITE,
            {"scopes": (ToolScope(tool="Write", only=("out/**",)),)},
            {},
            no("scope", "The profile narrows Write to other paths than this one."),
        ),
        (
            a_call("Read", {"file_path": "report.docx"}),
            {},
            {},
            no("unreadable_format", "Read cannot open .docx and .xlsx files."),
        ),
        (
            a_call("Read", {"file_path": "big.bin"}),
            {},
            {},
            no("too_large_to_read", "The file is larger than 4 MiB; search it with Grep instead."),
        ),
        (
            READ,
            {"hide": ("!",)},
            {},
            no("unproven", "Whether the path may be used could not be found out."),
        ),
        (
            a_call("Read", {"file_path": "in.txt", "more": 1}),
            {},
            {},
            no(
                "malformed",
                "The input has an argument that Read does not take; it takes file_path, offset, limit, pages, allow_large.",
            ),
        ),
        (a_call("Read", {}), {}, {}, no("malformed", "The argument file_path is missing.")),
        (a_call("Read", {"file_path": 3}), {}, {}, no("malformed", "The argument file_path must be a JSON string.")),
        (
            a_call("Read", {"file_path": "in.txt", "limit": 0}),
            {},
            {},
            no("malformed", "The argument limit must be at least 1."),
        ),
        (
            a_call("Grep", {"pattern": "x", "output_mode": "all"}),
            {},
            {},
            no("malformed", "The argument output_mode must be one of content, files_with_matches, count."),
        ),
        (
            a_call("Read", {"file_path": "in.txt", "limit": True}),
            {},
            {},
            no("malformed", "The argument limit must be a JSON integer."),
        ),
    ],
)
def test_a_decision_says_why_in_these_words(call: Any, profile: Any, context: Any, sentence: str) -> None:
    """P12, R103, R111."""
    assert decide(call, a_profile(**profile), a_context(**context)).reason == sentence


def test_the_strict_floor_says_that_it_is_one() -> None:
    """R39, P12: a tool that the default policy would run."""
    tool = replace(TOOLS["CreateFolder"], available=True)
    context = a_context(connectors={NEW: Connector(tool=replace(tool, name=NEW), pinned=_digest(tool), offered=_digest(tool))})

    decision = decide(a_call(NEW, {"path": "new"}), a_profile(tools=(NEW,), policy=Policy.SKIP), context)

    assert decision.reason == f"{ASK}The run is strict, so only confined reads run unasked."


def _digest(tool: Any) -> Any:
    return definition_digest(replace(tool, name=NEW))


@pytest.mark.parametrize("number", [10**400, float("inf")])
def test_an_input_without_a_canonical_form_is_malformed(number: Any) -> None:
    """B3: what has no digest cannot be approved; `parse_call` lets none through, a caller of its own might."""
    value = {"pattern": "x", "head_limit": number}

    decision = decide(ToolCall(tool="Grep", raw="{}", input=value), a_profile(), a_context())

    assert (decision.verdict, decision.rule, decision.call_digest) == (Verdict.DENY, "malformed", None)
    assert decision.reason in {
        no("malformed", "The input has no canonical form."),
        no("malformed", "The argument head_limit must be a JSON integer."),
    }


def test_a_contacts_context_is_strict_whatever_the_profile_says() -> None:
    """R55, C15."""
    decision = decide(WRITE, a_profile(strict=False), a_context(sender=SenderKind.CONTACT))

    assert decision.strict is True
    assert decide(WRITE, a_profile(strict=False), a_context()).strict is False


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_what_a_definition_digest_and_a_call_key_are_of(name: str) -> None:
    """B2, P5: stored approvals hold them, so they are the same tomorrow."""
    tool = TOOLS[name]

    assert definition_digest(tool) == digest_json(
        "runner.tool.v1", {"name": name, "description": tool.told, "schema": tool.json_schema()}
    )
    assert call_key(name, {"x": "./y"}) == digest_json("runner.call-key.v1", {"tool": name, "input": {"x": "./y"}})


def test_a_name_that_nobody_knows_would_be_one_of_ours() -> None:
    """Issue 4 item 6: never the CLI's own tool."""
    assert model_name("nonsense") == "mcp__runner__nonsense"


def test_a_file_to_the_byte_is_read_and_an_input_to_the_byte_is_reviewed() -> None:
    """L8, sdk.md §5."""
    tree = TreeView({"in.txt": File(size=4 * 1024 * 1024), "more": File(size=4 * 1024 * 1024 + 1)})
    room = MAX_INPUT_BYTES - len(json.dumps({"file_path": "x", "content": ""}))
    calls = [
        READ,
        a_call("Read", {"file_path": "more"}),
        a_call("Write", {"file_path": "x", "content": "y" * room}),
        a_call("Write", {"file_path": "x", "content": "y" * (room + 1)}),
    ]

    rules = [decide(call, a_profile(), a_context(view=tree)).rule for call in calls]

    assert rules == ["covered_in_manual", "too_large_to_read", "not_covered", "too_large_to_review"]
