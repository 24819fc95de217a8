"""Properties of grants over any input: they loosen one thing, for the owner, where strict is off or a read is confined (D3)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.model import STRICTNESS, GrantId, Policy, Profile, SenderKind, ToolCall, Verdict
from runner.policy import TOOLS, Grant, PolicyContext, decide
from tests.helpers.builders import a_profile
from tests.properties.test_policy_decide import PATHS, VIEW, contexts, good_calls

_NAMES = st.sampled_from(["sub", "ok", "in.txt", "out", "..", "*"])
_GLOBS = st.sampled_from(["*", "**", "sub/*", "in.txt", "?n.txt", "[", ""]) | st.text(max_size=8)
_KEYS = st.sampled_from(["file_path", "content", "path", "pattern", "old_string", "nothing"])


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """Any profile as far as it matters here."""
    return a_profile(
        tools=(*TOOLS, "mcp__github__post"),
        strict=draw(st.booleans()),
        policy=draw(st.sampled_from([*Policy, None])),
        unattended=draw(st.booleans()),
    )


@st.composite
def grants(draw: st.DrawFn, profile: Profile, tool: str) -> tuple[Grant, ...]:
    """Some grants, most of them for this tool and profile."""
    made = []
    for number in range(draw(st.integers(1, 3))):
        made.append(
            Grant(
                id=GrantId(f"g_{number:016d}"),
                tool=draw(st.sampled_from([tool, tool, "Write"])),
                profile_digest=profile.digest,
                prefix=draw(st.none() | st.lists(_NAMES, min_size=1, max_size=2).map(tuple)),
                matches=tuple(draw(st.lists(st.tuples(_KEYS, _GLOBS), max_size=2))),
            )
        )
    return tuple(made)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[ToolCall, Profile, PolicyContext]:
    """A call, a profile, a context with grants in it."""
    call, profile = draw(good_calls()), draw(profiles())
    return call, profile, replace(draw(contexts()), grants=draw(grants(profile, call.tool)))


@settings(max_examples=400)
@given(worlds())
def test_a_grant_changes_a_decision_only_from_ask_to_run_and_never_past_a_floor(
    world: tuple[ToolCall, Profile, PolicyContext],
) -> None:
    """P6: whatever is granted, a contact's run, a tainted thread and a strict run stay as strict as they are."""
    call, profile, context = world
    with_it, without = decide(call, profile, context), decide(call, profile, replace(context, grants=()))
    assert (with_it.paths, with_it.call_digest, with_it.strict) == (without.paths, without.call_digest, without.strict)
    if with_it.grant is None:
        # Where a floor holds a call that is granted, the floor is the reason that is told.
        held = with_it.rule in {"strict", "ceiling"} and without.rule in {"not_covered", "no_channel"}
        assert with_it == (replace(without, rank=0, rule=with_it.rule, reason=with_it.reason) if held else without)
        return
    assert (with_it.verdict, with_it.rank, with_it.rule) == (Verdict.ALLOW, 0, "grant")
    assert without.rule in {"not_covered", "no_channel"}
    assert STRICTNESS.index(without.verdict) > STRICTNESS.index(with_it.verdict)
    assert (context.sender, context.thread_tainted) == (SenderKind.OWNER, False)
    assert TOOLS[call.tool].confined_read or not with_it.strict
    assert not TOOLS[call.tool].egress


@settings(max_examples=200)
@given(st.sampled_from(PATHS), st.lists(_NAMES, min_size=1, max_size=2))
def test_beneath_a_prefix_means_where_the_path_leads(path: str, prefix: list[str]) -> None:
    """A path that leads out of the prefix is not covered, however it is written."""
    profile = a_profile(strict=False)
    grant = Grant(id=GrantId("g_0"), tool="Write", profile_digest=profile.digest, prefix=tuple(prefix))
    call = ToolCall(tool="Write", raw="{}", input={"file_path": path, "content": "x"})
    context = PolicyContext(view=VIEW, grants=(grant,))
    decision = decide(call, profile, context)
    if decision.grant is not None:
        (found,) = decision.paths
        assert str(found.resolved).startswith("/workspace/" + "/".join(prefix))
