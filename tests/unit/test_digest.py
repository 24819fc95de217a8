"""Strict JSON and digests: refused, never repaired (B2, B3)."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from runner import digest
from runner.digest import (
    MAX_INTEGER,
    MalformedJsonError,
    approval_digest,
    call_digest,
    canonical,
    digest_bytes,
    digest_json,
    parse_call,
    parse_strict,
)
from runner.model import Digest, Json, ToolCall

A, B = Digest("sha256:" + "a" * 64), Digest("sha256:" + "b" * 64)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"a": 1, "a": 2}', "an object repeats a key"),
        ('{"a": 1, "\\u0061": 2}', "an object repeats a key"),
        ('[{"x": {"b": 1, "b": 1}}]', "an object repeats a key"),
        ("NaN", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ('{"a": Infinity}', "Infinity is not a JSON number"),
        ("1e400", "a number is out of range"),
        ("-1e400", "a number is out of range"),
        ("9007199254740992.0", "a number is out of range"),
        ("[1e16]", "a number is out of range"),
        ("9007199254740992", r"an integer is beyond 2\^53-1"),
        ("-9007199254740992", r"an integer is beyond 2\^53-1"),
        ("1" * 5000, r"an integer is beyond 2\^53-1"),
        ('"\\ud800"', "a lone surrogate is not text"),
        ('{"\\udfff": 1}', "a lone surrogate is not text"),
        ('["a\\ud83d"]', "a lone surrogate is not text"),
        ("[" * 65 + "]" * 65, "nested deeper than 64 levels"),
        ('{"a":' * 65 + "1" + "}" * 65, "nested deeper than 64 levels"),
        ("[" * 100_000, "nested deeper than 64 levels"),
        ("", "not JSON"),
        ("{", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('{"a": 1,}', "not JSON"),
        ("[1] [2]", "not JSON"),
        ("01", "not JSON"),
        ("\ufeff{}", "not JSON"),
        ('"a\nb"', "not JSON"),
        ('"\\x41"', "not JSON"),
        ("// x\n1", "not JSON"),
    ],
)
def test_what_two_parsers_might_read_differently_is_refused(text: str, fault: str) -> None:
    with pytest.raises(MalformedJsonError, match=fault):
        parse_strict(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        (" [1, 1.5, true] ", [1, 1.5, True]),
        (str(MAX_INTEGER), MAX_INTEGER),
        (str(-MAX_INTEGER), -MAX_INTEGER),
        ("9007199254740991.0", 9007199254740991.0),
        ("1e-300", 1e-300),
        ('{"a": {"a": 1}}', {"a": {"a": 1}}),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('"[[[{{{\\"]]"', '[[[{{{"]]'),
        ("[" * 64 + "]" * 64, None),
    ],
)
def test_what_every_parser_reads_alike_is_read(text: str, value: Json) -> None:
    parsed = parse_strict(text)
    assert value is None or parsed == value


def test_brackets_within_a_string_are_no_depth() -> None:
    text = '"' + "[" * 1000 + '\\"' + "{" * 1000 + '"'
    assert parse_strict(text) == "[" * 1000 + '"' + "{" * 1000


@pytest.mark.parametrize("stretch", range(2, 12))
def test_how_a_long_text_is_cut_to_look_at_it_changes_nothing(monkeypatch: pytest.MonkeyPatch, stretch: int) -> None:
    monkeypatch.setattr(digest, "_STRETCH", stretch)
    inside = "\\\\" * 5 + '\\"' + "[{" * 70 + "\\\\\\" + '"'
    assert parse_strict(f'["{inside}", ["é\U0001f600"]]', max_depth=2) == [json.loads(f'"{inside}"'), ["é\U0001f600"]]
    with pytest.raises(MalformedJsonError, match="deeper"):
        parse_strict(f'["{inside}", [[]]]', max_depth=2)
    with pytest.raises(MalformedJsonError, match="surrogate"):
        parse_strict(f'["{"é" * 9}\\ud800"]')


def test_more_objects_and_lists_than_allowed_are_refused_before_they_are_made() -> None:
    text = '{"a": [{}, [], "[[[["]}'
    assert parse_strict(text, max_parts=4) == {"a": [{}, [], "[[[["]}
    with pytest.raises(MalformedJsonError, match="more than 3 objects and lists"):
        parse_strict(text, max_parts=3)


def test_a_call_keeps_its_exact_text_beside_the_parsed_input() -> None:
    raw = '{ "file_path" : "a.txt" }'
    assert parse_call("Read", raw) == ToolCall(tool="Read", raw=raw, input={"file_path": "a.txt"})


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ('{"a": 1, "a": 2}', "an object repeats a key"),
        ("[]", "the input is not a JSON object"),
        ('"text"', "the input is not a JSON object"),
        ("null", "the input is not a JSON object"),
    ],
)
def test_a_malformed_call_is_kept_as_a_fault_and_never_repaired(raw: str, fault: str) -> None:
    """The call is a value that can be denied and shown."""
    assert parse_call("Write", raw) == ToolCall(tool="Write", raw=raw, input=None, fault=fault)


def test_absent_null_and_empty_arguments_are_three_different_calls() -> None:
    """B3."""
    forms: list[dict[str, Json]] = [{}, {"path": None}, {"path": ""}, {"path": {}}]
    assert len({call_digest(tool="Glob", definition=A, arguments=form, paths=[]) for form in forms}) == len(forms)
    assert parse_call("Glob", "null").input is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, b"{}"),
        ({"b": 1, "a": [True, None]}, b'{"a":[true,null],"b":1}'),
        ([1.0, 1e21, 1e-7, -0.0], b"[1,1e+21,1e-7,0]"),
        ('\u20ac$\x0f\nA\'B"\\\\"/', b'"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
        # UTF-16 order, not code point order: the emoji's surrogate sorts before U+FB33 (RFC 8785, 3.2.3).
        (
            {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\u00f6": 7},
            b'{"\\r":2,"1":4,"\xc2\x80":6,"\xc3\xb6":7,"\xe2\x82\xac":1,"\xf0\x9f\x98\x80":5,"\xef\xac\xb3":3}',
        ),
    ],
)
def test_canonical_bytes_are_those_of_rfc_8785(value: Any, expected: bytes) -> None:
    """B2."""
    assert canonical(value) == expected


@pytest.mark.parametrize("value", [{"a": float("nan")}, [float("inf")], "\ud800", 2**60])
def test_a_value_without_a_canonical_form_is_refused(value: Any) -> None:
    with pytest.raises(MalformedJsonError, match="no canonical form"):
        canonical(value)


def test_a_digest_is_sha256_over_domain_nul_and_canonical_json() -> None:
    """B2: a vector anyone can compute with another tool."""
    assert (
        digest_json("runner.test", {"b": 2, "a": 1}) == "sha256:" + hashlib.sha256(b'runner.test\x00{"a":1,"b":2}').hexdigest()
    )


def test_one_value_in_two_domains_has_two_digests() -> None:
    assert digest_json("runner.call.v1", {}) != digest_json("runner.approval.v1", {})


def test_a_file_digest_is_plain_sha256() -> None:
    assert digest_bytes(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


CALL: dict[str, Any] = {
    "tool": "Write",
    "definition": A,
    "arguments": {"file_path": "a", "content": "b"},
    "paths": ["/workspace/a"],
}


@pytest.mark.parametrize(
    "change",
    [
        {"tool": "Edit"},
        {"definition": B},
        {"arguments": {"file_path": "a", "content": "b "}},
        {"arguments": {"file_path": "a", "content": "b", "more": None}},
        {"paths": ["/workspace/b"]},
        {"paths": []},
    ],
    ids=repr,
)
def test_a_change_of_anything_in_a_call_is_another_call(change: dict[str, Any]) -> None:
    """B2."""
    assert call_digest(**{**CALL, **change}) != call_digest(**CALL)


APPROVAL: dict[str, Any] = {"call": A, "run": "r_1", "approval": "a_1", "nonce": "n", "pre_images": {"/srv/a": None}}


@pytest.mark.parametrize(
    "change",
    [
        {"call": B},
        {"run": "r_2"},
        {"approval": "a_2"},
        {"nonce": "m"},
        {"pre_images": {}},
        {"pre_images": {"/srv/a": A}},
        {"pre_images": {"/srv/b": None}},
    ],
    ids=repr,
)
def test_a_decision_fits_no_other_request_and_no_other_world(change: dict[str, Any]) -> None:
    """B2, B6."""
    assert approval_digest(**{**APPROVAL, **change}) != approval_digest(**APPROVAL)


def test_digests_do_not_change_between_releases() -> None:
    """Stored approvals outlive the process: these two are on record elsewhere (B2)."""
    assert (call_digest(**CALL), approval_digest(**APPROVAL)) == (
        "sha256:"
        + hashlib.sha256(
            b'runner.call.v1\x00{"definition":"' + A.encode() + b'","input":{"content":"b","file_path":"a"},'
            b'"paths":["/workspace/a"],"tool":"Write"}'
        ).hexdigest(),
        "sha256:"
        + hashlib.sha256(
            b'runner.approval.v1\x00{"call":"'
            + A.encode()
            + b'","id":"a_1","nonce":"n","pre_images":{"/srv/a":null},"run":"r_1"}'
        ).hexdigest(),
    )
