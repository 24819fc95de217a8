"""docs/hardening.md says what the wall's own tables say (issue 7 item 8)."""

from __future__ import annotations

import pytest

from campaigns.wall import MUTATIONS
from scripts.make_hardening_docs import PAGE, WHY, filled
from tests.architecture.tree import ROOT


def test_the_page_about_hardening_is_up_to_date() -> None:
    """Run `make diagrams` when this fails."""
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page
    assert "(docs/hardening.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_part_of_a_container_says_what_it_is_for() -> None:
    assert set(WHY) == {mutation.part for mutation in MUTATIONS.values()}


def test_a_page_about_hardening_without_its_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the marks"):
        filled("# The wall")
