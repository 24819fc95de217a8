"""From what happened to notices on their way, in one transaction: what has settled, still needs somebody, is one burst.

Runs inside `Store.call`; sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runner.notify.kinds import EVENTS, KINDS, Kind, subject_of
from runner.notify.timing import Timing
from runner.notify.words import NAMED, body_of
from runner.store import Connection, meta, notices
from runner.store.notices import Notice

#: The key in `meta`: when the last digest went out.
_DIGEST = "notices_digest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """Makes notices."""

    timing: Timing
    channels: Sequence[str]
    new_key: Callable[[], str]

    def gather(self, conn: Connection, *, now: float) -> int:
        """Take note of what happened and put what is ripe on its way; how many notices were made."""
        for row in notices.news(conn, EVENTS):
            notices.open_subject(conn, subject_of(row))
        self._by_clock(conn, now)
        if self.timing.is_quiet(now):
            return 0
        digest = self._digest(conn, now)
        return sum(self._flush(conn, kind, now) for kind in KINDS if kind.urgent or digest)

    def _by_clock(self, conn: Connection, now: float) -> None:
        """Calls that come near their deadline (L4); one that is nearly over needs no word about its half."""
        later: set[tuple[str, float]] = set()
        for kind in KINDS:
            if kind.share is None:
                continue
            for one in notices.near_deadline(conn, kind.name, share=kind.share, settle=self.timing.settle, now=now):
                notices.open_subject(conn, one)
                if (one.subject, one.mark) in later:
                    notices.drop(conn, one)
                later.add((one.subject, one.mark))

    def _digest(self, conn: Connection, now: float) -> bool:
        last = meta.get(conn, _DIGEST)
        if last is None:
            meta.put(conn, _DIGEST, repr(now))
        due = self.timing.is_digest_due(now if last is None else float(last), now)
        if due and self.timing.digests:
            meta.put(conn, _DIGEST, repr(now))
        return due

    def _flush(self, conn: Connection, kind: Kind, now: float) -> int:
        """One notice about everything of a kind that has settled; none so soon after the last that a burst would be many."""
        last = notices.newest(conn, kind.name)
        if last is not None and now < last + self.timing.settle:
            return 0
        until = now if kind.share is not None else now - self.timing.settle
        notices.drop_needless(conn, kind.name, kind.need, until=until)
        found, total = notices.ripe(conn, kind.name, until=until, limit=NAMED)
        if not found:
            return 0
        key = self.new_key()
        body = body_of(key, kind.name, [kind.look(conn, one.subject) for one in found], total=total)
        notices.add(conn, Notice(key, kind.name, body, now), channels=self.channels)
        notices.close_ripe(conn, kind.name, until=until, notice=key)
        return 1
