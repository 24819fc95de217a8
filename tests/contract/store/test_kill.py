"""Invariant 11: kill -9 in the middle of transactions loses nothing that was committed, and the file opens again."""

import subprocess
import sys
from pathlib import Path

import pytest

from runner.store import audit, runs
from tests.helpers.stored import opened

#: Writes runs for ever and says each id once it is committed.
WRITER = """
import sys
from pathlib import Path
from tests.helpers.stored import a_run, opened
with opened(Path(sys.argv[1])) as store:
    while True:
        with store.begin() as conn:
            run = a_run(conn)
        sys.stdout.write(run.id + "\\n")
        sys.stdout.flush()
"""


@pytest.mark.parametrize("after", [1, 7, 40])
def test_a_killed_writer_loses_no_committed_row(path: Path, after: int) -> None:
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline().strip() for _ in range(after)]
        writer.kill()
        said += [line.strip() for line in writer.stdout if line.endswith("\n")]
    assert writer.returncode == -9
    with opened(path) as store, store.begin() as conn:
        stored = [run.id for run in runs.list(conn)]
        assert set(said) <= set(stored)
        assert len(stored) - len(said) <= 1
        assert audit.verify(conn) is None


def test_a_writer_killed_inside_a_transaction_leaves_nothing_of_it(path: Path) -> None:
    half = (
        "import os, sys\nfrom pathlib import Path\nfrom tests.helpers.stored import a_run, opened\n"
        "with opened(Path(sys.argv[1])) as store, store.begin() as conn:\n    a_run(conn)\n    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", half, str(path)], check=False).returncode == -9
    with opened(path) as store, store.begin() as conn:
        assert (runs.list(conn), audit.verify(conn)) == ((), None)
