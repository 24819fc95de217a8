"""Brings a database to the schema this version knows, in one transaction, with the Alembic scripts beside this module."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from runner.errors import StoreError
from runner.store import (
    schema_contacts,
    schema_grants,
    schema_heard,
    schema_leases,
    schema_notices,
    schema_replies,
    schema_shares,
    schema_taint,
    schema_threads,
    triggers,
)
from runner.store.schema import VERSION_TABLE, metadata

#: Tables of other modules; they are known once their module is.
TABLES = (
    schema_grants.grants,
    schema_notices.notices,
    schema_leases.leases,
    schema_taint.taints,
    schema_threads.threads,
    schema_threads.thread_captures,
    schema_threads.turn_words,
    *schema_heard.TABLES,
    schema_notices.notice_subjects,
    schema_notices.deliveries,
    *schema_contacts.TABLES,
    *schema_replies.TABLES,
    *schema_shares.TABLES,
)


def upgrade(conn: Connection) -> None:
    """Apply what is missing, put the triggers in force, and check that every table is there.

    Raises:
        StoreError: The schema is newer than this version, or its tables are not the ones it claims (L7).
    """
    refuse_newer(conn)
    config = _config()
    config.attributes["connection"] = conn
    command.upgrade(config, "head")
    missing = metadata.tables.keys() - set(inspect(conn).get_table_names())
    if missing:
        raise StoreError(
            f"cannot use the database: it has no table {', '.join(sorted(missing))}", resolution="restore a backup"
        )
    triggers.install(conn)


def refuse_newer(conn: Connection) -> None:
    """See that no later version of runner has changed the schema; changes nothing.

    Raises:
        StoreError: One has (L7).
    """
    known = {revision.revision for revision in ScriptDirectory.from_config(_config()).walk_revisions()}
    context = MigrationContext.configure(conn, opts={"version_table": VERSION_TABLE})
    unknown = set(context.get_current_heads()) - known
    if unknown:
        raise StoreError(
            f"cannot use the database: its schema {', '.join(sorted(unknown))} is newer than this version of runner",
            resolution="upgrade runner, or restore the backup that belongs to this version",
        )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config
