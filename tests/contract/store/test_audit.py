"""A1: the chain names the first place at which it was changed, cut, reordered, added to or shortened."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from runner.lifecycle import RunEvent
from runner.model import Digest
from runner.store import Store, audit, profiles, runs
from tests.helpers.stored import ANNA, NOW, a_run, opened

ROWS = 9


@pytest.fixture
def chain(path: Path) -> Path:
    with opened(path) as store, store.begin() as conn:
        for n in range(ROWS):
            audit.append(conn, time=NOW + n / 3, event="test", subject=f"s{n}", data={"n": n, "text": "\u202e\ud800"})
    return path


def verify(path: Path) -> int | None:
    with opened(path) as store, store.begin() as conn:
        return audit.verify(conn)


def swap(raw: sqlite3.Connection) -> None:
    raw.execute("UPDATE audit SET seq = -1 WHERE seq = 4")
    raw.execute("UPDATE audit SET seq = 4 WHERE seq = 5")
    raw.execute("UPDATE audit SET seq = 5 WHERE seq = -1")


def sql(text: str) -> Callable[[sqlite3.Connection], object]:
    return lambda raw: raw.execute(text)


def test_an_untouched_chain_holds(chain: Path) -> None:
    assert verify(chain) is None


def test_an_empty_chain_holds(store: Store) -> None:
    with store.begin() as conn:
        assert audit.verify(conn) is None


@pytest.mark.parametrize(
    ("tamper", "seq"),
    [
        (sql("UPDATE audit SET data = '{}' WHERE seq = 4"), 4),
        (sql("UPDATE audit SET time = time + 1e-6 WHERE seq = 4"), 4),
        (sql("UPDATE audit SET event = 'x' WHERE seq = 1"), 1),
        (sql("UPDATE audit SET subject = subject || ' ' WHERE seq = 9"), 9),
        (sql("UPDATE audit SET hash = replace(hash, 'a', 'b') WHERE seq = 4"), 4),
        (sql("UPDATE audit SET data = x'00' WHERE seq = 4"), 4),
        (sql("UPDATE audit SET time = 'noon' WHERE seq = 4"), 4),
        (sql("DELETE FROM audit WHERE seq = 4"), 4),
        (sql("DELETE FROM audit WHERE seq = 1"), 1),
        (sql("DELETE FROM audit WHERE seq > 7"), 8),
        (sql("DELETE FROM audit"), 1),
        (sql("INSERT INTO audit SELECT 10, time, event, subject, data, previous, hash FROM audit WHERE seq = 9"), 10),
        (sql("UPDATE meta SET value = '9 sha256:0' WHERE key = 'audit_head'"), 9),
        (sql("DELETE FROM meta"), 10),
        (swap, 4),
    ],
)
def test_each_kind_of_tampering_is_found_at_its_place(
    chain: Path, tamper: Callable[[sqlite3.Connection], object], seq: int
) -> None:
    """A1: changed, gone, put in, twice, in another order, cut off at either end, the end forged or forgotten."""
    with closing(sqlite3.connect(chain)) as raw, raw:
        for action in ("insert", "update", "delete"):
            raw.execute(f"DROP TRIGGER runner_audit_{action}")
        tamper(raw)
    assert verify(chain) == seq


def test_the_audit_is_undone_with_the_change_it_records(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn)
    with store.engine.connect() as conn:
        a_run(conn)
        conn.rollback()
    with store.begin() as conn:
        (queued,) = audit.of_subject(conn, run.id)
        assert (queued.event, audit.verify(conn)) == ("run.queue", None)


def test_what_happened_since_a_place_is_read_in_order_and_in_parts(chain: Path) -> None:
    with opened(chain) as store, store.reading() as conn:
        assert audit.length(conn) == ROWS
        assert [row.subject for row in audit.after(conn, 0, 4)] == ["s0", "s1", "s2", "s3"]
        assert [row.seq for row in audit.after(conn, 7, 100)] == [8, 9]
        assert audit.after(conn, ROWS, 100) == ()


def test_who_ended_a_run_and_who_published_is_on_record(store: Store) -> None:
    with store.begin() as conn:
        run = a_run(conn)
        runs.move(conn, run.id, RunEvent.CANCEL, now=NOW, by=ANNA, reason="wrong folder")
        profiles.put(conn, "{}", digest=Digest("sha256:" + "9" * 64), name="other", now=NOW, who=ANNA)
        anna = {"uid": 1000, "channel": "cli", "name": "anna"}
        assert [json.loads(row.data).get("by") for row in audit.after(conn, audit.length(conn) - 2, 2)] == [anna, anna]
