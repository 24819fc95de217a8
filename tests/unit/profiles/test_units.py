"""Durations and sizes."""

from __future__ import annotations

import pytest

from runner.profiles.units import byte_count, seconds


def test_durations_and_sizes_are_whole_numbers_with_a_unit() -> None:
    assert [seconds(text) for text in ("0s", "60s", "15m", "2h", "7d")] == [0.0, 60.0, 900.0, 7200.0, 604800.0]
    assert [byte_count(text) for text in ("1B", "1KiB", "256MiB", "1GiB")] == [1, 1024, 256 * 1024**2, 1024**3]


@pytest.mark.parametrize("text", ["", "60", "s", "1.5h", "-1s", "1 s", "1S", "1w", "1h30m", "1s\n", "\u0661s", "9" * 10 + "s"])
def test_nothing_else_is_a_duration(text: str) -> None:
    with pytest.raises(ValueError, match="a duration is"):
        seconds(text)


@pytest.mark.parametrize("text", ["", "1", "1MB", "1mib", "1.5GiB", "-1B", "1 GiB", "\u0661B", "1B\n"])
def test_nothing_else_is_a_size(text: str) -> None:
    with pytest.raises(ValueError, match="a size is"):
        byte_count(text)
