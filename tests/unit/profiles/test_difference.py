"""What a change of a profile means: each key is noticed, and what gives authority is never called less."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from runner.model import ApprovalSettings, Example, FromAgent, Limits, Policy, Profile, SnapshotLimits, ToolScope, Verdict
from runner.profiles import Change, Direction, changes
from tests.helpers.builders import a_profile

MORE, LESS, OTHER = Direction.MORE, Direction.LESS, Direction.OTHER
#: A field, what it becomes, and what that is one way and back.
CASES: list[tuple[str, Any, Direction, Direction]] = [
    ("description", "other", OTHER, OTHER),
    ("kind", "other", OTHER, OTHER),
    ("model", "other", OTHER, OTHER),
    ("system_prompt", "other", OTHER, OTHER),
    ("cwd", Path("/srv/other"), MORE, MORE),
    ("tools", ("Read", "Glob", "Grep", "Write", "Edit", "Bash"), MORE, LESS),
    ("scopes", (ToolScope(tool="Write", only=("out/**",)),), LESS, MORE),
    ("strict", False, MORE, LESS),
    ("policy", Policy.SKIP, MORE, LESS),
    ("policy", Policy.ASK, LESS, MORE),
    ("policy", None, OTHER, OTHER),
    ("unattended", True, LESS, MORE),
    ("contacts", ("maria",), MORE, LESS),
    ("from_agents", (FromAgent(label="build"),), MORE, LESS),
    ("wake", False, OTHER, OTHER),
    ("allow_replies", True, MORE, LESS),
    ("allow_unconfined_tools", True, MORE, LESS),
    ("allow_hard_links", True, MORE, LESS),
    ("read", ("**", "!drafts/**"), LESS, MORE),
    ("read", ("**", "docs/**"), MORE, LESS),
    ("hide", ("*.key",), LESS, MORE),
    ("hide", ("!*.key",), MORE, LESS),
    ("unprotect", (".github",), MORE, LESS),
    ("limits", Limits(turns=41), MORE, LESS),
    ("limits", Limits(budget_usd=0.5), LESS, MORE),
    ("snapshot", SnapshotLimits(max_files=1), LESS, MORE),
    ("approvals", ApprovalSettings(required=2), LESS, MORE),
    ("approvals", ApprovalSettings(on_expiry="stop"), OTHER, OTHER),
    ("approvals", ApprovalSettings(expires=1.0), OTHER, OTHER),
    ("examples", (Example(tool="Read", raw="{}", expect=Verdict.DENY),), OTHER, OTHER),
]


@pytest.mark.parametrize(("field", "value", "there", "back"), CASES, ids=lambda value: str(value)[:20])
def test_a_change_of_one_key_is_one_sentence_each_way(field: str, value: Any, there: Direction, back: Direction) -> None:
    before, after = a_profile(), a_profile(**{field: value})
    (forth,), (again,) = changes(before, after), changes(after, before)
    assert (forth.direction, again.direction) == (there, back)
    assert forth.key.partition(".")[0] == ("tools" if field == "scopes" else field)
    assert len(forth.says) > 10


def test_every_key_of_a_profile_is_compared() -> None:
    """A key that is added later must be noticed here too."""
    assert {field.name for field in fields(Profile)} - {"name", "digest"} == {field for field, *_ in CASES}


def test_the_same_profile_has_no_difference() -> None:
    assert changes(a_profile(), a_profile()) == ()


def test_what_gives_authority_comes_first() -> None:
    before = a_profile(tools=("Read", "Write"), contacts=("ann",))
    after = a_profile(tools=("Read", "WebFetch"), description="x")
    assert changes(before, after) == (
        Change(direction=MORE, key="tools", says="now also reads: WebFetch, and can carry data out"),
        Change(direction=LESS, key="tools", says="no longer writes: Write"),
        Change(direction=LESS, key="contacts", says="ann may no longer send to it"),
        Change(direction=OTHER, key="description", says="is described in other words"),
    )


def test_patterns_in_another_order_are_a_difference() -> None:
    """The last that fits counts."""
    (found,) = changes(a_profile(read=("**", "!a/**")), a_profile(read=("!a/**", "**")))
    assert (found.direction, found.key) == (OTHER, "read")


def test_a_narrowing_that_changes_is_neither_more_nor_less() -> None:
    one, two = (a_profile(scopes=(ToolScope(tool="Write", only=(pattern,)),)) for pattern in ("a/**", "b/**"))
    assert [change.direction for change in changes(one, two)] == [OTHER]
