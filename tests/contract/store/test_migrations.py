"""The scripts make exactly the tables of `schema`, and leave DBOS's tables in the same file alone (engine.md)."""

import sqlite3
from contextlib import closing
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer
from sqlalchemy import create_engine, inspect

from runner.model import RunId
from runner.store import Store, meta, migrate, profiles, schema, sqlite, taints, verdicts
from tests.helpers.stored import opened, url

OPTIONS = {"version_table": schema.VERSION_TABLE, "include_object": schema.ours, "compare_type": True}


def differences(store: Store) -> list[object]:
    with store.begin() as conn:
        return compare_metadata(MigrationContext.configure(conn, opts=OPTIONS), schema.metadata)


def triggers_of(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as raw:
        return dict(raw.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))


def test_the_scripts_and_the_tables_agree(store: Store) -> None:
    assert differences(store) == []


def test_a_table_that_the_scripts_forgot_would_be_noticed(store: Store) -> None:
    with store.begin() as conn:
        conn.exec_driver_sql("DROP INDEX runs_by_agent")
    assert [change[0] for change in differences(store)] == ["add_index"]


def test_the_tables_of_dbos_in_the_same_file_are_left_alone(path: Path) -> None:
    with opened(path) as store:
        ours = set(inspect(store.engine).get_table_names())
    DBOS.migrate(url(path))
    with opened(path) as store:
        theirs = set(inspect(store.engine).get_table_names()) - ours
        assert len(theirs) == 12
        assert differences(store) == []
        assert set(inspect(store.engine).get_table_names()) == ours | theirs


def test_dbos_enqueues_in_a_transaction_of_ours(path: Path) -> None:
    with opened(path):
        pass
    DBOS.migrate(url(path))
    with opened(path) as store:
        client = DBOSClient(system_database_engine=store.engine, serializer=DBOSPortableJSONSerializer())
        try:
            with store.begin() as conn:
                meta.put(conn, "k", "v")
                client.enqueue_in_transaction(conn, {"workflow_name": "w", "queue_name": "segments", "workflow_id": "r:0:0"})
            assert [found.workflow_id for found in client.list_workflows()] == ["r:0:0"]
        finally:
            client.destroy()


def test_opening_again_changes_no_trigger(path: Path) -> None:
    with opened(path):
        before = triggers_of(path)
    with opened(path):
        assert triggers_of(path) == before != {}


def test_a_removed_and_an_outdated_trigger_are_put_back_in_force(path: Path) -> None:
    with opened(path):
        before = triggers_of(path)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DROP TRIGGER runner_audit_delete")
        raw.execute("DROP TRIGGER runner_runs_update")
        raw.execute("CREATE TRIGGER runner_runs_update BEFORE UPDATE ON runs WHEN 0 BEGIN SELECT RAISE(ABORT, 'old'); END")
        raw.execute("CREATE TRIGGER runner_gone BEFORE UPDATE ON meta WHEN 0 BEGIN SELECT RAISE(ABORT, 'old'); END")
    with opened(path):
        assert triggers_of(path) == before


def test_a_database_of_the_first_schema_is_brought_up_to_date_with_its_rows(path: Path) -> None:
    """0002: verdicts, authors, retired agents; what was published before has none of them."""
    sqlite.prepare(path)
    engine = create_engine(url(path))
    with engine.begin() as conn:
        config = Config()
        config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
        config.attributes["connection"] = conn
        command.upgrade(config, "0001")
        conn.exec_driver_sql("INSERT INTO profiles VALUES ('sha256:1', 'scribe', '{}', 1.0)")
        conn.exec_driver_sql("INSERT INTO agents VALUES ('scribe', 10001, 'sha256:1')")
    engine.dispose()
    with opened(path) as store, store.begin() as conn:
        row = profiles.current(conn, "scribe")
        assert (row.text, row.author, row.retired, verdicts.of_agent(conn, "scribe")) == ("{}", None, None, ())


def test_what_runs_from_before_carried_is_unknown_so_each_counts_as_tainted(path: Path) -> None:
    """0006."""
    sqlite.prepare(path)
    engine = create_engine(url(path))
    with engine.begin() as conn:
        config = Config()
        config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
        config.attributes["connection"] = conn
        command.upgrade(config, "0005")
        conn.exec_driver_sql("INSERT INTO profiles (digest, name, text, created) VALUES ('sha256:1', 'scribe', '{}', 1.0)")
        conn.exec_driver_sql(
            "INSERT INTO captures (id, agent, sender_kind, text, created) VALUES ('c_1', 'scribe', 'owner', '{}', 1.0)"
        )
        conn.exec_driver_sql(
            "INSERT INTO runs (id, capture, agent, profile_digest, sender_kind, strict, state, segment, attempt, requests, "
            "turns, input_tokens, output_tokens, created, updated, version) "
            "VALUES ('r_1', 'c_1', 'scribe', 'sha256:1', 'owner', 1, 'queued', 0, 0, 0, 0, 0, 0, 1.0, 1.0, 1)"
        )
    engine.dispose()
    with opened(path) as store, store.reading() as conn:
        assert [one.says for one in taints.of_run(conn, RunId("r_1"))] == ["text of capture c_1"]
