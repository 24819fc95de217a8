"""What the product does not stop is said on the security page, as plainly as R58-R61, R65 and R104-R107 ask."""

from __future__ import annotations

import re

import pytest

from scripts.make_feature_docs import LIMITS
from tests.architecture.tree import ROOT

#: Number → what its line has to say, whatever else it says.
SAID = {
    58: ("Fenced text", "still read by the model", "owner sends a hostile page"),
    59: ("picture", "no fence is around their words", "nobody calls them safe"),
    60: ("wake", "while nobody looks", "`wake = false`"),
    61: ("supervisor's uid", "`runner approve` included", "`docker` group"),
    65: ("fewest tools", "side effects", "strict", "stranger's attachment"),
    104: ("your own note", "nothing fences it", "every run"),
    105: ("connector that is merely offered", "could be reached"),
    106: ("tool server", "only what it is asked is seen"),
    107: ("escalated call", "approved, it runs"),
}


def remaining() -> dict[int, str]:
    """The lines of the page's list that carry a number, whole."""
    page = (ROOT / "docs/threat-model.md").read_text(encoding="utf-8")
    section = page.partition("## What this does not stop\n")[2].partition("\n## ")[0]
    lines = [" ".join(item.split()) for item in re.split(r"^- ", section, flags=re.MULTILINE)[1:]]
    return {int(number): line for line in lines for number in re.findall(r"\(R(\d+)\)", line.partition("** ")[0])}


@pytest.mark.parametrize("number", sorted(SAID))
def test_a_stated_limit_stands_on_the_security_page(number: int) -> None:
    """R58-R61, R65, R104-R107."""
    assert number in LIMITS | {105}
    assert [words for words in SAID[number] if words not in remaining().get(number, "")] == []


def test_the_security_policy_leads_to_what_remains() -> None:
    """R58-R61: whoever looks for what does not count as a hole is sent there."""
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "docs/threat-model.md" in policy
    assert "what the threat model lists as not stopped" in policy
