"""The pause switch is one row: kept over a restart, on record, never misread as off (L9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import PausedError, StoreError
from runner.store import audit, meta, pausing
from runner.store.pausing import Pause
from tests.helpers.stored import ANNA, BEN, NOW, opened


def test_a_pause_outlives_the_process_and_is_on_record_once(tmp_path: Path) -> None:
    """R29: pausing what is paused changes neither who nor since when."""
    with opened(tmp_path / "runner.db") as store, store.begin() as conn:
        assert pausing.current(conn) is None
        made = pausing.pause(conn, who=ANNA, reason="away", now=NOW)
        assert pausing.pause(conn, who=BEN, reason="me too", now=NOW + 1) == made == Pause(NOW, ANNA, "away")
    with opened(tmp_path / "runner.db") as store, store.begin() as conn:
        assert pausing.current(conn) == made
        assert pausing.resume(conn, who=BEN, now=NOW + 9) == made
        assert pausing.resume(conn, who=BEN, now=NOW + 9) is None
        assert pausing.current(conn) is None
        events = [link.event for link in audit.of_subject(conn, "supervisor")]
        assert events == ["supervisor.pause", "supervisor.resume"]
        assert audit.verify(conn) is None


def test_what_is_refused_says_who_paused_and_what_to_do(tmp_path: Path) -> None:
    """K2: exit code 8."""
    with opened(tmp_path / "runner.db") as store, store.begin() as conn:
        pausing.refuse(conn, "send to scribe")
        pausing.pause(conn, who=ANNA, reason="away", now=NOW)
        with pytest.raises(PausedError) as caught:
            pausing.refuse(conn, "send to scribe")
    assert (caught.value.exit_code, caught.value.details) == (8, "away")
    assert caught.value.brief == "cannot send to scribe: the supervisor is paused by anna since 2023-11-14 22:13:20 UTC"


@pytest.mark.parametrize("text", ["yes", "[]", "{}", '{"since": 1, "by": {"who": 1}, "reason": null}'])
def test_what_cannot_be_read_is_never_taken_for_running(text: str, tmp_path: Path) -> None:
    """L7."""
    with opened(tmp_path / "runner.db") as store, store.begin() as conn:
        meta.put(conn, "paused", text)
        with pytest.raises(StoreError):
            pausing.refuse(conn, "send")
