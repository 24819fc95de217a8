"""docs/policy.md, tools.md and profiles.md say what the code does, and what it does not do (invariant 12, issue 4 item 8)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runner.model import Profile, Verdict
from runner.policy import TOOLS, PolicyContext, explain_matrix
from runner.policy.matrix import Column
from runner.policy.precedence import TABLE
from runner.profiles import json_schema, parse
from runner.profiles.examples import EmptyDirectory
from scripts.make_policy_docs import BLOCKS, DOCS, filled, worked_profiles


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def worked() -> list[Profile]:
    return [parse(text, base=Path("/")) for text in worked_profiles(page("profiles.md"))]


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_made_blocks_are_up_to_date(name: str) -> None:
    """Run `make diagrams` when this fails."""
    assert filled(name, page(name)) == page(name)


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_a_page_that_lost_a_mark_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"docs/{name} lacks"):
        filled(name, page(name).replace("<!-- end of", "<!-- of"))


def test_every_rank_stands_in_the_page_in_order() -> None:
    """R94-R102: a permuted table makes this and the block's test fail."""
    found = re.findall(r"^\| (\d) \| .* \| `(\w+)` \|", page("policy.md"), re.MULTILINE)
    assert found == [(str(row.rank), row.rule) for row in TABLE]


def test_every_tool_and_argument_is_documented() -> None:
    """R87."""
    text = page("tools.md")
    for tool in TOOLS.values():
        section = text.partition(f"\n### {tool.name}\n")[2].partition("\n### ")[0]
        assert section, tool.name
        named = set(re.findall(r"^\| `(\S+)` \|", section, re.MULTILINE))
        assert named == {argument.name for argument in tool.arguments or ()}


def test_every_key_of_a_profile_is_documented() -> None:
    schema = json_schema()
    wanted = [schema["properties"], *(inner["properties"] for inner in schema["$defs"].values())]  # type: ignore[index,union-attr,call-overload]
    named = re.findall(r"^\| `(\w+)` \|", page("profiles.md"), re.MULTILINE)
    assert sorted(named) == sorted(key for properties in wanted for key in properties)


def test_three_worked_profiles_load_and_their_examples_hold() -> None:
    """Issue 4 item 8; parse executes the examples."""
    assert [(profile.name, len(profile.examples)) for profile in worked()] == [
        ("front-desk", 2),
        ("clerk", 3),
        ("night-watch", 3),
    ]


def test_the_worked_profiles_are_as_their_headings_say() -> None:
    desk, clerk, watch = worked()
    answers = {
        profile.name: {
            cell.verdict for cell in explain_matrix(profile, PolicyContext(view=EmptyDirectory())) if cell.column is column
        }
        for profile, column in ((desk, Column.CONTACT), (clerk, Column.OWNER), (watch, Column.OWNER))
    }
    assert answers == {"front-desk": {Verdict.ALLOW}, "clerk": {Verdict.ASK}, "night-watch": {Verdict.ALLOW, Verdict.DENY}}


@pytest.mark.parametrize("heading", ["What the escalation does not catch", "What a read rule does not bind"])
def test_what_the_rules_do_not_do_is_said_plainly(heading: str) -> None:
    """R68, R104-R107."""
    section = re.split(r"\n##+ ", page("policy.md").partition(f" {heading}\n")[2])[0]
    assert len(re.findall(r"^- ", section, re.MULTILINE)) >= 3
