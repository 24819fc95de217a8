"""A grant lifts the default policy's "ask" for calls that look as it says, and nothing else (D3, P2, P6, R71, R72, C4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runner.model import ApprovalSettings, GrantId, Policy, SenderKind
from runner.policy import TOOLS, Grant, SavedVerdict, decide
from runner.policy.catalogue import unknown_tool
from runner.policy.grants import grantable
from tests.helpers.builders import a_call, a_profile
from tests.helpers.policy import a_context, short

TOOLS_OF_ALL = ("Read", "Glob", "Grep", "Write", "Edit", "CreateFolder", "NotebookEdit")
OPEN = a_profile(strict=False, tools=TOOLS_OF_ALL)
G = GrantId("g_0123456789abcdef")
GRANTED = ("allow", 0, "grant")
ASKS = ("ask", 7, "not_covered")
WRITE = a_call("Write", {"file_path": "sub/new.md", "content": "x"})


def a_grant(tool: str = "Write", *, profile: Any = OPEN, **changes: Any) -> Grant:
    return replace(Grant(id=G, tool=tool, profile_digest=profile.digest), **changes)


def asked(call: Any, *, profile: Any = OPEN, grant: Grant | None = None, **context: Any) -> tuple[str, int, str]:
    given = a_grant(call.tool, profile=profile) if grant is None else grant
    return short(decide(call, profile, a_context(grants=(given,), **context)))


def test_a_call_that_a_grant_covers_runs_by_it() -> None:
    decision = decide(WRITE, OPEN, a_context(grants=(a_grant(),)))
    assert (short(decision), decision.grant) == (GRANTED, G)
    assert decision.reason == "Runs at once: A grant of the owner covers this call."
    without = decide(WRITE, OPEN, a_context())
    assert (short(without), without.grant) == (ASKS, None)
    assert without.call_digest == decision.call_digest


@pytest.mark.parametrize(
    ("why", "profile", "context", "answer"),
    [
        ("a contact's run", OPEN, {"sender": SenderKind.CONTACT}, ASKS),
        ("a contact that is a program", OPEN, {"sender": SenderKind.AGENT}, ASKS),
        ("a thread that was tainted before", OPEN, {"thread_tainted": True}, ASKS),
        ("strict", replace(OPEN, strict=True), {}, ("ask", 0, "strict")),
        ("another profile", replace(OPEN, digest="sha256:other"), {}, ASKS),
        ("two approvers", replace(OPEN, approvals=ApprovalSettings(required=2)), {}, ASKS),
        ("blocked", OPEN, {"saved": {"Write": SavedVerdict.BLOCK}}, ("deny", 1, "blocked")),
        ("saved ask", OPEN, {"saved": {"Write": SavedVerdict.ASK}}, ("ask", 5, "saved_ask")),
        ("the host's ceiling", replace(OPEN, policy=Policy.SKIP), {"max_policy": Policy.READ_ONLY}, ("ask", 0, "ceiling")),
    ],
)
def test_what_is_stricter_than_the_default_policy_is_not_lifted(
    why: str, profile: Any, context: dict[str, Any], answer: tuple[str, int, str]
) -> None:
    grant = a_grant(profile=OPEN if why == "another profile" else profile)
    assert asked(WRITE, profile=profile, grant=grant, **context) == answer, why


@pytest.mark.parametrize("name", ["Read", "Glob", "Grep"])
def test_a_confined_read_under_ask_can_be_granted_in_a_strict_run_too(name: str) -> None:
    """R68: the strict floor lets confined reads run, so lifting the policy's ask is all there is to do."""
    profile = a_profile(strict=True, policy=Policy.ASK, tools=TOOLS_OF_ALL)
    arguments = {"file_path": "in.txt"} if name == "Read" else {"pattern": "x"}
    call = a_call(name, arguments)
    assert asked(call, profile=profile) == GRANTED
    assert asked(call, profile=profile, grant=a_grant("Write", profile=profile)) == ASKS
    assert asked(call, profile=profile, sender=SenderKind.CONTACT) == ASKS


@pytest.mark.parametrize("arguments", [{"file_path": "../x", "content": ""}, {"file_path": ".git/x", "content": ""}, {}])
def test_a_call_with_something_wrong_is_refused_whatever_is_granted(arguments: dict[str, str]) -> None:
    assert asked(a_call("Write", arguments))[0] == "deny"


def test_which_tools_can_be_granted_is_told_by_their_class() -> None:
    found = {tool.name for tool in TOOLS.values() if grantable(tool)}
    assert found >= {"Read", "Glob", "Grep", "Write", "Edit", "CreateFolder", "NotebookEdit"}
    assert not found & {"Bash", "RunCode", "FetchPage", "WebFetch", "WebSearch", "Reply", "BrowserClick"}
    assert not grantable(unknown_tool("mcp__github__post"))


def test_a_connector_is_never_granted_however_it_is_declared() -> None:
    name = "mcp__github__post"
    profile = replace(OPEN, tools=(*TOOLS_OF_ALL, name))
    assert asked(a_call(name, {"a": "b"}), profile=profile, grant=a_grant(name, profile=profile))[0] == "ask"


@pytest.mark.parametrize(
    ("narrowed", "path", "covered"),
    [
        ({"prefix": ("sub",)}, "sub/new.md", True),
        ({"prefix": ("sub",)}, "./sub//new.md", True),
        ({"prefix": ("sub",)}, "/workspace/sub/deeper/new.md", True),
        ({"prefix": ("sub",)}, "ok/new.md", True),  # ok leads to sub
        ({"prefix": ("sub",)}, "subway/new.md", False),
        ({"prefix": ("sub",)}, "sub/../new.md", False),
        ({"prefix": ("sub", "new.md")}, "sub/new.md", True),
        ({"prefix": ("ok",)}, "ok/new.md", False),  # it leads elsewhere than it says
        ({"matches": (("file_path", "sub/*.md"),)}, "sub/new.md", True),
        ({"matches": (("file_path", "sub/*.md"),)}, "sub/deeper/new.md", False),
        ({"matches": (("file_path", "*"),)}, "sub/new.md", False),
        ({"matches": (("file_path", "sub/*"),)}, "sub/../in.txt", False),
        ({"matches": (("content", "x"),)}, "sub/new.md", True),
        ({"matches": (("content", "y*"),)}, "sub/new.md", False),
        ({"matches": (("nothing", "*"),)}, "sub/new.md", False),
        ({"matches": (("file_path", "sub/*"), ("content", "y"))}, "sub/new.md", False),
    ],
)
def test_a_narrowed_grant_is_judged_by_where_the_path_leads(narrowed: dict[str, Any], path: str, covered: bool) -> None:
    call = a_call("Write", {"file_path": path, "content": "x"})
    assert asked(call, grant=a_grant(**narrowed)) == (GRANTED if covered else ASKS)


@pytest.mark.parametrize("name", ["Glob", "Grep"])
def test_a_search_is_not_covered_by_a_path_since_it_may_reach_further(name: str) -> None:
    profile = a_profile(strict=False, policy=Policy.ASK, tools=TOOLS_OF_ALL)
    call = a_call(name, {"pattern": "*", "path": "sub"})
    assert asked(call, profile=profile, grant=a_grant(name, profile=profile, prefix=("sub",))) == ASKS
    assert asked(call, profile=profile, grant=a_grant(name, profile=profile, matches=(("path", "sub"),))) == GRANTED


def test_an_absent_argument_or_one_of_another_type_matches_no_pattern() -> None:
    call = a_call("Edit", {"file_path": "in.txt", "old_string": "a", "new_string": "b", "replace_all": True})
    for key in ("replace_all", "content"):
        assert asked(call, grant=a_grant("Edit", matches=((key, "*"),))) == ASKS


def test_of_two_grants_the_one_that_covers_the_call_is_named() -> None:
    other = a_grant(id=GrantId("g_1123456789abcdef"), prefix=("elsewhere",))
    decision = decide(WRITE, OPEN, a_context(grants=(other, a_grant())))
    assert decision.grant == G


def test_a_grant_that_changed_nothing_is_not_named() -> None:
    """It is not used where the default policy runs the call anyway, nor where something else asks."""
    read = a_call("Read", {"file_path": "in.txt"})
    grant = a_grant("Read")
    for context in ({}, {"saved": {"Read": SavedVerdict.ASK}}):
        assert decide(read, OPEN, a_context(grants=(grant,), **context)).grant is None


def test_nobody_has_to_be_there_for_what_is_granted() -> None:
    """R72: as for a saved allow, the yes was said before."""
    unattended = replace(OPEN, unattended=True)
    assert asked(WRITE, profile=unattended) == GRANTED
    assert short(decide(WRITE, unattended, a_context())) == ("deny", 0, "no_channel")
