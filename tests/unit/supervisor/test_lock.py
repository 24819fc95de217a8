"""One supervisor per state directory, known by its process id (M8)."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from runner.errors import SupervisorUnavailableError
from runner.supervisor.lock import hold, holder


def test_a_held_directory_says_who_holds_it_and_a_free_one_nobody(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    with hold(tmp_path):
        assert holder(tmp_path) == os.getpid()
    assert holder(tmp_path) is None
    assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_a_second_one_is_refused_with_the_firsts_process_id(tmp_path: Path) -> None:
    with hold(tmp_path), pytest.raises(SupervisorUnavailableError, match=f"pid {os.getpid()}"), hold(tmp_path):
        pass


def test_a_holder_that_has_not_said_its_id_yet_is_still_one(tmp_path: Path) -> None:
    with hold(tmp_path):
        (tmp_path / "lock").write_text("")
        assert holder(tmp_path) == 0


def test_asking_who_holds_it_never_keeps_a_starting_supervisor_out(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            holder(tmp_path)
            time.sleep(0.002)

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        for _ in range(20):
            with hold(tmp_path):
                pass
    finally:
        over.set()
        for thread in asking:
            thread.join()


def test_a_lock_that_cannot_be_read_is_no_free_directory(tmp_path: Path) -> None:
    """Silence is no proof: exit code 9, not a second supervisor."""
    (tmp_path / "lock").mkdir()
    with pytest.raises(SupervisorUnavailableError, match="Is a directory"):
        holder(tmp_path)
