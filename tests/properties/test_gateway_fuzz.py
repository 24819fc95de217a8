"""A sample of the HTTP fuzz of the gateway's socket; `make fuzz` plays for ten minutes (issue 7 point 3)."""

from __future__ import annotations

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.helpers import fuzzing


@seed(7)
@settings(max_examples=12, deadline=None, database=None)
@given(sent=st.lists(fuzzing.requests(), min_size=8, max_size=16))
def test_no_request_puts_the_door_out_of_order_or_takes_out_what_is_not_on_the_list(sent: list[bytes]) -> None:
    fuzzing.check(sent)


def test_the_fuzz_would_see_a_key_that_is_not_on_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would show nothing."""
    monkeypatch.setattr(fuzzing, "KEYS", fuzzing.KEYS - {"max_tokens"})
    with pytest.raises(AssertionError, match="max_tokens"):
        fuzzing.check([])  # one good request is always sent
