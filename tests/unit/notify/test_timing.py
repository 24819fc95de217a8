"""When people may be told: pure, in whatever zone the host is (C6)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runner.notify.timing import Timing, timing
from runner.notify.worker import Pace


def at(clock: str, day: int = 1) -> float:
    return datetime.fromisoformat(f"2027-03-{day:02d}T{clock}:00+00:00").timestamp()


def utc(now: float) -> datetime:
    return datetime.fromtimestamp(now, UTC)


def wishes(quiet: str | None = None, *digests: str) -> Timing:
    found = timing(0, quiet, digests)
    return Timing(settle=0, quiet=found.quiet, digests=found.digests, local=utc)


@pytest.mark.parametrize(
    ("quiet", "clock", "expected"),
    [
        ("22:00-07:00", "21:59", False),
        ("22:00-07:00", "22:00", True),
        ("22:00-07:00", "03:00", True),
        ("22:00-07:00", "07:00", False),
        ("12:00-13:00", "12:30", True),
        ("12:00-13:00", "13:00", False),
        (None, "03:00", False),
    ],
)
def test_quiet_hours_may_go_past_midnight(quiet: str | None, clock: str, expected: bool) -> None:
    assert wishes(quiet).is_quiet(at(clock)) is expected


@pytest.mark.parametrize(
    ("last", "now", "expected"),
    [
        (at("08:00"), at("08:59"), False),
        (at("08:00"), at("09:00"), True),
        (at("09:00"), at("16:59"), False),
        (at("09:00"), at("17:30"), True),
        (at("17:00"), at("08:00", day=2), False),
        (at("16:00"), at("08:00", day=2), True),
        (at("17:00"), at("09:00", day=9), True),
    ],
)
def test_a_digest_is_due_once_its_hour_has_come(last: float, now: float, expected: bool) -> None:
    assert wishes(None, "09:00", "17:00").is_digest_due(last, now) is expected


def test_without_digests_one_is_always_due() -> None:
    assert wishes().is_digest_due(at("09:00"), at("09:00"))


def test_each_try_waits_longer_up_to_an_hour() -> None:
    """C4: back-off; about 10 hours in all before a notice is given up."""
    pace = Pace()
    waits = [pace.wait(attempt) for attempt in range(1, pace.tries)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (5.0, 3600.0)
    assert 4 * 3600 < sum(waits) < 24 * 3600
