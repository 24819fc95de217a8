"""Alembic's entry: runs on the connection that `migrate.upgrade` hands over, inside its transaction."""

from __future__ import annotations

from alembic import context

from runner.store.schema import VERSION_TABLE, metadata, ours

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    include_object=ours,
    version_table=VERSION_TABLE,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
