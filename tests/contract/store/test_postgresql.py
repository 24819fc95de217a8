"""What PostgreSQL has to hold by itself: the same tables and last wall, and trouble that is never an empty answer (L7)."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from runner.approvals import approve
from runner.cli.main import main
from runner.errors import AlreadyDecidedError, RunnerError, StoreError
from runner.lifecycle import APPROVAL, RUN, ApprovalState, RunState, moves
from runner.policy.taint import Taint, TaintKind
from runner.profiles import to_json
from runner.store import ApprovalRow, Approver, Store, approvals, audit, look, profiles, schema, taints
from runner.store.offline import looking
from runner.store.triggers import EFFECT, rules
from tests.helpers.builders import a_profile
from tests.helpers.postgres import Cluster
from tests.helpers.stored import NOW, a_run, an_approval, opened

OPTIONS = {"version_table": schema.VERSION_TABLE, "include_object": schema.ours, "compare_type": True}


@pytest.fixture
def url(postgres: Cluster) -> str:
    return postgres.emptied()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with opened(url) as store:
        yield store


def test_scripts_and_tables_agree_and_every_rule_is_in_force(store: Store) -> None:
    with store.begin() as conn:
        assert compare_metadata(MigrationContext.configure(conn, opts=OPTIONS), schema.metadata) == []
        found = conn.execute(text("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal")).scalars().all()
    assert sorted(found) == sorted(rule.name for rule in rules())


@pytest.mark.parametrize(("table", "legal"), [("runs", moves(RUN)), ("approvals", moves(APPROVAL))])
def test_exactly_the_moves_of_the_table_are_possible(table: str, legal: frozenset[tuple[object, object]], store: Store) -> None:
    """Invariant 9: raw SQL, every pair of states; only the trigger of the state is asked."""
    with store.begin() as conn:
        row = an_approval(conn)
    id, states = (row.run, [*RunState]) if table == "runs" else (row.id, [*ApprovalState])
    pairs = [(before, after) for before in states for after in states if before is not after]
    assert {pair for pair in pairs if _can(store, table, id, pair)} == legal


def _can(store: Store, table: str, id: str, pair: tuple[RunState | ApprovalState, RunState | ApprovalState]) -> bool:
    before, after = (_set(table, state) for state in pair)
    with store.engine.connect() as conn:
        conn.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
        conn.execute(text(f"UPDATE {table} SET {before} WHERE id = :id"), {"id": id})
        conn.execute(text(f"ALTER TABLE {table} ENABLE TRIGGER USER"))
        try:
            conn.execute(text(f"UPDATE {table} SET {after} WHERE id = :id"), {"id": id})
        except DBAPIError as error:
            refusal = str(error)
        else:
            return True
        finally:
            conn.rollback()
    assert f"no such change of state in {table}" in refusal
    return False


def _set(table: str, state: RunState | ApprovalState) -> str:
    effect = EFFECT.get(state) if isinstance(state, ApprovalState) else None
    more = "" if table == "runs" else f", effect = {'NULL' if effect is None else repr(effect)}"
    return f"state = '{state.value}'{more}"


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE approvals SET effect = 'started'",
        "UPDATE approvals SET raw = '{}'",
        "UPDATE approvals SET pre_images = '{}'",
        "UPDATE approvals SET run = NULL",
        "UPDATE taints SET kind = 'note'",
        "DELETE FROM taints",
        "UPDATE audit SET time = 0",
        "DELETE FROM audit",
        "INSERT INTO audit SELECT 0, time, event, subject, data, previous, hash FROM audit WHERE seq = 1",
    ],
)
def test_raw_sql_cannot_go_past_the_rules(sql: str, store: Store) -> None:
    with store.begin() as conn:
        row = an_approval(conn)
        taints.add(conn, row.run, [Taint(kind=TaintKind.RESULT, source="Read")], now=NOW)
    with pytest.raises(StoreError), store.begin() as conn:
        conn.execute(text(sql))
    with store.reading() as conn:
        assert approvals.get(conn, row.id) == row
        assert audit.verify(conn) is None


def test_of_many_deciders_on_many_connections_one_wins(store: Store) -> None:
    """L1, L8: the audit's chain holds through it."""
    with store.begin() as conn:
        row = an_approval(conn)
    gate, results = threading.Barrier(20), list[ApprovalRow | RunnerError]()

    def decide(number: int) -> None:
        gate.wait()
        try:
            with store.begin() as conn:
                who = Approver(uid=number, channel="cli")
                results.append(approve(conn, row.id, digest=row.approval_digest, who=who, reason=None, now=NOW))
        except RunnerError as error:
            results.append(error)

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(type(result).__name__ for result in results) == ["AlreadyDecidedError"] * 19 + ["ApprovalRow"]
    assert AlreadyDecidedError in {type(result) for result in results}
    with store.reading() as conn:
        assert audit.verify(conn) is None


def test_what_works_without_a_supervisor_works_here_too(
    url: str, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Commands explain NAME, audit verify, anchor and export; none of them can write."""
    profile = a_profile(cwd=tmp_path)
    with store.begin() as conn:
        a_run(conn)
        profiles.put(conn, json.dumps(to_json(profile)), digest=profile.digest, name="scribe", now=NOW)
        rows = audit.length(conn)
    monkeypatch.setenv("RUNNER_DATABASE_URL", url)
    monkeypatch.setenv("RUNNER_STATE_DIR", str(tmp_path / "state"))
    assert main(["explain", "scribe", "Write", '{"file_path": "a.txt", "content": "x"}', "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "ask"
    assert main(["audit", "verify", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == rows
    assert main(["audit", "export"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == rows
    assert main(["audit", "anchor"]) == 0
    assert capsys.readouterr().out.startswith(f"{rows} sha256:")
    with pytest.raises(StoreError, match="read-only"), looking(url) as found:
        found._asks._conn.execute("DELETE FROM meta")  # type: ignore[attr-defined]


def test_tampering_is_named_here_too(
    url: str,
    store: Store,
    postgres: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """A1: by somebody who is the database's owner."""
    with store.begin() as conn:
        an_approval(conn)
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as conn:
        conn.execute("ALTER TABLE audit DISABLE TRIGGER USER")
        conn.execute("UPDATE audit SET data = '{}' WHERE seq = 2")
        conn.execute("ALTER TABLE audit ENABLE TRIGGER USER")
    monkeypatch.setenv("RUNNER_DATABASE_URL", url)
    monkeypatch.setenv("RUNNER_STATE_DIR", str(tmp_path))
    assert main(["audit", "verify"]) == 1
    assert "row 2 was changed" in capsys.readouterr().out


def test_a_newer_schema_and_a_missing_table_are_refused(postgres: Cluster) -> None:
    """L7."""
    url = postgres.create()
    with opened(url) as store, store.begin() as conn:
        conn.execute(text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(StoreError, match="newer than this version"):
        Store(url).open()
    with pytest.raises(StoreError, match="newer than this version"):
        look(url)
    other = postgres.create()
    with opened(other) as store, store.begin() as conn:
        conn.execute(text("DROP TABLE meta"))
    with pytest.raises(StoreError, match="no table meta"):
        Store(other).open()


def test_a_server_that_is_not_there_is_an_error_and_its_password_is_told_nowhere(tmp_path: Path) -> None:
    url = f"postgresql+psycopg://runner:hunter2@/none?host={tmp_path}"
    for ask in (Store(url).open, lambda: look(url), lambda: looking(url).__enter__()):
        with pytest.raises(StoreError) as error:
            ask()
        assert "hunter2" not in error.value.diagnostics()


def test_without_the_client_it_says_what_to_install(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for ask in (Store(url).open, lambda: looking(url).__enter__()):
        with pytest.raises(StoreError, match="client for PostgreSQL") as error:
            ask()
        assert "hosted-agent-runner[postgres]" in str(error.value.resolution)
