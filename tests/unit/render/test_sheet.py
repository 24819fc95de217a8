"""Lines for a full screen: folded by us, never wider than it, never starting with data (V4, V5, A26)."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from runner.render import Sheet, Styled, line

TEXTS = st.text(alphabet=st.sampled_from("ab \u6f22\u5b57\u00e4\u0301\x1b\u202e\u03b1\u2500│┊"), max_size=200)


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WFA" else 1 for char in text)


@given(TEXTS, st.integers(20, 90))
def test_a_line_of_ours_is_folded_to_the_width_and_loses_nothing(text: str, width: int) -> None:
    sheet = Sheet(width)
    sheet.say("  ", Styled("path", "dim", 9), text)
    drawn = [one.plain for one in sheet.drawn]
    assert all(columns(one) <= width for one in drawn)
    assert drawn[0].startswith("  path")
    assert all(one.startswith("┊ ") for one in drawn[1:])
    whole = Sheet(10_000)
    whole.say("  ", Styled("path", "dim", 9), text)
    assert drawn[0] + "".join(one[2:] for one in drawn[1:]) == whole.drawn[0].plain


@given(TEXTS, st.integers(1, 60))
def test_a_line_that_never_goes_on_says_that_it_was_cut(text: str, width: int) -> None:
    drawn = line(text, width=width).plain
    whole = line(text, width=100_000).plain
    assert columns(drawn) <= width
    assert drawn == whole or (drawn.endswith(">") and whole.startswith(drawn[:-1]))
