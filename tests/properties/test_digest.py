"""Whatever the JSON: one reading, one canonical form, one digest (B2)."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runner.digest import MAX_INTEGER, MalformedJsonError, canonical, digest_json, parse_call, parse_strict

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(-MAX_INTEGER, MAX_INTEGER) | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20
)


def kinds(value: Any) -> Any:
    """The value with every leaf's type beside it: 1, 1.0 and True are equal but not the same."""
    if isinstance(value, dict):
        return {key: kinds(item) for key, item in value.items()}
    if isinstance(value, list):
        return [kinds(item) for item in value]
    return (type(value).__name__, value)


@given(VALUES)
def test_a_value_is_read_back_as_it_was_written(value: Any) -> None:
    assert kinds(parse_strict(json.dumps(value))) == kinds(value)


@given(VALUES, st.integers(0, 4), st.booleans())
def test_spelling_does_not_change_a_digest(value: Any, indent: int, ascii_only: bool) -> None:
    """B2: the digest is of what is said, not of how it was typed."""
    spelled = parse_strict(json.dumps(value, indent=indent, ensure_ascii=ascii_only, sort_keys=True))
    assert digest_json("d", spelled) == digest_json("d", value)


@given(VALUES)
def test_canonical_form_is_its_own_canonical_form(value: Any) -> None:
    once = canonical(value)
    assert canonical(parse_strict(once.decode())) == once


@given(VALUES, VALUES)
def test_two_values_share_canonical_bytes_only_when_they_say_the_same(one: Any, other: Any) -> None:
    """B2; a float that is whole and the integer it equals are one number in JSON."""
    assert (canonical(one) == canonical(other)) is (same(one) == same(other))


def same(value: Any) -> Any:
    """What JSON says of a value: numbers by size, booleans apart from numbers."""
    if isinstance(value, dict):
        return {key: same(item) for key, item in value.items()}
    if isinstance(value, list):
        return [same(item) for item in value]
    if isinstance(value, bool) or value is None:
        return (type(value).__name__, value)
    return ("number", float(value)) if isinstance(value, int | float) else ("text", value)


@given(st.text(alphabet='{}[]",:\\ 019.eE+-uNaInfity\ud800', max_size=40) | st.text(max_size=40))
def test_parsing_anything_gives_a_value_or_a_refusal(text: str) -> None:
    """Never another exception, and what is read has a canonical form."""
    try:
        value = parse_strict(text)
    except MalformedJsonError:
        assert parse_call("Read", text).input is None
        return
    canonical(value)


@given(st.dictionaries(TEXT, SCALARS, min_size=1, max_size=5), st.data())
def test_a_repeated_key_is_refused_wherever_it_stands(value: dict[str, Any], data: st.DataObject) -> None:
    """The last one does not win."""
    key = data.draw(st.sampled_from(sorted(value)))
    items = [f"{json.dumps(name)}:{json.dumps(item)}" for name, item in value.items()]
    items.insert(data.draw(st.integers(0, len(items))), f"{json.dumps(key)}:0")
    call = parse_call("Write", "{" + ",".join(items) + "}")
    assert (call.input, call.fault) == (None, "an object repeats a key")
