"""audit: every way to tamper with the record is told by its place and kind, from the file alone (A1); exports recompute."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from runner.model import Digest
from runner.store import audit
from runner.store.chain import Link, Place, hash_of
from tests.helpers.stored import NOW, opened
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]
ROWS = 9
SWAP = [f"UPDATE audit SET seq = {to} WHERE seq = {of}" for of, to in ((4, -1), (5, 4), (-1, 5))]
FIELDS = "seq, time, event, subject, data, previous, hash"


@pytest.fixture
def database(state: Path) -> Path:
    """The database a supervisor left behind; none is running."""
    state.mkdir(mode=0o700)
    path = state / "runner.db"
    with opened(path) as store, store.begin() as conn:
        for n in range(ROWS):
            audit.append(conn, time=NOW + n / 3, event="test", subject=f"s{n}", data={"n": n, "text": "\u202e\x1b[31m"})
    return path


def tamper(path: Path, *statements: str, rehash: int | None = None) -> None:
    """Write past the triggers; `rehash` gives a row the hash that its fields now have."""
    with closing(sqlite3.connect(path)) as raw, raw:
        for action in ("insert", "update", "delete"):
            raw.execute(f"DROP TRIGGER IF EXISTS runner_audit_{action}")
        for statement in statements:
            raw.execute(statement)
        if rehash is not None:
            (row,) = raw.execute(f"SELECT {FIELDS} FROM audit WHERE seq = ?", (rehash,))
            raw.execute("UPDATE audit SET hash = ? WHERE seq = ?", (hash_of(Link(*row)), rehash))


def places(path: Path) -> list[str]:
    """Every row's anchor."""
    with closing(sqlite3.connect(path)) as raw:
        return [str(Place(*row)) for row in raw.execute("SELECT seq, hash FROM audit ORDER BY seq")]


def shift(start: int) -> tuple[str, str]:
    """Make room at a place: everything from it on stands one further."""
    return f"UPDATE audit SET seq = -seq - 1 WHERE seq >= {start}", "UPDATE audit SET seq = -seq WHERE seq < 0"


def put(seq: int, source: int, previous: int) -> str:
    """A row at `seq` with another's fields, chained behind the row `previous`."""
    chained = f"(SELECT hash FROM audit WHERE seq = {previous})"
    return f"INSERT INTO audit SELECT {seq}, time, event, subject, data, {chained}, hash FROM audit WHERE seq = {source}"


def copy(seq: int, source: int) -> str:
    return f"INSERT INTO audit SELECT {seq}, time, event, subject, data, previous, hash FROM audit WHERE seq = {source}"


def test_an_untouched_record_holds_and_says_since_when_it_is_unanchored(run: Run, database: Path) -> None:
    ran = run("audit", "verify")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == "the audit holds: 9 rows"
    assert "unanchored since row 1, 2023-11-14 22:13:20 UTC (no anchor was given)" in ran.out
    assert run("audit", "verify", "--json").json == {
        "ok": True,
        "rows": 9,
        "end": places(database)[-1],
        "anchor": None,
        "unanchored_since": {"seq": 1, "time": NOW},
        "broken": None,
    }


@pytest.mark.parametrize(
    ("statements", "rehash", "seq", "fault"),
    [
        (["UPDATE audit SET data = '{}' WHERE seq = 4"], None, 4, "changed"),
        (["UPDATE audit SET time = time - 60 WHERE seq = 4"], None, 4, "changed"),
        (["UPDATE audit SET previous = 'sha256:0' WHERE seq = 4"], None, 4, "changed"),
        (["UPDATE audit SET hash = 'sha256:0' WHERE seq = 4"], None, 4, "changed"),
        (["UPDATE audit SET data = x'ff' WHERE seq = 4"], None, 4, "changed"),
        (["UPDATE audit SET data = CAST(x'ff' AS TEXT) WHERE seq = 4"], None, 4, "changed"),
        (["UPDATE audit SET time = 9e999 WHERE seq = 4"], None, 4, "changed"),
        (["UPDATE audit SET event = 'x' WHERE seq = 4"], 4, 4, "changed"),
        (["UPDATE audit SET event = 'x' WHERE seq = 9"], 9, 9, "changed"),
        (["UPDATE audit SET event = 'x' WHERE seq = 1"], 1, 1, "changed"),
        (["DELETE FROM audit WHERE seq = 4"], None, 4, "removed"),
        (["DELETE FROM audit WHERE seq BETWEEN 4 AND 6"], None, 4, "removed"),
        (["DELETE FROM audit WHERE seq = 4", "UPDATE audit SET seq = seq - 1 WHERE seq > 4"], None, 4, "removed"),
        (["DELETE FROM audit WHERE seq = 1"], None, 1, "removed"),
        (SWAP, None, 4, "reordered"),
        (["UPDATE audit SET seq = 10 WHERE seq = 4"], None, 4, "reordered"),
        ([*shift(5), copy(5, 4)], None, 5, "put in"),
        ([copy(10, 9)], None, 10, "put in"),
        ([copy(0, 4)], None, 0, "put in"),
        ([*shift(5), put(5, 2, 4)], None, 5, "changed"),
        ([*shift(5), put(5, 2, 4)], 5, 5, "put in"),
        ([put(10, 2, 9)], 10, 10, "put in"),
        (["DELETE FROM audit WHERE seq > 7"], None, 8, "cut off"),
        (["DELETE FROM audit"], None, 1, "cut off"),
        (["DELETE FROM meta WHERE key = 'audit_head'"], None, 10, "cut off"),
    ],
)
def test_tampering_is_told_by_its_place_and_kind(
    run: Run, database: Path, *, statements: list[str], rehash: int | None, seq: int, fault: str
) -> None:
    tamper(database, *statements, rehash=rehash)
    answer = run("audit", "verify", "--json")
    broken = answer.json["broken"]
    assert (answer.code, answer.json["ok"], broken["seq"], broken["fault"]) == (1, False, seq, fault), broken
    ran = run("audit", "verify")
    assert (ran.code, ran.out) == (1, f"the audit does not hold: {broken['says']}\n")
    assert run("audit", "anchor").code == 1


def test_the_record_is_checked_while_a_supervisor_writes_it(run: Run, database: Path) -> None:
    """One consistent look: a row comes together with the note of the end, or not yet."""
    with opened(database) as store:
        with store.begin() as conn:
            audit.append(conn, time=NOW, event="test", subject="late", data={})
            assert run("audit", "verify", "--json").json["rows"] == ROWS
        assert run("audit", "verify", "--json").json["rows"] == ROWS + 1


def cut_with_the_note(database: Path, last: int) -> list[str]:
    """Take the newest rows away together with the note of the end; the anchors as they were before."""
    kept = places(database)
    tamper(
        database,
        f"DELETE FROM audit WHERE seq > {last}",
        f"UPDATE meta SET value = '{kept[last - 1]}' WHERE key = 'audit_head'",
    )
    return kept


def test_a_tail_cut_off_with_the_note_of_the_end_is_noticed_by_an_anchor_only(run: Run, database: Path) -> None:
    kept = cut_with_the_note(database, 7)
    unanchored = run("audit", "verify")
    assert unanchored.code == 0
    assert "was cut off behind it with the note of the" in unanchored.out
    anchored = run("audit", "verify", "--anchor", kept[8], "--json")
    assert (anchored.code, anchored.json["broken"]["seq"], anchored.json["broken"]["fault"]) == (1, 8, "cut off")


def test_an_audit_written_anew_as_a_whole_is_noticed_by_an_anchor_only(run: Run, database: Path) -> None:
    kept = run("audit", "anchor").out
    for file in database.parent.iterdir():
        file.unlink()
    with opened(database) as store, store.begin() as conn:
        for n in range(ROWS + 1):
            audit.append(conn, time=NOW, event="test", subject=f"s{n}", data={})
    assert run("audit", "verify").code == 0
    broken = run("audit", "verify", "--anchor", kept, "--json").json["broken"]
    assert (broken["seq"], broken["fault"]) == (9, "changed")


def test_an_anchor_covers_the_rows_up_to_it(run: Run, database: Path) -> None:
    kept = run("audit", "anchor")
    assert (kept.code, kept.out) == (0, places(database)[-1] + "\n")
    covered = run("audit", "verify", "--anchor", kept.out)
    assert (covered.code, covered.out) == (0, "the audit holds: 9 rows\n")
    with opened(database) as store, store.begin() as conn:
        audit.append(conn, time=NOW + 60, event="test", subject="later", data={})
    said = run("audit", "verify", "--anchor", kept.out, "--json").json
    assert (said["ok"], said["unanchored_since"]) == (True, {"seq": 10, "time": NOW + 60})


def test_the_anchor_of_an_empty_audit_fits_every_audit(run: Run, database: Path) -> None:
    assert run("audit", "verify", "--anchor", f"0 {audit.GENESIS}").code == 0


@pytest.mark.parametrize("text", ["", "9", "x sha256:0", "-1 sha256:" + "0" * 64, "9 " + "0" * 64, "9 sha256:" + "0" * 63])
def test_what_is_no_anchor_is_bad_usage(run: Run, database: Path, text: str) -> None:
    ran = run("audit", "verify", "--anchor", text)
    assert (ran.code, ran.out) == (2, "")
    assert "cannot compare with the anchor" in ran.err


def recomputed(row: dict[str, Any]) -> Digest:
    """A row's hash as a stranger would compute it from the export alone."""
    fields = {name: row[name] for name in ("seq", "time", "event", "subject", "data", "previous")}
    return Digest("sha256:" + hashlib.sha256(b"runner.audit.v1\0" + rfc8785.dumps(fields)).hexdigest())


def test_an_export_holds_everything_that_a_stranger_needs_to_recompute_it(run: Run, database: Path, tmp_path: Path) -> None:
    ran = run("audit", "export", "--format", "jsonl")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, ran.out.isascii(), [*rows[0]]) == (0, True, FIELDS.split(", "))
    assert [row["hash"] for row in rows] == [recomputed(row) for row in rows]
    assert [row["previous"] for row in rows] == [audit.GENESIS, *(row["hash"] for row in rows[:-1])]
    file = tmp_path / "audit.jsonl"
    assert run("audit", "export", str(file))[:2] == (0, "")
    assert (file.read_text(), file.stat().st_mode & 0o777) == (ran.out, 0o600)


def test_an_export_shows_tampered_rows_as_they_are(run: Run, database: Path) -> None:
    tamper(database, "UPDATE audit SET data = x'ff' WHERE seq = 4", "UPDATE audit SET time = 9e999 WHERE seq = 5")
    ran = run("audit", "export")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, rows[3]["data"], rows[4]["time"]) == (0, "b'\\xff'", "inf")


def test_an_export_never_writes_over_a_file_or_through_a_link(run: Run, database: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("kept", "link", "no/such/folder"):
        ran = run("audit", "export", str(tmp_path / name))
        assert (ran.code, ran.out) == (2, "")
        assert "cannot write" in ran.err
    assert (tmp_path / "kept").read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("command", ["verify", "anchor", "export"])
def test_without_a_database_there_is_no_audit(run: Run, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run("audit", command)
    assert (ran.code, ran.err.splitlines()[0]) == (3, "runner: cannot find the audit: there is no database yet")
    monkeypatch.setenv("RUNNER_DATABASE_URL", "postgresql+psycopg://nobody@127.0.0.1:1/db")
    assert run("audit", command).code == 9


def test_a_file_that_is_no_database_is_said_so(run: Run, database: Path) -> None:
    database.write_bytes(b"no database\n" * 1000)
    ran = run("audit", "verify")
    assert (ran.code, ran.out) == (9, "")
    assert "cannot read the database runner.db" in ran.err
