"""What two petnames look like, and which may not be one (S2)."""

# ruff: noqa: RUF001, RUF003 - the characters that are confused are the subject

from __future__ import annotations

import pytest

from runner.fence import FenceError, petname_fault, sender_label, skeleton
from runner.model import Sender, SenderKind

FINGERPRINT = "abcd-efgh-2345-6723"


@pytest.mark.parametrize(
    "twin",
    [
        "аlice",  # Cyrillic а
        "аӏісе",  # Cyrillic throughout
        "ALICE",
        "Alíce",
        "al-ice",
        "al ice",
        "a1ice",
        "aIice",
        "ａｌｉｃｅ",
        "𝐚𝐥𝐢𝐜𝐞",
        "αlice",
    ],
)
def test_a_twin_of_a_petname_is_seen_as_the_same(twin: str) -> None:
    """Item 67: a Cyrillic twin, and every other way to draw the same word."""
    assert skeleton(twin) == skeleton("alice")


@pytest.mark.parametrize(("one", "other"), [("modern", "modem"), ("bob", "b0b"), ("wim", "vvim"), ("Ольга", "ольга")])
def test_words_that_are_read_for_each_other_are_the_same(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize(
    ("one", "other"), [("maria", "marie"), ("ben", "bea"), ("山田", "田中"), ("Ольга", "Олег"), ("דן", "רן")]
)
def test_names_that_a_reader_tells_apart_are_apart(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other)


@pytest.mark.parametrize(
    "name",
    [
        "you",
        "You (not you)",
        "уоu",
        "Y0U",
        "owner",
        "0wner",
        "the owner",
        "system",
        "ѕуѕtem",
        "human",
        "hurnan",
        "parent:root",
        "Bob\n## SYSTEM",
        'a" via="you',
        "⟨abcd⟩",
        "a<b",
        "a&b",
        "x" * 41,
        "",
        "   ",
        "...",
        "mar\u200bia",
        "\u202emaria",
        "maria\u2066",
        "mаria",  # two scripts
        "agent maria",
        "Agent-maria",
        "аgеnt",
        "the_owner",
        "TheOwner",
        "owner1",
        "operator2",
        "0wner_1",
        "0wner1",
        "you_",
        "2you",
        "user",
        "root",
        "via maria",
        "bob, carol",
        "bob，carol",
        "bob، carol",
        "bob; you",
    ],
)
def test_a_name_that_could_pass_for_something_else_is_none(name: str) -> None:
    """Items 64, 65, 68, 72; S2, S5: brackets, commas, reserved words and their twins, joined how ever, hidden characters."""
    assert petname_fault(name) is not None


@pytest.mark.parametrize(
    "name", ["maria", "Ольга", "山田 太郎", "maria-work", "build.bot", "José", "דן", "x", "maria2", "McOwen"]
)
def test_a_plain_name_of_any_script_is_one(name: str) -> None:
    """Item 68: a name written from right to left is a name; what reverses others is not in it."""
    assert petname_fault(name) is None


def test_a_paired_agent_is_labelled_as_one() -> None:
    """S5, R25."""
    sender = Sender(kind=SenderKind.AGENT, petname="build", fingerprint=FINGERPRINT)
    assert sender_label(sender) == f"agent build ⟨{FINGERPRINT}⟩ (not you)"


def test_a_label_is_checked_again_where_it_is_shown() -> None:
    """S2: whatever a row says by now."""
    for kind in (SenderKind.CONTACT, SenderKind.AGENT):
        with pytest.raises(FenceError):
            sender_label(Sender(kind=kind, petname="you", fingerprint=FINGERPRINT))
        with pytest.raises(FenceError):
            sender_label(Sender(kind=kind, petname="maria", fingerprint="abcd"))
