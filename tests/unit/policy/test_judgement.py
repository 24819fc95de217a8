"""Profile and context as they reach the precedence table: policies, strict floor, ceiling, saved verdicts, escalation."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from runner.model import Policy, SenderKind, ToolCall, Verdict
from runner.policy import TOOLS, SavedVerdict, decide, explain_matrix
from tests.helpers.builders import a_call, a_profile
from tests.helpers.policy import NEW, a_context, sample, short

#: Every tool of the catalogue made available, for what must hold once it is.
EVERYTHING = {name: replace(tool, available=True) for name, tool in TOOLS.items()}
FETCH = a_call("FetchPage", {"url": "https://example.org"})
WRITE = a_call("Write", {"file_path": "x", "content": ""})
FOLDER = a_call("CreateFolder", {"path": "new"})
READ = a_call("Read", {"file_path": "in.txt"})


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every tool were carried out already."""
    for module in ("decide", "judge", "matrix"):
        monkeypatch.setattr(import_module(f"runner.policy.{module}"), "TOOLS", EVERYTHING)


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize(
    ("policy", "runs"),
    [
        (Policy.ASK, set()),
        (
            Policy.READ_ONLY,
            {"Read", "Glob", "Grep", "ListFiles", "FetchPage", "WebFetch", "WebSearch", "MapSearch", "RunCode", "RunSkill"},
        ),
        (
            Policy.SKIP,
            {"Read", "Glob", "Grep", "ListFiles", "FetchPage", "WebFetch", "WebSearch", "MapSearch", "RunCode", "RunSkill"}
            | {"CreateFolder", "CreateDocument"},
        ),
    ],
)
def test_what_each_default_policy_runs(policy: Policy, runs: set[str]) -> None:
    """R67-R71, R76-R86, R89, C2, C12, C13."""
    calls = {name: a_call(name, sample(tool)) for name, tool in EVERYTHING.items()}
    profile = a_profile(tools=tuple(TOOLS), strict=False, policy=policy)

    assert {name for name, call in calls.items() if decide(call, profile, a_context()).verdict is Verdict.ALLOW} == runs


@pytest.mark.usefixtures("everything")
def test_in_strict_only_confined_reads_run_under_any_policy() -> None:
    """C1, C2, P6, R38, R39."""
    for policy in Policy:
        profile = a_profile(tools=tuple(TOOLS), policy=policy)
        runs = {
            name
            for name, tool in EVERYTHING.items()
            if decide(a_call(name, sample(tool)), profile, a_context()).verdict is Verdict.ALLOW
        }
        assert runs == (set() if policy is Policy.ASK else {"Read", "Glob", "Grep", "ListFiles", "RunSkill"})


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize(
    ("call", "profile", "context", "expected"),
    [
        # 1: a block beats a saved allow of the default, and everything else
        (READ, {}, {"saved": {"Read": SavedVerdict.BLOCK}}, ("deny", 1, "blocked")),
        # 3, 4: always allow, with and without escalation (R72, R92, R96, R97, C4)
        (FETCH, {"strict": False}, {"saved": {"FetchPage": SavedVerdict.ALLOW}, "tainted": True}, ("ask", 3, "escalation")),
        (FETCH, {"strict": False}, {"saved": {"FetchPage": SavedVerdict.ALLOW}}, ("allow", 4, "saved_allow")),
        (WRITE, {"strict": False}, {"saved": {"Write": SavedVerdict.ALLOW}, "tainted": True}, ("allow", 4, "saved_allow")),
        (
            FETCH,
            {"strict": False, "unattended": True},
            {"saved": {"FetchPage": SavedVerdict.ALLOW}, "tainted": True},
            ("deny", 3, "escalation"),
        ),
        # 5: needs approval, under any policy (R73, R91)
        (READ, {"strict": False, "policy": Policy.SKIP}, {"saved": {"Read": SavedVerdict.ASK}}, ("ask", 5, "saved_ask")),
        # 6, 7: something in the turn needs approval
        (READ, {"strict": False}, {}, ("allow", 6, "covered_in_manual")),
        (READ, {"tools": ("Read", "Glob")}, {"saved": {"Glob": SavedVerdict.ASK}}, ("allow", 6, "covered_in_manual")),
        (READ, {"tools": ("Read", NEW)}, {}, ("allow", 6, "covered_in_manual")),
        (
            READ,
            {"tools": ("Read", NEW), "strict": False},
            {"saved": {NEW: SavedVerdict.ALLOW}},
            ("allow", 6, "covered_in_manual"),
        ),
        (
            READ,
            {"tools": ("Read", "Write"), "strict": False},
            {"saved": {"Write": SavedVerdict.ALLOW}},
            ("allow", 9, "all_covered"),
        ),
        (READ, {"tools": ("Read", "Write")}, {"saved": {"Write": SavedVerdict.ALLOW}}, ("allow", 6, "covered_in_manual")),
        (WRITE, {"strict": False, "policy": Policy.SKIP}, {}, ("ask", 7, "not_covered")),
        (READ, {"policy": Policy.ASK, "tools": ("Read",)}, {}, ("ask", 7, "not_covered")),
        # 8: escalation, with and without someone to ask
        (FETCH, {"strict": False}, {"tainted": True}, ("ask", 8, "escalation")),
        (FETCH, {"strict": False, "tools": ("FetchPage",)}, {"tainted": True}, ("ask", 8, "escalation")),
        (FETCH, {"strict": False, "unattended": True}, {"tainted": True}, ("deny", 8, "escalation")),
        (FETCH, {"strict": False}, {"tainted": True, "reachable_person": False}, ("deny", 8, "escalation")),
        # 9: every offered tool runs
        (READ, {"tools": ("Read", "Glob")}, {}, ("allow", 9, "all_covered")),
        (READ, {"tools": ("Read", "Write")}, {"saved": {"Write": SavedVerdict.BLOCK}}, ("allow", 9, "all_covered")),
        # strict floor (C1, C2, C4)
        (FETCH, {"tools": ("Read", "FetchPage")}, {}, ("ask", 0, "strict")),
        (FOLDER, {"tools": ("CreateFolder",), "policy": Policy.SKIP}, {}, ("ask", 0, "strict")),
        (FOLDER, {"tools": ("CreateFolder",), "policy": Policy.SKIP, "strict": False}, {}, ("allow", 9, "all_covered")),
        (WRITE, {}, {"saved": {"Write": SavedVerdict.ALLOW}}, ("ask", 7, "not_covered")),
        (READ, {"policy": Policy.ASK}, {"saved": {"Read": SavedVerdict.ALLOW}}, ("ask", 7, "not_covered")),
        (READ, {}, {"saved": {"Read": SavedVerdict.ALLOW}}, ("allow", 6, "covered_in_manual")),
        # ceiling falls to ask, not to the middle (R75, C7)
        (READ, {"policy": Policy.SKIP, "tools": ("Read",)}, {"max_policy": Policy.READ_ONLY}, ("ask", 0, "ceiling")),
        (READ, {"policy": Policy.READ_ONLY, "tools": ("Read",)}, {"max_policy": Policy.READ_ONLY}, ("allow", 9, "all_covered")),
        (READ, {"policy": Policy.READ_ONLY, "tools": ("Read",)}, {"max_policy": Policy.ASK}, ("ask", 0, "ceiling")),
        (
            WRITE,
            {"policy": Policy.SKIP, "strict": False},
            {"max_policy": Policy.ASK, "saved": {"Write": SavedVerdict.ALLOW}},
            ("allow", 4, "saved_allow"),
        ),
        # no policy of its own: the owner's, ask until set (R66, R67)
        (READ, {"policy": None, "tools": ("Read",)}, {}, ("ask", 7, "not_covered")),
        (READ, {"policy": None, "tools": ("Read",)}, {"owner_policy": Policy.READ_ONLY}, ("allow", 9, "all_covered")),
        # nobody to ask (L5)
        (WRITE, {"unattended": True}, {}, ("deny", 0, "no_channel")),
        (WRITE, {}, {"reachable_person": False}, ("deny", 0, "no_channel")),
        (READ, {"unattended": True}, {}, ("allow", 6, "covered_in_manual")),
        # a connector offered: sensitive by itself (R105), manual (R88)
        (
            FETCH,
            {"strict": False, "tools": ("FetchPage", NEW)},
            {"tainted": True, "sensitive": False},
            ("ask", 8, "escalation"),
        ),
        (FETCH, {"strict": False, "tools": ("FetchPage",)}, {"tainted": True, "sensitive": False}, ("allow", 9, "all_covered")),
    ],
)
def test_profile_and_context_reach_the_table(
    call: ToolCall, profile: dict[str, Any], context: dict[str, Any], expected: tuple[str, int, str]
) -> None:
    """R66-R75, R88-R102, C1-C7; P2, P3."""
    tools = profile.pop("tools", ("Read", "Glob", "Write", "FetchPage"))

    assert short(decide(call, a_profile(tools=tools, **profile), a_context(**context))) == expected


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize("tainted", [False, True])
@pytest.mark.parametrize("sensitive", [False, True])
@pytest.mark.parametrize("call", [FETCH, READ])
@pytest.mark.parametrize("attended", [False, True])
def test_only_all_three_legs_escalate(tainted: bool, sensitive: bool, call: ToolCall, attended: bool) -> None:
    """P3, R92, R93: the truth table, attended and not."""
    profile = a_profile(tools=("Read", "FetchPage"), strict=False)
    decision = decide(call, profile, a_context(tainted=tainted, sensitive=sensitive, reachable_person=attended))

    if tainted and sensitive and call is FETCH:
        assert short(decision) == ("ask" if attended else "deny", 8, "escalation")
    else:
        assert decision.verdict is Verdict.ALLOW


@pytest.mark.usefixtures("everything")
def test_no_setting_makes_a_contacts_run_looser_than_strict() -> None:
    """P6, R55, C4, C15, invariant 10: brute force."""
    for policy in (*Policy, None):
        for owner in Policy:
            for name, tool in EVERYTHING.items():
                profile = a_profile(
                    tools=tuple(TOOLS), strict=False, policy=policy, allow_unconfined_tools=True, allow_replies=True
                )
                saved = dict.fromkeys(TOOLS, SavedVerdict.ALLOW)
                context = a_context(sender=SenderKind.CONTACT, owner_policy=owner, saved=saved, sensitive=False)
                decision = decide(a_call(name, sample(tool)), profile, context)
                assert decision.strict
                assert decision.verdict is not Verdict.ALLOW or tool.confined_read, name


def test_a_run_is_strict_unless_everything_says_it_is_not() -> None:
    """Design.md §6; R37, R55."""
    loose = a_profile(strict=False)
    cases: list[tuple[Any, dict[str, Any], bool]] = [
        (a_profile(), {}, True),
        (loose, {}, False),
        (loose, {"sender": SenderKind.CONTACT}, True),
        (loose, {"sender": "owner"}, True),
        (loose, {"thread_tainted": True}, True),
        (loose, {"tainted": True}, False),
        (replace(loose, strict=0), {}, True),  # type: ignore[arg-type]
    ]

    for profile, context, strict in cases:
        assert decide(READ, profile, a_context(**context)).strict is strict, context


def test_a_value_nobody_knows_counts_as_the_strictest() -> None:
    """P10, invariant 1."""
    loose = a_profile(strict=False, tools=("Read",))
    odd: Any = "allow"

    assert short(decide(READ, loose, a_context(saved={"Read": odd}))) == ("deny", 0, "silence")
    assert short(decide(READ, replace(loose, policy=odd), a_context())) == ("ask", 7, "not_covered")
    assert short(decide(READ, loose, a_context(max_policy=odd))) == ("ask", 0, "ceiling")
    assert short(decide(READ, replace(loose, unattended=odd, policy=Policy.ASK), a_context())) == ("deny", 0, "no_channel")


@pytest.mark.usefixtures("everything")
def test_the_matrix_tells_the_kinds_of_run_apart() -> None:
    """Issue 4 item 4: what the given context says of sender and taint does not blur the columns."""
    profile = a_profile(tools=("FetchPage",), strict=False)
    context = a_context(tainted=True, sender=SenderKind.CONTACT)

    assert [(cell.column.value, cell.verdict, cell.word) for cell in explain_matrix(profile, context)] == [
        ("owner", Verdict.ALLOW, "default"),
        ("contact", Verdict.ASK, "escalation"),
        ("unattended", Verdict.ALLOW, "default"),
        ("tainted", Verdict.ASK, "escalation"),
    ]
