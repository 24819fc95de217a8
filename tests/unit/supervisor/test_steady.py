"""A clock that is set, sleeps or stands still: deadlines do not notice, or come early (L2)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runner.approvals import CLOCK_SLACK
from runner.store import audit
from runner.supervisor.steady import SteadyClock, known_time, since_boot
from tests.helpers.stored import NOW, opened

DAY = 86400.0


@dataclass
class Host:
    """A machine whose clock can be set; `boot` only grows."""

    wall: float = NOW
    boot: float = 100.0

    def clock(self, known: float = 0.0) -> SteadyClock:
        """A supervisor's clock, as it starts now."""
        return SteadyClock(wall=lambda: self.wall, running=lambda: self.boot, known=known)

    def passes(self, seconds: float) -> None:
        """Time passes, asleep or awake."""
        self.wall += seconds
        self.boot += seconds


def test_a_clock_that_is_set_back_gives_no_more_time() -> None:
    """L2: a deadline in ten seconds is one in ten seconds, however far back the clock is set."""
    host = Host()
    clock = host.clock()
    deadline = clock() + 10
    host.wall -= 30 * DAY
    assert clock() == NOW
    host.passes(9)
    assert clock() < deadline
    host.passes(1)
    assert clock() >= deadline


def test_a_clock_that_is_set_forward_ends_calls_early_and_not_again_later() -> None:
    """L2: once past, a deadline stays past."""
    host = Host()
    clock = host.clock()
    deadline = clock() + DAY
    host.wall += 2 * DAY
    assert clock() >= deadline
    host.wall -= 2 * DAY
    assert clock() >= deadline


def test_a_host_clock_that_stands_still_stops_no_deadline() -> None:
    host = Host()
    clock = host.clock()
    host.boot += 60
    assert clock() == NOW + 60


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(0, 1e6)), max_size=20))
def test_whatever_is_done_to_the_host_clock_time_goes_on_at_least_as_fast_as_it_passes(
    steps: list[tuple[float, float]],
) -> None:
    host = Host()
    clock = host.clock()
    before = clock()
    for jump, seconds in steps:
        host.wall += jump
        host.boot += seconds
        now = clock()
        assert now - before >= seconds - 1e-3
        before = now


def test_a_clock_set_back_while_no_supervisor_ran_starts_where_the_record_ends() -> None:
    """L2: a restart gives no call more time."""
    host = Host(wall=NOW - 3600)
    clock = host.clock(known=NOW)
    assert clock() == NOW
    host.passes(5)
    assert clock() == NOW + 5


def test_a_record_from_far_in_the_future_is_not_believed() -> None:
    """A clock that once was years ahead must not stay so; what was asked for then ends, as `expire_due` says."""
    host = Host()
    assert host.clock(known=NOW + CLOCK_SLACK + 1)() == NOW


def test_the_newest_thing_on_record_tells_its_time(tmp_path: Path) -> None:
    with opened(tmp_path / "runner.db") as store, store.begin() as conn:
        assert known_time(conn) == 0.0
        for time in (NOW, NOW + 7):
            audit.append(conn, time=time, event="run.queue", subject="r", data={})
        assert known_time(conn) == NOW + 7


def test_seconds_since_boot_do_not_go_back() -> None:
    assert 0 < since_boot() <= since_boot()
