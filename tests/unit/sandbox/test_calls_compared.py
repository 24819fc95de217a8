"""Our list of system calls is the engine's own with much taken out and nothing put in (M1)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaigns.calls import FAMILIES, Listed, our_list, parse, present, recorded, wider

UNIX = ((0, 1, 0, "SCMP_CMP_EQ"),)
NO_SPACES = ((0, 0x7E020000, 0, "SCMP_CMP_MASKED_EQ"),)


def a_list(**calls: tuple[tuple[tuple[int, int, int, str], ...], ...]) -> Listed:
    return Listed(calls=calls, machines=frozenset({"SCMP_ARCH_X86_64"}))


def test_ours_lets_in_nothing_that_the_recorded_engine_refuses():
    version, theirs = recorded()
    assert version
    assert len(theirs.calls) > 300
    assert wider(our_list(), theirs) == ()


@pytest.mark.parametrize("family", FAMILIES)
def test_no_call_of_a_family_that_no_agent_needs_is_let_in(family):
    """Issue 7 item 1: io_uring, userfaultfd, bpf, ptrace, keyctl, the mount API, new namespaces, foreign calls."""
    assert present(our_list())[family] == ()


def test_the_families_are_no_empty_words():
    """The engine's own list lets much of them in, so that refusing them is ours."""
    _, theirs = recorded()
    assert sum(len(calls) for calls in present(theirs).values()) > 60
    named = [name for calls in FAMILIES.values() for name in calls.split()]
    assert len(named) == len(set(named))


def test_one_call_more_than_theirs_is_told():
    _, theirs = recorded()
    ours = our_list()
    assert wider(replace(ours, calls={**ours.calls, "bpf": ((),)}), theirs) == ("bpf",)
    assert wider(replace(ours, machines=ours.machines | {"SCMP_ARCH_MIPS"}), theirs) == ("machine SCMP_ARCH_MIPS",)


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        ((UNIX,), ((),), ()),
        (((),), (UNIX,), ("socket",)),
        ((UNIX,), (((0, 40, 0, "SCMP_CMP_NE"),),), ()),
        ((UNIX,), (((0, 1, 0, "SCMP_CMP_NE"),),), ("socket",)),
        ((UNIX,), (((1, 1, 0, "SCMP_CMP_EQ"),),), ("socket",)),
        ((UNIX,), (((0, 1, 0, "SCMP_CMP_EQ"), (2, 0, 0, "SCMP_CMP_EQ")),), ("socket",)),
        ((UNIX,), (((0, 2, 0, "SCMP_CMP_EQ"),), ((0, 1, 0, "SCMP_CMP_LE"),)), ()),
        ((UNIX, ()), (UNIX,), ("socket",)),
        ((NO_SPACES,), (NO_SPACES,), ()),
        ((NO_SPACES,), (((0, 0x7E000000, 0, "SCMP_CMP_MASKED_EQ"),),), ("socket",)),
        ((UNIX,), (((0, 6, 0, "SCMP_CMP_MASKED_EQ"),),), ()),
        ((UNIX,), (((0, 1, 0, "SCMP_CMP_NEWER"),),), ("socket",)),
        ((UNIX,), (), ("socket",)),
    ],
)
def test_a_condition_is_wider_unless_it_is_provably_narrower(ours, theirs, found):
    assert wider(a_list(socket=ours), a_list(socket=theirs) if theirs else a_list()) == found


def test_a_list_that_lets_in_by_default_is_none():
    with pytest.raises(ValueError, match="refuses by default"):
        parse({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": []})
