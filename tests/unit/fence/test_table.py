"""The pinned Unicode tables: whole, unchanged, and never behind the running Python (U2)."""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from pathlib import Path

import pytest

from runner.fence import table
from runner.fence.classes import one_of, spans
from tests.helpers import unicode_table

PINNED = "b219e0169eba3ac352e735c9bd181c54e4e9326164635e49f4d5b0eeb2c4f847"


def characters(text: str) -> set[int]:
    return {code for low, high in spans(text) for code in range(low, high + 1)}


def test_the_table_is_the_pinned_one():
    """U2."""
    source = Path(table.__file__).read_bytes()
    assert (table.UNICODE_VERSION, hashlib.sha256(source).hexdigest()) == ("14.0.0", PINNED)


def test_no_unicode_version_hides_a_character_that_the_table_does_not_know():
    """A newer Unicode assigns what is unassigned here, and that is escaped already."""
    unknown = unicode_table.hidden() - characters(table.HIDDEN)
    assert {code for code in unknown if unicodedata.category(chr(code)) != "Cn"} == set()


def test_a_table_made_by_the_pinned_unicode_version_is_the_same():
    if unicodedata.unidata_version == table.UNICODE_VERSION:
        assert unicode_table.source() == Path(table.__file__).read_text()


def test_what_is_drawn_and_what_ends_a_line_is_not_hidden():
    seen = {0x09, 0x0A, 0x20, 0xA0, 0x3000, 0x0600, 0x06DD, ord("é"), ord("क"), 0x1F600}
    assert seen & characters(table.HIDDEN) == set()


def test_every_line_end_python_knows_but_lf_is_hidden():
    """F12: exactly these ten end a line."""
    ends = {code for code in range(sys.maxunicode + 1) if len(f"a{chr(code)}b".splitlines()) == 2}
    assert len(ends) == 10
    assert ends - characters(table.HIDDEN) == {0x0A}


@pytest.mark.parametrize("name", ["HIDDEN", "MARKS", "PICTOGRAPHS", "JOINING", "LIKE_S", "LIKE_OPEN"])
def test_a_class_matches_exactly_its_characters(name):
    text = getattr(table, name)
    pattern = re.compile(one_of(text))
    assert {code for code in range(sys.maxunicode + 1) if pattern.fullmatch(chr(code))} == characters(text)


def test_the_visible_tables_hold_nothing_hidden():
    hidden = characters(table.HIDDEN)
    for name in ["MARKS", "PICTOGRAPHS", "JOINING", "LIKE_U", "LIKE_OPEN", "LIKE_CLOSE", "LIKE_SLASH", "LIKE_BAR"]:
        assert characters(getattr(table, name)) & hidden == set()
