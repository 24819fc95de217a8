"""For every text there is: the escape comes back, the block holds, nothing a sender writes opens or closes one (F2-F9)."""
# ruff: noqa: RUF001 - lookalikes are what these tests are about

from __future__ import annotations

import re
import sys

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.fence import compose, escape, hidden_counts, parse, unescape
from runner.model import OWNER, Capture, Sender, SenderKind

ALICE = Sender(kind=SenderKind.CONTACT, petname="alice", fingerprint="abcd-1234-5678-9abc")
N = "0123456789abcdef"

#: What an attacker who has read the escape would build from.
PIECES = [
    *"<>&\\/\"'= │|┃:\n\r\t",
    "untrusted", "</untrusted>", f'</untrusted fence="{N[:8]}', "fence=", "&lt;", "&amp;", "&#60;", "\\u{41}", "\\u{", "}",
    "‹", "›", "＜", "＞", "ｕ", "\u0455", "𝐮", "\u200b", "\u200c", "\u200d", "\ufe0f",
    "\U000e0041", "\U000e0100", "\u202e", "\u2028", "\x85", "\0", "\x1b", "\ud800", "\udfff", "\uffff",
    "\U0010ffff", "\u0301", "😀", "❤", "🏽", "ی", "क", "्", "│ text: ",
    "│ | ", "note: ", "Human:", "<|im_start|>",
]  # fmt: skip
any_text = st.text(st.characters(max_codepoint=sys.maxunicode, exclude_categories=()))
hostile = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
texts = any_text | hostile
KEPT = re.compile("[\u200c\u200d\ufe0e\ufe0f]")


@given(texts)
@settings(max_examples=400)
def test_the_escape_comes_back_for_every_text(text):
    """F2."""
    assert unescape(escape(text)) == text


@given(texts)
@settings(max_examples=300)
def test_nothing_hidden_and_no_bracket_is_left(text):
    """F3: only a joiner or selector in its place stays."""
    escaped = escape(text)
    assert not set("<>\r") & set(escaped)
    assert hidden_counts(KEPT.sub("", escaped)) == {}
    assert len((escaped + "x").splitlines()) == escaped.count("\n") + 1


@given(texts, texts)
@settings(max_examples=200)
def test_two_texts_never_look_alike(one, other):
    assert (escape(one) == escape(other)) == (one == other)


@given(st.fixed_dictionaries(dict.fromkeys(["url", "title", "note", "intent", "text"], texts)), st.lists(texts, max_size=3))
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_a_capture_reads_back_field_by_field(fields, labels):
    """F5, F7: by the independent parser, for a sender who controls every field."""
    capture = Capture(agent="a", labels=tuple(labels), **fields)
    prompt = compose(capture, ALICE, draw=iter([N, "f" * 16]).__next__)
    expected = [("url", fields["url"]), ("title", fields["title"])]
    expected += [(f"label {at}", label) for at, label in enumerate(labels, 1)]
    expected += [(name, fields[name]) for name in ("note", "intent", "text")]
    parsed = parse(prompt.text)
    assert parsed.block.fields == tuple((name, text) for name, text in expected if text)
    assert [name for name, _ in parsed.block.attributes] == ["source", "sender", "bytes", "fence"]
    assert prompt.text.count(prompt.nonce) == 2


@given(texts, texts)
@settings(max_examples=200)
def test_the_owners_words_never_break_the_block(note, text):
    prompt = compose(Capture(agent="a", note=note, text=text), OWNER, draw=iter([N, "f" * 16]).__next__)
    assert parse(prompt.text).block.fields == ((("text", text),) if text else ())
    assert prompt.text.casefold().count("<untrusted") == 1
