"""V2: what is shown can be read back to exactly what was received, and nothing shown can act on a terminal.

The reader below is written against the documented escape, not against the renderer's code.
"""

# ruff: noqa: RUF001 - the multiplication sign is part of what is tested

from __future__ import annotations

import json
import re
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from runner.render import GUTTER, show_block, show_fields, show_inline, show_text

TOKEN = re.compile(r"\\u\{([0-9a-f]+)(?:×(\d+))?\}|\\\\|␣×(\d+)␣|␣|⏎×(\d+)⏎\n|.|\n", re.DOTALL)

nasty = st.text(
    alphabet=st.one_of(
        st.characters(codec=None),
        st.sampled_from(
            "\\u{}×␣⏎⟪⟫0123456789abcdef \n\r\t\x1b\x07\x7f\x9b\u202e\u200b\ufe0f\u3000\u2028\u0301\U000e0041│┊\ud800"
        ),
    )
)
blanks = st.builds(
    lambda parts: "".join(char * n for char, n in parts),
    st.lists(st.tuples(st.sampled_from(" \n\ta\\\x07"), st.integers(1, 9))),
)
texts = st.one_of(nasty, blanks)


def read(shown: str) -> str:
    """The text behind a display."""
    out = []
    for match in TOKEN.finditer(shown):
        token = match.group()
        if token == "\\\\":
            out.append("\\")
        elif match.group(1):
            out.append(chr(int(match.group(1), 16)) * int(match.group(2) or 1))
        elif token.startswith("␣"):
            out.append(" " * int(match.group(3) or 1))
        elif token.startswith("⏎"):
            out.append("\n" * int(match.group(4)))
        else:
            out.append(token)
    return "".join(out)


def harmless(shown: str) -> bool:
    return all(char == " " or (char.isprintable() and unicodedata.category(char)[0] not in "CZ") for char in shown)


@given(texts)
@example("a" + " " * 10_000 + "payload")
@example("\\u{1b}")
@example("␣×3␣")
@example("e\u0301\u0301\u0301\u0301\u0301\u0301")
def test_one_line_reads_back_and_is_printable(text: str) -> None:
    """V2."""
    shown = show_text(text)
    assert harmless(shown)
    assert read(shown) == text


@given(texts)
@example("ok" + "\n" * 500 + "payload")
def test_a_block_reads_back_and_every_line_has_the_gutter(text: str) -> None:
    """V2, V4, V5."""
    lines = show_block(text)
    assert all(line.startswith(GUTTER) and harmless(line) for line in lines)
    assert read("\n".join(line[len(GUTTER) :] for line in lines)) == text


@given(texts, st.integers(10, 40))
def test_a_folded_block_reads_back_and_fits(text: str, width: int) -> None:
    """V4, A19, A20, A26: no line is wider than the screen even if every ambiguous character is drawn wide."""
    out = ""
    for line in show_block(text, width=width):
        assert sum(2 if unicodedata.east_asian_width(char) in "WFA" else 1 for char in line[1:]) < width
        out += ("" if line.startswith("┊ ") else "\n") + line[2:]
    assert read(out[1:]) == text


@given(texts, texts)
def test_two_texts_never_look_alike(one: str, other: str) -> None:
    """V2."""
    assert (show_text(one) == show_text(other)) == (one == other)


@given(texts, st.integers(1, 5))
def test_a_cut_is_counted_and_cannot_be_forged(text: str, limit: int) -> None:
    """V10: bounded names say how much is missing; the mark never comes from the text."""
    shown = show_inline(text, limit=limit)
    if len(text) <= limit:
        assert "⟪" not in shown
        assert read(shown) == text
    else:
        assert shown.endswith(f"⟪+{len(text) - limit}⟫")
        assert read(shown[: shown.rindex("⟪")]) == text[:limit]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False) | nasty,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(nasty, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(texts, values, max_size=4), st.one_of(st.none(), st.integers(10, 60)))
@example({"content": "file_path: text, 3 characters\n│ x"}, 20)
def test_a_tools_input_reads_back(fields: dict[str, object], width: int | None) -> None:
    """V2: parse(render(input)) == input for all JSON objects, however narrow the screen."""
    found: dict[str, object] = {}
    lines = show_fields(fields, width=width)  # type: ignore[arg-type]
    while lines:
        first = lines.pop(0)
        while lines[0].startswith("┊ "):
            first += lines.pop(0)[2:]
        head = re.fullmatch(r"field (.*): (text|JSON), \d+ characters?", first, re.DOTALL)
        assert head is not None
        body = ""
        while lines and lines[0].startswith(("│ ", "┊ ")):
            line = lines.pop(0)
            body += ("" if line.startswith("┊ ") else "\n") + line[2:]
        text = read(body[1:])
        found[read(head.group(1))] = text if head.group(2) == "text" else json.loads(text)
    assert repr(found) == repr(fields)
