"""When people may be told: settle time, quiet hours, digests. Pure; it delays notices and decides nothing (C6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

#: Makes a local time of epoch seconds.
Local = Callable[[float], datetime]


def host_time(now: float) -> datetime:
    """Epoch seconds as this host's local time."""
    return datetime.fromtimestamp(now, UTC).astimezone()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The operator's wishes. `quiet` may go past midnight; `digests` empty: a notice goes out once its call has settled."""

    settle: float
    quiet: tuple[time, time] | None = None
    digests: tuple[time, ...] = ()
    local: Local = host_time

    def is_quiet(self, now: float) -> bool:
        """Whether nobody is to be disturbed."""
        if self.quiet is None:
            return False
        start, end = self.quiet
        clock = self.local(now).time()
        return start <= clock < end if start < end else clock >= start or clock < end

    def is_digest_due(self, last: float, now: float) -> bool:
        """Whether an hour of a digest has come since `last`; always, where there are none."""
        if not self.digests:
            return True
        today = self.local(now)
        days = (today - timedelta(days=1), today)
        moments = (datetime.combine(day, hour, tzinfo=day.tzinfo).timestamp() for day in days for hour in self.digests)
        return any(last < moment <= now for moment in moments)


def timing(settle: float, quiet: str | None, digests: tuple[str, ...]) -> Timing:
    """From the settings' words: `22:00-07:00`, `09:00`."""
    span = None
    if quiet is not None:
        start, _, end = quiet.partition("-")
        span = (time.fromisoformat(start), time.fromisoformat(end))
    return Timing(settle=settle, quiet=span, digests=tuple(time.fromisoformat(hour) for hour in digests))
