"""A sample of the HTTP fuzz of the gateway's socket; `make fuzz` plays for ten minutes (issue 7 point 3)."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from runner.gateway import tags
from runner.model import JsonObject
from tests.helpers import fuzzing
from tests.helpers.gateway import a_request, request_bytes
from tests.helpers.heavy_requests import heavy


@seed(7)
@settings(max_examples=12, deadline=None, database=None)
@given(sent=st.lists(fuzzing.requests(), min_size=8, max_size=16))
def test_no_request_puts_the_door_out_of_order_or_takes_out_what_is_not_on_the_list(sent: list[bytes]) -> None:
    fuzzing.check(sent)


@seed(7)
@settings(max_examples=6, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(sent=st.lists(heavy(), min_size=1, max_size=2))
def test_no_request_however_dear_keeps_the_others_waiting_or_eats_the_memory(sent: list[bytes]) -> None:
    """M6: well-formed bodies of a hostile container; the bounds are a ratio and a number of bytes."""
    fuzzing.check(sent, fuzzing.HEAVY_LIMITS)


def test_the_fuzz_would_see_a_search_that_goes_over_its_text_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tags, "_pieces", lambda text: [text])
    monkeypatch.setattr(tags, "_TAG", re.compile(rf"<(?=[\s/\\]*(?:{'|'.join(tags.NAMES)}))", re.IGNORECASE))
    block: JsonObject = {"type": "tool_result", "tool_use_id": "t", "content": "<" + " " * 2_000_000}
    body = json.dumps(a_request({"role": "user", "content": [block]})).encode()
    with pytest.raises(AssertionError, match="of work in one piece"):
        fuzzing.check([request_bytes(body)], fuzzing.HEAVY_LIMITS)


def test_the_fuzz_would_see_memory_that_grows_with_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    monkeypatch.setattr(tags, "without_tags", lambda text: kept.append("\U0001f600" * 40_000_000) or text)
    block: JsonObject = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
    body = json.dumps(a_request({"role": "user", "content": [block]})).encode()
    with pytest.raises(AssertionError, match="bytes for"):
        fuzzing.check([request_bytes(body)], fuzzing.HEAVY_LIMITS)


def test_the_fuzz_would_see_a_key_that_is_not_on_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would show nothing."""
    monkeypatch.setattr(fuzzing, "KEYS", fuzzing.KEYS - {"max_tokens"})
    with pytest.raises(AssertionError, match="max_tokens"):
        fuzzing.check([])  # one good request is always sent
