"""A refusal leaves a number behind, and of very many at most a line a minute (issue 8 bad input)."""

from __future__ import annotations

import logging

import pytest

from runner.captures.tally import EVERY, Tally


def test_a_flood_of_refusals_is_a_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    tally = Tally(lambda: now[0])
    with caplog.at_level(logging.WARNING):
        for number in range(10_000):
            tally.refuse("refused" if number % 2 else "rate")
            now[0] += EVERY / 4000
    assert len(caplog.records) == 3
    assert all(len(record.getMessage()) < 200 for record in caplog.records)
    tally.took()
    assert tally.view is None
    tally.address = "https://a.example"
    assert tally.view == {"address": "https://a.example", "taken": 1, "refused": {"rate": 5000, "refused": 5000}}
