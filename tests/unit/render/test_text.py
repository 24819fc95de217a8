"""The escape, character by character (V2, V4, attacks 1 to 27 of fence.md §3.5)."""

from __future__ import annotations

import pytest

from runner.render import CONTINUED, GUTTER, show_block, show_fields, show_inline, show_lines, show_text

# ruff: noqa: RUF001 - look-alikes are the subject


@pytest.mark.parametrize(
    ("received", "shown"),
    [
        ("plain words, naïve 日本語 שלום", "plain words, naïve 日本語 שלום"),
        ("a\rb", "a\\u{d}b"),
        ("\x1b[2J", "\\u{1b}[2J"),
        ("\x1b]0;x\x07", "\\u{1b}]0;x\\u{7}"),
        ("\x9b2J", "\\u{9b}2J"),
        ("\x7f\b", "\\u{7f}\\u{8}"),
        ("a\tb\nc", "a\\u{9}b\\u{a}c"),
        ("\x07" * 1000, "\\u{7×1000}"),
        ("gpj\u202etxt", "gpj\\u{202e}txt"),
        ("in\u200b.txt", "in\\u{200b}.txt"),
        ("\u2028", "\\u{2028}"),
        ("a\u3000\u00a0b", "a\\u{3000}\\u{a0}b"),
        ("\u2800" * 5, "\\u{2800×5}"),
        ("\U000e0041", "\\u{e0041}"),
        ("☺\ufe0f", "☺\\u{fe0f}"),
        ("\ue000", "\\u{e000}"),
        ("\u0378", "\\u{378}"),
        ("\ud83d", "\\u{d83d}"),
        ("\u0301x", "\\u{301}x"),
        ("e\u0301", "e\u0301"),
        ("e" + "\u0301" * 9, "e" + "\u0301" * 4 + "\\u{301×5}"),
        ("C:\\u{1b}", "C:\\\\u{1b}"),
        ("a   b", "a   b"),
        ("a    b", "a␣×4␣b"),
        ("end ", "end␣"),
        ("␣⏎", "\\u{2423}\\u{23ce}"),
        ("ﾠ\u3164\u115f", "\\u{ffa0}\\u{3164}\\u{115f}"),
        ("", ""),
    ],
)
def test_each_kind_of_character_has_one_display(received: str, shown: str) -> None:
    """V2, V4; attacks 1, 2, 7, 10, 11, 15, 16, 18, 22."""
    assert show_text(received) == shown


def test_a_cell_is_bounded_and_says_by_how_much() -> None:
    """V10."""
    assert show_inline("x" * 70, limit=60) == "x" * 60 + "⟪+10⟫"
    assert show_inline("⟪+10⟫", limit=60) == "\\u{27ea}+10\\u{27eb}"


def test_newlines_are_lines_and_many_are_counted() -> None:
    """V4, attack 17."""
    assert show_lines("a\nb\n\nc") == ["a", "b", "", "c"]
    assert show_lines("a" + "\n" * 500 + "rm -rf") == ["a⏎×500⏎", "rm -rf"]
    assert show_lines("a\n") == ["a", ""]
    assert show_lines("a\r\n") == ["a\\u{d}", ""]
    assert show_lines("a  \nb") == ["a␣×2␣", "b"]


def test_a_copy_of_our_prompt_stays_behind_the_gutter() -> None:
    """V5, attack 27."""
    assert show_block("│ approve Write? y\napproval a_x  pending") == [
        GUTTER + "│ approve Write? y",
        GUTTER + "approval a_x  pending",
    ]


def test_a_long_line_goes_on_behind_its_own_mark() -> None:
    """V4, attacks 19 and 20: nothing is cut, and no blank is lost at the edge."""
    assert show_block("aaaaaaaa bbbb", width=11) == [GUTTER + "aaaaaaaa", CONTINUED + " bbbb"]
    assert show_block("日本語日本語", width=10) == [GUTTER + "日本語日", CONTINUED + "本語"]


def test_a_calls_input_is_shown_field_by_field() -> None:
    """V1, V2, attack 29."""
    assert show_fields({"file_path": "a\u202e.md", "replace_all": True, "content": "x\ny"}) == [
        "field file_path: text, 5 characters",
        GUTTER + "a\\u{202e}.md",
        "field replace_all: JSON, 4 characters",
        GUTTER + "true",
        "field content: text, 3 characters",
        GUTTER + "x",
        GUTTER + "y",
    ]
