"""Lists that were shown: exactly what waited on them, bounded, forgotten in time (D4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.approvals import deny, listing
from runner.errors import NotFoundError
from runner.supervisor.shown import LIFETIME, LISTS, Call, Shown
from tests.helpers.stored import ANNA, NOW, an_approval, opened


def test_a_list_is_what_waited_on_it_and_nothing_that_came_since(tmp_path: Path) -> None:
    with opened(tmp_path / "runner.db") as store, store.begin() as conn:
        first, second = an_approval(conn), an_approval(conn)
        deny(conn, first.id, who=ANNA, now=NOW)
        shown, before = Shown(), listing(conn)
        shown.remember(before, now=NOW)
        an_approval(conn)
        after = listing(conn)
        assert after.snapshot != before.snapshot
        assert shown.calls(before.snapshot, now=NOW) == (Call(second.id, second.approval_digest),)
        with pytest.raises(NotFoundError):
            shown.calls(after.snapshot, now=NOW)


def test_lists_are_forgotten_after_a_while_and_the_oldest_first(tmp_path: Path) -> None:
    with opened(tmp_path / "runner.db") as store, store.begin() as conn:
        an_approval(conn)
        found = listing(conn)
    shown = Shown()
    shown.remember(found, now=NOW)
    assert len(shown.calls(found.snapshot, now=NOW + LIFETIME - 1)) == 1
    with pytest.raises(NotFoundError):
        shown.calls(found.snapshot, now=NOW + LIFETIME)
    for number in range(LISTS):
        shown.remember(found._replace(snapshot=f"s_{number}"), now=NOW)
    with pytest.raises(NotFoundError):
        shown.calls(found.snapshot, now=NOW)
    assert len(shown.calls("s_0", now=NOW)) == 1
