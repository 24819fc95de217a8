"""Words that could be read as others, and those that only look foreign (V6, U3)."""

from __future__ import annotations

import pytest

from runner.fence.lookalikes import mixed, passes_for_ascii, scripts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("w\u043erk", ("w\u043erk",)),
        ("a/\u0440\u0430y/b", ("\u0440\u0430y",)),
        ("\u03b1lpha-x", ("\u03b1lpha-x",)),
        ("plain", ()),
        ("\u043e\u0442\u0447\u0451\u0442 plain", ()),
        ("PDF\u8cc7\u6599 \u30c6\u30b9\u30c8test", ()),
        ("r\u00e9sum\u00e9_\u00c6r\u00f8", ()),
    ],
)
def test_a_word_of_several_scripts_is_found(text: str, found: tuple[str, ...]) -> None:
    assert mixed(text) == found


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("\u0440\u0430\u0443", "pay"),
        ("a\u2215b", "a/b"),
        ("\uff57\uff4f", "wo"),
        ("plain", None),
        ("\u0434\u043e\u043c", None),
        ("r\u00e9sum\u00e9", None),
        ("\u6f22\u5b57", None),
    ],
)
def test_what_reads_like_plain_ascii_and_is_not_is_read_as_it(text: str, read: str | None) -> None:
    assert passes_for_ascii(text) == read


def test_the_scripts_of_a_word_are_named_in_order() -> None:
    assert scripts("a\u0431\u6f22\u304b1_") == ("Latin", "Cyrillic", "Han")
