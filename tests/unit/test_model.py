"""The shared values: a decision grants nothing by accident, silence is refusal, ids are 80 random bits."""

from __future__ import annotations

import dataclasses
from itertools import permutations

import pytest

from runner.model import STRICTNESS, Decision, Digest, Verdict, make_id, strictest

DIGEST = Digest("sha256:" + "0" * 64)


def a_decision(verdict: Verdict) -> Decision:
    return Decision(
        verdict=verdict,
        rank=3,
        rule="confined-read",
        reason="It is read.",
        strict=True,
        call_digest=None,
        profile_digest=DIGEST,
    )


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_decision_used_as_a_condition_raises(verdict: Verdict) -> None:
    """Invariant 1."""
    with pytest.raises(TypeError, match="no truth value"):
        bool(a_decision(verdict))


def test_a_decision_has_no_default_verdict() -> None:
    """Invariant 1: whoever forgets the verdict gets an error, not a permission."""
    fields = {field.name: field for field in dataclasses.fields(Decision)}
    assert fields["verdict"].default is dataclasses.MISSING
    assert fields["verdict"].default_factory is dataclasses.MISSING


def test_a_decision_cannot_be_changed_after_it_was_made() -> None:
    decision = a_decision(Verdict.DENY)
    with pytest.raises(dataclasses.FrozenInstanceError):
        decision.verdict = Verdict.ALLOW  # type: ignore[misc]
    assert decision == a_decision(Verdict.DENY)


def test_no_verdict_at_all_is_a_denial() -> None:
    """Invariant 1: silence is refusal."""
    assert strictest(()) is Verdict.DENY


@pytest.mark.parametrize("verdicts", list(permutations(Verdict, 2)) + [(verdict,) for verdict in Verdict])
def test_the_strictest_verdict_wins_in_any_order(verdicts: tuple[Verdict, ...]) -> None:
    """Invariant 1: deny before ask before allow."""
    expected = next(verdict for verdict in (Verdict.DENY, Verdict.ASK, Verdict.ALLOW) if verdict in verdicts)
    assert strictest(verdicts) is expected


def test_every_verdict_has_its_place_in_the_order() -> None:
    assert sorted(STRICTNESS, key=lambda verdict: verdict.value) == sorted(Verdict, key=lambda verdict: verdict.value)


def test_verdicts_cannot_be_compared_as_text_or_numbers() -> None:
    """A string would order "allow" before "ask" and compare with anything; an enum does neither."""
    with pytest.raises(TypeError):
        max(Verdict.ALLOW, Verdict.DENY)  # type: ignore[type-var]
    assert not isinstance(Verdict.ALLOW, str)


@pytest.mark.parametrize(
    ("entropy", "expected"),
    [
        (b"\x00" * 10, "a_0000000000000000"),
        (b"\xff" * 10, "a_zzzzzzzzzzzzzzzz"),
        (b"\x00" * 9 + b"\x01", "a_0000000000000001"),
        (b"\x80" + b"\x00" * 9, "a_g000000000000000"),
        (bytes(range(10)), "a_000g40r40m30e209"),
    ],
)
def test_an_id_spells_its_eighty_bits(entropy: bytes, expected: str) -> None:
    """B12."""
    assert make_id("a", entropy) == expected


def test_only_the_first_ten_bytes_make_an_id() -> None:
    assert make_id("r", b"\x07" * 10 + b"more") == make_id("r", b"\x07" * 10)


@pytest.mark.parametrize("length", [0, 1, 9])
def test_an_id_from_too_little_chance_is_refused(length: int) -> None:
    """B12."""
    with pytest.raises(ValueError, match="10 random bytes"):
        make_id("a", b"\x01" * length)
